#!/usr/bin/env bash
# What instances cost: CPU of the gateway's process for each keep-alive request through `lb://` with 1, 10
# and 1,000 instances, from a static list and from a registry with Eureka's answers, and under rules, beside the
# same route with `http://`, all in turn. `http-1000` is the floor for 1,000 instances: as many `http://` routes,
# asked for one after the other, so that there are as many connections and nothing is balanced. The
# instances are addresses of 127.0.0.0/8; one origin listens on each of them.
# Needs `cargo build --release`, wrk, curl and python3; loads loopback only; four minutes.
# Usage: bench/instances.sh [ROUNDS]
set -euo pipefail
. "$(dirname "$0")/common.sh"
rounds=${1:-7}

ips() { seq "$1" | awk '{ printf "127.1.%d.%d\n", $1 / 250, $1 % 250 + 1 }'; }
start_origin "$(ips 1000 | paste -sd,)"
port=${origin##*:}
addresses() { ips "$1" | sed "s/$/:$port/"; }
for count in 1 10 1000; do echo "eureka-$count" $(addresses "$count"); done >"$work/services"
: >"$work/registry.log"
python3 "$(dirname "$0")/eureka.py" 127.0.0.1:0 "$work/services" >"$work/registry.log" 2>&1 & pids+=($!)
registry=$(wait_for "$work/registry.log" listening)

rules="round-robin least-requests peak-ewma"
{
  printf 'server: { address: 127.0.0.1, port: 0 }\nweir: { admin.port: -1, server.workers: 1, store.path: %s }\n' "$work/store"
  printf 'eureka: { client: { service-url.defaultZone: "http://%s/eureka/", register-with-eureka: false } }\n' "$registry"
  printf 'spring.cloud.discovery.client.simple.instances:\n'
  for count in 1 10 1000; do
    printf '  static-%d:\n' "$count"
    addresses "$count" | sed 's/.*/  - uri: "http:\/\/&"/'
  done
  printf 'weir.upstreams:\n'
  for balance in $rules; do
    printf '  %s-1000:\n    balance: %s\n    targets:\n' "$balance" "$balance"
    addresses 1000 | sed 's/.*/    - "&"/'
  done
  printf 'spring.cloud.gateway.server.webflux.routes:\n'
  route() { printf -- '- { id: %s, uri: "%s", predicates: [ "Path=/%s" ], filters: [ "SetPath=/ok" ] }\n' "$1" "$2" "$1"; }
  route http "http://127.0.0.1:$port"
  for source in static eureka; do
    for count in 1 10 1000; do route "$source-$count" "lb://$source-$count"; done
  done
  for balance in $rules; do route "$balance-1000" "lb://$balance-1000"; done
  n=0
  for address in $(addresses 1000); do route "http-1000/$((n++))" "http://$address"; done
} >"$work/weir.yml"
: >"$work/weir.log"
"$weir" run "$work/weir.yml" >"$work/weir.log" 2>&1 & pids+=($!)
pid=$!
gateway=$(wait_for "$work/weir.log" listening)

ticks() { awk '{ print $14 + $15 }' "/proc/$pid/stat"; }
hz=$(getconf CLK_TCK)
# CPU of a request in µs: path, seconds.
cpu() {
  local before count
  before=$(ticks)
  count=$(wrk -t1 -c32 -d"$2"s -s "$work/$([ "$1" = http-1000 ] && echo in-turn || echo plain).lua" "http://$gateway/$1" | awk '/requests in/ { print $1 } /Non-2xx/ { bad = 1 } END { exit bad }')
  awk -v t=$(($(ticks) - before)) -v hz="$hz" -v n="$count" 'BEGIN { printf "%.3f\n", t * 1e6 / hz / n }'
}
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
cat >"$work/in-turn.lua" <<'LUA'
local requests, n = {}, 0
init = function(args)
  for i = 0, 999 do requests[i] = wrk.format("GET", "/http-1000/" .. i) end
end
request = function()
  n = (n + 1) % 1000
  return requests[n]
end
LUA
: >"$work/plain.lua"
rows="http http-1000 static-1 static-10 static-1000 eureka-1 eureka-10 eureka-1000 round-robin-1000 least-requests-1000 peak-ewma-1000"
for row in $rows; do
  path=$([ "$row" = http-1000 ] && echo http-1000/0 || echo "$row")
  [ "$(curl -s -o /dev/null -w '%{http_code}' "http://$gateway/$path")" = 200 ]
  cpu "$row" 1 >/dev/null # connections to all instances
done
for round in $(seq "$rounds"); do
  for row in $rows; do cpu "$row" 3 >>"$work/row-$row"; done
done
echo "CPU of a keep-alive request, µs, and beside http:// in the same round; wrk -c 32, one worker; medians of $rounds rounds"
for row in $rows; do
  ratio=$(paste "$work/row-$row" "$work/row-http" | awk '{ printf "%.4f\n", $1 / $2 }' | median)
  printf '%-20s %8.2f %8.3f x\n' "$row" "$(median <"$work/row-$row")" "$ratio"
done
