#!/usr/bin/env bash
# Makes a Docker engine answer on this machine, for tests: installs Debian's packages where dockerd is missing, starts
# it where none answers, prints its pid (0: one was there already). Safe to repeat. Needs root.
#   infra/ci/docker-engine.sh            the usual socket
#   DOCKER_HOST=unix:///tmp/d.sock infra/ci/docker-engine.sh
# Stop it with: kill <pid>
set -euo pipefail
host=${DOCKER_HOST:-unix:///var/run/docker.sock}
socket=${host#unix://}
answers() { curl -sf --max-time 3 --unix-socket "$socket" http://docker/_ping >/dev/null 2>&1; }
if answers; then echo 0; exit 0; fi

install() { DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends docker.io curl; }
if ! command -v dockerd >/dev/null || ! command -v curl >/dev/null; then
  { install || { apt-get update -qq && install; }; } >&2
fi

if [ "$socket" = /var/run/docker.sock ]; then state=/var/lib/docker run=/var/run/docker; else state=$socket.d/lib run=$socket.d/run; fi
mkdir -p "$state" "$run"
log=${DOCKER_ENGINE_LOG:-$run/dockerd.log}
start() { # containers of the sandbox have no network: neither a bridge nor packet filters are needed
  setsid nohup dockerd --host "$host" --data-root "$state" --exec-root "$run" --pidfile "$run/dockerd.pid" \
    --bridge=none --iptables=false --ip6tables=false "$@" >"$log" 2>&1 </dev/null &
  pid=$!
  for _ in $(seq 150); do
    if answers; then return 0; fi
    kill -0 "$pid" 2>/dev/null || return 1
    sleep 0.2
  done
  kill "$pid" 2>/dev/null
  return 1
}
start || start --storage-driver=vfs || { echo "docker-engine: dockerd did not start:" >&2; tail -5 "$log" >&2; exit 1; }
echo "$(cat "$run/dockerd.pid")"
