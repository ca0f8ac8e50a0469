#!/usr/bin/env bash
# Changes of the route table while it serves: traffic at a fixed rate to routes drawn from all N, in
# blocks that take turns: quiet, and with 1,000 changes a second (create, replace, remove of single
# routes). Prints each pair of blocks, the ratio of p99 over all changing and all quiet blocks, how
# long a change takes from its durable write until it serves, and memory before and after.
# Needs `cargo build --release`; uses 127.0.0.1 only.
# Usage: bench/changes.sh [routes [pairs [seconds [requests/s [changes/s]]]]]   (100000 6 10 1000 1000)
#        STORE=DIR bench/changes.sh 1000000    keeps the routes there for the next run, which then
#                                              spends no time on importing them
# WEIR=target/released/weir is the program as it is released (`cargo xtask release`).
set -euo pipefail
. "$(dirname "$0")/common.sh"
routes=${1:-100000} pairs=${2:-6} seconds=${3:-10} rate=${4:-1000} changes=${5:-1000}
store=${STORE:-$work/store}

start_origin
# The routes name a service, so that a store outlives the port of its origin.
cat >"$work/empty.yml" <<Y
server: { address: 127.0.0.1, port: 0 }
management: { server: { address: 127.0.0.1, port: 0 }, endpoint.gateway.access: unrestricted }
management.endpoints.web.exposure.include: "*"
spring.cloud.discovery.client.simple.instances.origin: [ { uri: "http://$origin" } ]
Y
"$weir" run "$work/empty.yml" --set weir.store.path="$store" >"$work/weir.log" 2>&1 & pids+=($!)
pid=$!
gateway=$(wait_for "$work/weir.log" listening)
admin=$(wait_for "$work/weir.log" admin)
stats() { curl -s "http://$admin/actuator/gateway/stats"; }
total() { stats | grep -o '"total":[0-9]*' | cut -d: -f2; }
if [ "$(total)" -lt "$routes" ]; then
  awk -v n="$routes" 'BEGIN { for (i = 0; i < n; i++) printf "{\"id\":\"api-%d\",\"uri\":\"lb://origin\",\"predicates\":[\"Path=/%d\"],\"filters\":[\"AddRequestHeader=x-route, api-%d\",\"SetPath=/ok\"],\"metadata\":{\"owner\":\"team-%d\"}}\n", i, i, i, i }' >"$work/routes.jsonl"
  "$weir" routes --admin "http://$admin" import "$work/routes.jsonl" >/dev/null
fi
rss() { awk '/^VmRSS/ { printf "%.1f MB\n", $2 / 1024 }' "/proc/$pid/status"; }

cat >"$work/changes.yml" <<Y
target: http://$admin/actuator/gateway
load: { connections: 64, threads: 1, rate: $changes, duration: ${seconds}s }
requests:
- method: POST
  path: /routes/change-\${random(1,5000)}
  headers: { Content-Type: application/json }
  body: '{"uri":"lb://origin","predicates":["Path=/change/\${random(1,5000)}"],"filters":["AddRequestHeader=x-change, \${random(1,5000)}"]}'
  expect: [200, 201]
  weight: 2
- method: DELETE
  path: /routes/change-\${random(1,5000)}
  expect: [200, 404]
  weight: 1
Y
cat >"$work/traffic.yml" <<Y
target: http://$gateway
load: { connections: 32, threads: 1, rate: $rate, duration: ${seconds}s }
requests: [ { path: '/\${random(0,$((routes - 1)))}' } ]
Y
block() { # quiet or changing, number
  local changing=
  if [ "$1" = changing ]; then
    "$weir" bench plan "$work/changes.yml" -q --json "$work/changes-$2.json" >/dev/null & changing=$!
  fi
  "$weir" bench plan "$work/traffic.yml" -q --json "$work/$1-$2.json" >/dev/null || true
  [ -z "$changing" ] || wait "$changing" || true
}
number() { awk -v want="\"$2\":" '$1 == want { sub(",", "", $2); print $2; exit }' "$1"; }
# A quantile of the response times of some results together, in microseconds.
quantile() { # share, results...
  local share=$1; shift
  awk '/"response": \{/ { on = 1 } on && /\]/ { if (!inner) on = 0; inner = 0 }
    on && /^ *\[$/ { inner = 1; at = 0 }
    on && inner && /^ *[0-9]+,?$/ { gsub(/[ ,]/, ""); if (at++) print ns, $0; else ns = $0 }' "$@" |
    sort -n | awk -v share="$share" '{ ns[NR] = $1; sum += $2; upto[NR] = sum }
    END { for (i = 1; i <= NR; i++) if (upto[i] >= share * sum) { printf "%.0f", ns[i] / 1000; exit } }'
}

sleep 3
block quiet 0 # warms up
before=$(rss)
echo "routes $routes, $rate requests/s, $changes changes/s in every other block of $seconds s"
echo '| pair | quiet: p50 µs | p99 µs | failed | changing: p50 µs | p99 µs | failed | changes: ok | failed | p99 µs |'
echo '| ---- | ------------- | ------ | ------ | ---------------- | ------ | ------ | ----------- | ------ | ------ |'
for ((n = 1; n <= pairs; n++)); do
  order=(quiet changing)
  ((n % 2)) || order=(changing quiet)
  for kind in "${order[@]}"; do block "$kind" "$n"; done
  row="| $n |"
  for kind in quiet changing; do
    file=$work/$kind-$n.json
    row+=" $(quantile 0.5 "$file") | $(quantile 0.99 "$file") | $(number "$file" failed) |"
  done
  file=$work/changes-$n.json
  echo "$row $(number "$file" ok) | $(number "$file" failed) | $(quantile 0.99 "$file") |"
  quantile 0.99 "$work/quiet-$n.json" >>"$work/ratios"
  echo " $(quantile 0.99 "$work/changing-$n.json")" >>"$work/ratios"
done
q=$(quantile 0.99 "$work"/quiet-[1-9]*.json) c=$(quantile 0.99 "$work"/changing-[1-9]*.json)
echo "p99 of all: quiet $q µs, changing $c µs"
awk '{ print $2 / $1 }' "$work/ratios" | sort -n | awk -v q="$q" -v c="$c" '{ r[NR] = $1 }
  END { printf "ratio %.2f of all; by pair: median %.2f, %.2f to %.2f\n", c / q, NR % 2 ? r[(NR + 1) / 2] : (r[NR / 2] + r[NR / 2 + 1]) / 2, r[1], r[NR] }'
stats >"$work/stats.json"
echo "from the durable write until it serves: $(grep -o '"changes":{[^}]*}' "$work/stats.json")"
curl -s -o /dev/null -X DELETE "http://$admin/actuator/gateway/routes?id=change-" || true
sleep 4
echo "memory before $before, after $(rss); routes $(total)"
