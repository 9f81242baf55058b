#!/bin/bash
# Runs the benchmark of a GPU on a machine without a network; written by `npm run bench -- gpu --pack DIR`. Each folder of DIR
# has a part. `bash run.sh` keeps its part in a folder of the machine, and the last one runs the benchmark, in less than 9 minutes. Options
# of `npm run bench -- gpu` can follow. Results: $OUT/gpu.json, default beside this script; if it is there already, the run goes on from it.
here=$(cd "$(dirname "$0")" && pwd)
kept=${GAUNTLET_GPU_FOLDER:-/tmp/gauntlet-gpu-@COMMIT@}
out=${OUT:-$here}
mkdir -p "$kept/app" && cp "$here"/app.tar.xz.* "$kept"/ || exit 1
have=$(ls "$kept"/app.tar.xz.* | wc -l)
if [ "$have" -lt @PARTS@ ]; then
  echo "part $have of @PARTS@ is in $kept: now run the run.sh of the next folder"
  exit 0
fi
if [ ! -f "$kept/unpacked" ]; then
  cat "$kept"/app.tar.xz.* | tar xJf - -C "$kept/app" && touch "$kept/unpacked" || exit 1
fi
capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader --id="${CUDA_VISIBLE_DEVICES:-0}" | tr -d '. ')
if [ "$capability" != @CAPABILITY@ ]; then
  echo "this folder is for compute capability @CAPABILITY@, the card has '$capability': pack it with --capability"
  exit 1
fi
# NVIDIA's libraries that come with torch. Others are found by the system, or in the folder of `gauntlet setup cuda`.
with_torch=$(python3 -c 'import nvidia, glob; print(*(d for p in nvidia.__path__ for d in glob.glob(p + "/*/lib")), sep=":")' 2>/dev/null)
export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$with_torch"
cd "$kept/app" || exit 1
run='import("./dist/lab/bench/gpu/main.js").then(({ benchGpu }) => benchGpu(process.argv.slice(1)))'
timeout 530 ./node -e "$run" -- --commit @COMMIT@ --seconds 500 --out "$out/gpu.json" "$@"
