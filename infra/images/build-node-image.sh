#!/usr/bin/env bash
# Writes the root file system of a Node image as a tar to stdout: the given node (default: the one on the PATH) and the
# libraries it loads. For machines whose Docker reaches no image registry; Linux, installs nothing.
#   infra/images/build-node-image.sh [NODE] | docker import -c 'CMD ["node"]' - gauntlet-javascript:1
set -euo pipefail
node=$(readlink -f "${1:-$(command -v node)}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir -p usr/local/bin tmp proc dev sys etc
chmod 1777 tmp
cp "$node" usr/local/bin/node
ldd "$node" | grep -o '/[^ ]*' | while read -r library; do
  mkdir -p ".$(dirname "$library")"
  cp -L "$library" ".$library"
done
printf 'root:x:0:0:root:/:/sbin/nologin\nnobody:x:65534:65534:nobody:/tmp:/sbin/nologin\n' >etc/passwd
printf 'root:x:0:\nnogroup:x:65534:\n' >etc/group
tar --numeric-owner --owner=0 --group=0 --sort=name --mtime=@0 -cf - .
