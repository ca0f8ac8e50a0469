#!/usr/bin/env bash
# What filters cost: CPU of the gateway's process for each keep-alive request through a route with one
# filter, beside a route without one, in turn. RequestRateLimiter in the process and with a real
# Redis, LocalResponseCache (a hit), ApiKey, Retry, CircuitBreaker, EditResponseBody.
# Needs `cargo build --release`, wrk, curl and redis-server; uses 127.0.0.1 only; four minutes.
# Usage: bench/filters.sh [ROUNDS]
set -euo pipefail
. "$(dirname "$0")/common.sh"
rounds=${1:-5}

start_origin
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
redis-server --bind 127.0.0.1 --port "$port" --save '' >"$work/redis.log" 2>&1 & pids+=($!)

routes() {
  printf 'weir.key-resolvers.ip: ip\nweir.api-keys.me: open-sesame\nspring.cloud.gateway.server.webflux.routes:\n'
  route() { printf -- '- { id: %s, uri: "http://%s", predicates: [ "Path=/%s" ], filters: [ %s"SetPath=/ok" ] }\n' "$1" "$origin" "$1" "${2-}"; }
  route plain
  route limiter '{ name: RequestRateLimiter, args: { key-resolver: "#{@ip}", redis-rate-limiter: { replenishRate: 1000000, burstCapacity: 1000000 } } }, '
  route cache '"LocalResponseCache=1h", '
  route key '"ApiKey=X-Key", '
  route retry '"Retry=3", '
  route breaker '"CircuitBreaker=b", '
  route edit '{ name: EditResponseBody, args: { replace: { nothing: else } } }, '
}
declare -A pid gateway
start own < <(routes)
start redis < <(printf 'spring.data.redis: { host: 127.0.0.1, port: %s }\n' "$port"; routes)

[ "$(curl -s -o /dev/null -w '%{http_code}' -H 'X-Key: open-sesame' "http://${gateway[own]}/key")" = 200 ]
curl -si "http://${gateway[redis]}/limiter" | tr -d '\r' | grep -i '^x-ratelimit-remaining: [0-9]' >/dev/null
for path in limiter cache retry breaker edit; do curl -sf -o /dev/null "http://${gateway[own]}/$path"; done

# Each row is compared with a plain one measured directly before it: the machine's own speed drifts by
# more than most of these filters cost.
rows="own/limiter own/cache own/key own/retry own/breaker own/edit redis/limiter"
for round in $(seq "$rounds"); do
  for row in $rows; do
    plain=$(cpu "${row%/*}" plain -H 'X-Key: open-sesame')
    with=$(cpu "${row%/*}" "${row#*/}" -H 'X-Key: open-sesame')
    awk -v p="$plain" -v w="$with" 'BEGIN { print p, w, w / p }' >>"$work/row-${row%/*}-${row#*/}"
  done
done
echo "CPU of a keep-alive request, µs; wrk -c 32, one worker; medians of $rounds rounds"
printf '%-16s %8s %8s %10s\n' '' plain with ratio
for row in $rows; do
  file="$work/row-${row%/*}-${row#*/}"
  printf '%-16s %8.2f %8.2f %8.3f x\n' "$row" "$(cut -d' ' -f1 "$file" | median)" "$(cut -d' ' -f2 "$file" | median)" "$(cut -d' ' -f3 "$file" | median)"
done
