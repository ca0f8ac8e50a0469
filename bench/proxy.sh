#!/usr/bin/env bash
# CPU per proxied request: weir with 100,000 routes, weir with one, nginx with one location, side by
# side and interleaved in one run. Needs nginx and wrk (Debian's packages) and `cargo build --release`.
# Loads 127.0.0.1 only. Usage: bench/proxy.sh [rounds] [seconds]
set -euo pipefail
rounds=${1:-3} seconds=${2:-4}
weir=$(cd "$(dirname "$0")/.." && pwd)/target/release/weir
work=$(mktemp -d)
pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true; rm -rf "$work"' EXIT

nginx_config() { # name, server block
  cat >"$work/$1.conf" <<E2
worker_processes 1; daemon off; pid $work/$1.pid; error_log $work/$1.log;
events { worker_connections 10000; }
http { access_log off; keepalive_requests 1000000000; keepalive_timeout 600s;
  upstream origin { server 127.0.0.1:19999; keepalive 512; keepalive_requests 1000000000; }
  server { $2 } }
E2
  nginx -c "$work/$1.conf" & pids+=($!)
}
routes() { # count
  for ((n = 0; n < $1; n++)); do
    printf '    - { id: api-%d, uri: "http://127.0.0.1:19999", predicates: [ "Path=/%d" ], filters: [ "AddRequestHeader=x-benchmark-routeId, api-%d", "PrefixPath=/ok" ] }\n' $n $n $n
  done
}
start_weir() { # name, port, routes
  { printf 'server: { address: 127.0.0.1, port: %d }\nweir: { server.workers: 1, admin.port: 0, store.path: %s }\n' "$2" "$work/$1"
    printf 'spring.cloud.gateway.server.webflux:\n  routes:\n'; routes "$3"; } >"$work/$1.yml"
  "$weir" run "$work/$1.yml" >"$work/$1.log" 2>&1 & pids+=($!)
  eval "$1=$!"
  until grep -q '^listening' "$work/$1.log"; do sleep 0.1; done
}
ticks() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }
measure() { # name, pid, url
  local before after requests
  before=$(ticks "$2")
  requests=$(wrk -t1 -c64 -d"${seconds}s" "$3" | awk '/requests in/ { print $1 }')
  after=$(ticks "$2")
  awk -v n="$1" -v r="$requests" -v t=$((after - before)) -v s="$seconds" -v hz="$(getconf CLK_TCK)" \
    'BEGIN { printf "%-18s %8.0f req/s  %6.2f CPU µs/request\n", n, r / s, t * 1e6 / hz / r }'
}

nginx_config origin 'listen 127.0.0.1:19999 backlog=65535; location / { return 200 "ok\n"; }'
nginx_config proxy 'listen 127.0.0.1:18081; location / { proxy_pass http://origin; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header X-A b; }'
start_weir many 18082 100000
start_weir one 18083 1
sleep 0.5
proxy=$(pgrep -P "$(cat "$work/proxy.pid")")
for ((round = 1; round <= rounds; round++)); do
  measure "weir 100,000" "$many" http://127.0.0.1:18082/77777
  measure "weir 1" "$one" http://127.0.0.1:18083/0
  measure "nginx 1" "$proxy" http://127.0.0.1:18081/ok/0
done
grep -H VmRSS "/proc/$many/status" "/proc/$one/status" | sed 's/.*status://'
