#!/usr/bin/env bash
# What Retry, CircuitBreaker and a mocked answer cost: CPU of the process for each request,
# keep-alive, one worker, in turn with a plain route and with nginx's `return`.
#
#   cargo build --release && bench/attempts.sh [ROUNDS]
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${1:-3}
weir=target/release/weir
dir=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$dir"' EXIT

cat >"$dir/gateway.yml" <<'YAML'
server: { address: 127.0.0.1, port: 18080 }
weir.server.workers: 1
weir.admin.port: 0
resilience4j.timelimiter.configs.default.timeoutDuration: 5s
spring.cloud.gateway.server.webflux.routes:
- { id: plain, uri: 'http://127.0.0.1:18081', predicates: [ Path=/plain ] }
- { id: retry, uri: 'http://127.0.0.1:18081', predicates: [ Path=/retry ], filters: [ Retry=3 ] }
- { id: breaker, uri: 'http://127.0.0.1:18081', predicates: [ Path=/breaker ], filters: [ CircuitBreaker=b ] }
YAML
cat >"$dir/nginx.conf" <<CONF
worker_processes 1; daemon off; pid $dir/nginx.pid; error_log $dir/error.log;
events { worker_connections 512; }
http {
  access_log off; keepalive_requests 100000000;
  server {
    listen 127.0.0.1:18081; default_type application/json;
    location / { return 200 '{"id":1,"name":"Tom","tag":"cat"}'; }
  }
}
CONF
nginx -c "$dir/nginx.conf" & nginx=$!
"$weir" run "$dir/gateway.yml" --data "$dir/data" --log warn >/dev/null 2>&1 & gateway=$!
"$weir" mock --port 18082 examples/petstore.yaml >/dev/null 2>&1 & mock=$!
for port in 18080 18081 18082; do
  until curl -so /dev/null "http://127.0.0.1:$port/"; do sleep 0.1; done
done
worker=$(pgrep -P "$nginx" | head -1)

ticks() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }
measure() { # pid, path with port, name
  local before after requests
  before=$(ticks "$1")
  requests=$(wrk -t1 -c16 -d3 "http://127.0.0.1:$2" | awk '/requests in/ { print $1 }')
  after=$(ticks "$1")
  awk -v n="$requests" -v t="$((after - before))" -v name="$3" \
    'BEGIN { printf "%-14s %6.2f µs a request, %d requests\n", name, t * 10000 / n, n }'
}
for _ in $(seq "$rounds"); do
  measure "$gateway" 18080/plain plain
  measure "$gateway" 18080/retry Retry
  measure "$gateway" 18080/breaker CircuitBreaker
  measure "$worker" 18081/ "nginx return"
  measure "$mock" 18082/pets/1 "weir mock"
done
