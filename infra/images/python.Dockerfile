# The image of programs where a registry answers: the stock one, with its library compiled once (the root is read-only in
# use, so an interpreter could never keep what it compiled), and PACKAGES from PyPI for the second image.
FROM python:3.12-slim
ARG PACKAGES=""
RUN if [ -n "$PACKAGES" ]; then pip install --no-cache-dir --no-compile --disable-pip-version-check $PACKAGES; fi \
  && python3 -m compileall -q --invalidation-mode unchecked-hash /usr/local/lib/python3.12 -x '/test/|/lib2to3/'
WORKDIR /tmp
CMD ["python3"]
