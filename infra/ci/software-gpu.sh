#!/usr/bin/env bash
# Provides a GPU in software for tests: SwiftShader, from Debian's chromium packages, without installing them. Prints the
# folder of the Vulkan loader and driver. Safe to repeat.
set -euo pipefail
folder=${XDG_CACHE_HOME:-$HOME/.cache}/gauntlet/swiftshader
files=(libvulkan.so.1 libvk_swiftshader.so vk_swiftshader_icd.json)
if [ ! -f "$folder/${files[2]}" ]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  cd "$work"
  download() { apt-get download -qq chromium-common; }
  { download || { apt-get update -qq && download; }; } >&2
  dpkg-deb -x chromium-common_*.deb .
  mkdir -p "$folder"
  for file in "${files[@]}"; do cp "usr/lib/chromium/$file" "$folder/"; done
fi
echo "$folder"
