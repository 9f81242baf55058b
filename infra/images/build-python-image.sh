#!/usr/bin/env bash
# Writes the root file system of a small Python image as a tar to stdout, from Debian packages: for machines whose Docker
# reaches no image registry. Needs apt-get, dpkg-deb and root; installs nothing here.
#   infra/images/build-python-image.sh       | docker import -c 'CMD ["python3"]' - gauntlet-python:2
#   infra/images/build-python-image.sh numpy | docker import -c 'CMD ["python3"]' - gauntlet-python-numpy:3
set -euo pipefail
exec 3>&1 1>&2
case ${1:-none} in
  none) extra=() ;;
  numpy) extra=(python3-numpy python3-pytest python3-sortedcontainers) ;;
  *) echo "build-python-image: $1: none or numpy is needed"; exit 2 ;;
esac
for tool in apt-get apt-cache dpkg-deb tar; do
  command -v "$tool" >/dev/null || { echo "build-python-image: $tool is not on this machine"; exit 2; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir -p debs/partial root
: >status # apt resolves against an empty system, so that packages of this machine are fetched too

apt() { apt-get -qq -o Dir::State::status="$work/status" -o Dir::Cache::archives="$work/debs" -o APT::Sandbox::User=root \
  -o APT::Install-Recommends=false -o Debug::NoLocking=1 "$@"; }
find_python() { apt-cache depends python3-minimal 2>/dev/null | grep -om1 'python3\.[0-9]*-minimal' || true; }
python=$(find_python)
if [ -z "$python" ]; then apt-get -qq update && python=$(find_python); fi
python=${python%-minimal}
[ -n "$python" ] || { echo 'build-python-image: apt knows no python3-minimal'; exit 2; }
fetch() { apt -y --download-only install "$python-minimal" "lib$python-stdlib" libc-bin tzdata "${extra[@]}"; }
fetch || { apt-get -qq update && fetch; }

# what an interpreter does not need; their files would only make the image larger
rm -f debs/perl-base*.deb debs/debconf*.deb debs/dpkg_*.deb debs/tar_*.deb debs/media-types*.deb debs/python3-psutil*.deb
mkdir locale && dpkg-deb -x debs/libc-bin_*.deb locale && rm debs/libc-bin_*.deb # only its locale C.UTF-8, no commands
for deb in debs/*.deb; do dpkg-deb -x "$deb" root; done
mkdir -p root/usr/lib && cp -r locale/usr/lib/locale root/usr/lib/
cd root
rm -rf usr/share/zoneinfo/right usr/share/zoneinfo/posix
rm -rf usr/share/doc usr/share/man usr/share/locale usr/share/lintian usr/share/perl* usr/share/bug var/lib/dpkg
(cd "usr/lib/$python" && rm -rf test idlelib lib2to3 ensurepip distutils tkinter turtledemo pydoc_data)
packages=usr/lib/python3/dist-packages
if [ -d "$packages/numpy" ]; then
  find "$packages/numpy" -type d \( -name tests -o -name include \) -prune -exec rm -rf {} +
  find usr/lib -name '*.a' -delete
  for folder in usr/lib/*-linux-gnu/blas usr/lib/*-linux-gnu/lapack; do # what update-alternatives would link
    for library in "$folder"/lib*.so.3; do ln -sf "$(basename "$folder")/$(basename "$library")" "$folder/../"; done
  done
fi
ln -sf "$python" usr/bin/python3
mkdir -p tmp proc dev sys etc
chmod 1777 tmp
printf 'root:x:0:0:root:/:/sbin/nologin\nnobody:x:65534:65534:nobody:/tmp:/sbin/nologin\n' >etc/passwd
printf 'root:x:0:\nnogroup:x:65534:\n' >etc/group
rm -f etc/shadow* etc/gshadow*
ldconfig -r . 2>/dev/null || true
chroot . /usr/bin/python3 -I -m compileall -q --invalidation-mode unchecked-hash "usr/lib/$python" usr/lib/python3 || true
if [ ${#extra[@]} -gt 0 ]; then
  chroot . /usr/bin/python3 -I -c 'import numpy, pytest, sortedcontainers' || { echo 'build-python-image: packages do not load'; exit 2; }
fi
tar --numeric-owner --owner=0 --group=0 --sort=name --mtime=@0 -cf - . >&3
