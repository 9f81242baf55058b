#!/bin/bash
# Runs the benchmark of a GPU on a machine without a network. `npm run bench -- gpu --pack DIR` writes this script into every
# folder of DIR, each of which has one part. Run `bash run.sh` once for each folder: every run keeps its part on the machine,
# and the last one runs the benchmark in less than 9 minutes. It accepts the options of `npm run bench -- gpu`. Results are
# in $OUT/gpu.json, by default beside this script, and with the parts, so that a second run continues the first one.
here=$(cd "$(dirname "$0")" && pwd)
kept=${GAUNTLET_GPU_FOLDER:-${TMPDIR:-/tmp}/gauntlet-gpu-@COMMIT@}
out=${OUT:-$here}
mkdir -p "$kept/app" "$out" && cp "$here"/app.tar.xz.* "$kept"/ || exit 1
have=$(ls "$kept"/app.tar.xz.* | wc -l)
capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader --id="${CUDA_VISIBLE_DEVICES:-0}" | tr -d '. ')
if [ "$capability" != @CAPABILITY@ ]; then
  echo "this folder is for compute capability @CAPABILITY@, the card has '$capability': pack it with --capability"
  exit 1
fi
if [ "$have" -lt @PARTS@ ]; then
  # checks now what the last part needs, while there is time to fix it
  nvidia-smi --query-gpu=name,driver_version,memory.total,memory.used --format=csv,noheader
  command -v xz > /dev/null || python3 -c 'import lzma' || echo "neither xz nor python3 with lzma can unpack the parts"
  python3 -c 'import torch, transformers, peft; print("torch", torch.__version__)' 2> /dev/null || echo "the section torch will be skipped"
  df -h "$kept" | tail -1
  echo "part $have of @PARTS@ is in $kept: now run the run.sh of the next folder"
  exit 0
fi
if [ ! -f "$kept/unpacked" ]; then
  unpack=(tar xJf - -C "$kept/app")
  in_python='import sys, tarfile; tarfile.open(fileobj=sys.stdin.buffer, mode="r|xz").extractall(sys.argv[1])'
  command -v xz > /dev/null || unpack=(python3 -c "$in_python" "$kept/app")
  cat "$kept"/app.tar.xz.* | "${unpack[@]}" && touch "$kept/unpacked" || exit 1
fi
# Uses NVIDIA's libraries that come with torch; the system finds the others. Leaves out cuDNN, as `gauntlet setup cuda` does;
# WITH_CUDNN=1 shows whether cuDNN makes a difference.
with_torch=$(python3 -c 'import glob, nvidia, os
folders = (folder for package in nvidia.__path__ for folder in glob.glob(package + "/*/lib"))
print(*(each for each in folders if os.environ.get("WITH_CUDNN") or not glob.glob(each + "/libcudnn*")), sep=":")' 2> /dev/null)
export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$with_torch"
cd "$kept/app" || exit 1
# keeps a copy of the results, because $OUT may be emptied before every command
results=$kept/gpu${WITH_CUDNN:+-cudnn}.json
(while sleep 3; do cp -f "$results" "$out/" 2> /dev/null; done) &
copier=$!
trap 'kill $copier 2> /dev/null; cp -f "$results" "$out/"' EXIT
run='import("./dist/lab/bench/gpu/main.js").then(({ benchGpu }) => benchGpu(process.argv.slice(1)))'
timeout 530 ./node -e "$run" -- --commit @COMMIT@ --seconds 500 --out "$results" "$@"
