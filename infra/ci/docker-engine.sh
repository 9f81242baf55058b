#!/usr/bin/env bash
# Makes a Docker engine answer on this machine, for tests: installs Debian's packages where dockerd is missing, starts
# it where none answers, prints its pid (0: one was there already). Its runtimes are runc and, where Debian has it, runsc
# (gVisor). Safe to repeat. Needs root.
#   infra/ci/docker-engine.sh            the usual socket
#   DOCKER_HOST=unix:///tmp/d.sock infra/ci/docker-engine.sh
# Stop it with: kill <pid>
set -euo pipefail
host=${DOCKER_HOST:-unix:///var/run/docker.sock}
socket=${host#unix://}
answers() { curl -sf --max-time 3 --unix-socket "$socket" http://docker/_ping >/dev/null 2>&1; }
if answers; then echo 0; exit 0; fi

install() { DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"; }
if ! command -v dockerd >/dev/null || ! command -v curl >/dev/null; then
  { install docker.io curl || { apt-get update -qq && install docker.io curl; }; } >&2
fi
command -v runsc >/dev/null || install runsc >&2 || true

if [ "$socket" = /var/run/docker.sock ]; then state=/var/lib/docker run=/var/run/docker; else state=$socket.d/lib run=$socket.d/run; fi
mkdir -p "$state" "$run"
runtimes=()
if command -v runsc >/dev/null; then # a runtime cannot have arguments on the command line of dockerd
  printf '#!/bin/sh\nexec runsc --network=none "$@"\n' >"$run/runsc"
  chmod +x "$run/runsc"
  runtimes=(--add-runtime "runsc=$run/runsc")
fi
log=${DOCKER_ENGINE_LOG:-$run/dockerd.log}
start() { # containers of the sandbox have no network: neither a bridge nor packet filters are needed
  setsid nohup dockerd --host "$host" --data-root "$state" --exec-root "$run" --pidfile "$run/dockerd.pid" \
    --bridge=none --iptables=false --ip6tables=false ${runtimes[@]+"${runtimes[@]}"} "$@" >"$log" 2>&1 </dev/null &
  pid=$!
  for _ in $(seq 150); do
    if answers; then return 0; fi
    kill -0 "$pid" 2>/dev/null || return 1
    sleep 0.2
  done
  kill "$pid" 2>/dev/null
  return 1
}
# A daemon that is killed while it starts a container forgets it: the next daemon neither ends nor lists the container. As a
# service manager would, this ends what is left of such a container.
forgotten() { # prints the pids of this daemon's shims whose containers it does not know
  for folder in /proc/[0-9]*; do
    mapfile -d '' -t words 2>/dev/null <"$folder/cmdline" || continue
    [[ ${words[0]-} == *containerd-shim-runc-v2 && " ${words[*]} " == *" -address $run/containerd/containerd.sock "* ]] || continue
    id=$(grep -oE '[0-9a-f]{64}' <<<"${words[*]}")
    known=$(curl -s -o /dev/null -w '%{http_code}' --max-time 5 --unix-socket "$socket" "http://docker/containers/$id/json")
    if [ "$known" = 404 ]; then echo "${folder#/proc/}"; fi
  done
}
end_forgotten() {
  if [ -z "$(forgotten)" ]; then return; fi
  sleep 1 # a container that is just being removed ends by itself
  for shim in $(forgotten); do
    echo "docker-engine: ends what a killed daemon forgot (shim $shim)" >&2
    kill -9 $(cat "/proc/$shim"/task/*/children 2>/dev/null) "$shim" 2>/dev/null || true
  done
}
start || start --storage-driver=vfs || { echo "docker-engine: dockerd did not start:" >&2; tail -5 "$log" >&2; exit 1; }
end_forgotten
echo "$(cat "$run/dockerd.pid")"
