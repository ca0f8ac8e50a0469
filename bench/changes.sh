#!/usr/bin/env bash
# Changes of the route table while it serves: traffic at a fixed rate through one route of N, quiet
# and then with 1,000 changes a second (create, replace, remove of single routes); how long a change
# takes from the durable write until it serves; memory before and after. Needs
# `cargo build --release`; uses 127.0.0.1 only.
# Usage: bench/changes.sh [routes [seconds [requests/s [changes/s]]]]   (100000 20 2000 1000)
set -euo pipefail
weir=${WEIR:-$(cd "$(dirname "$0")/.." && pwd)/target/release/weir}
routes=${1:-100000} seconds=${2:-20} rate=${3:-2000} changes=${4:-1000}
work=$(mktemp -d)
pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true; rm -rf "$work"' EXIT

wait_for() { until grep -q "^$2" "$1"; do sleep 0.05; done; awk -v w="$2" '$1 == w { print $NF }' "$1"; }
"$weir" origin --listen 127.0.0.1:0 >"$work/origin.log" 2>&1 & pids+=($!)
origin=$(wait_for "$work/origin.log" listening)
origin=${origin#http://}
cat >"$work/empty.yml" <<Y
server: { address: 127.0.0.1, port: 0 }
management: { server: { address: 127.0.0.1, port: 0 }, endpoint.gateway.access: unrestricted }
management.endpoints.web.exposure.include: "*"
Y
awk -v n="$routes" -v origin="$origin" 'BEGIN { for (i = 0; i < n; i++) printf "{\"id\":\"api-%d\",\"uri\":\"http://%s\",\"predicates\":[\"Path=/%d\"],\"filters\":[\"AddRequestHeader=x-route, api-%d\",\"SetPath=/ok\"],\"metadata\":{\"owner\":\"team-%d\"}}\n", i, origin, i, i, i }' >"$work/routes.jsonl"
"$weir" run "$work/empty.yml" --set weir.store.path="$work/store" >"$work/weir.log" 2>&1 & pids+=($!)
pid=$!
gateway=$(wait_for "$work/weir.log" listening)
admin=$(wait_for "$work/weir.log" admin)
"$weir" routes --admin "http://$admin" import "$work/routes.jsonl" >/dev/null
rss() { awk '/^VmRSS/ { printf "%.1f MB\n", $2 / 1024 }' "/proc/$pid/status"; }
stats() { curl -s "http://$admin/actuator/gateway/stats"; }

cat >"$work/changes.yml" <<Y
target: http://$admin/actuator/gateway
load: { connections: 64, threads: 1, rate: $changes, duration: ${seconds}s }
requests:
- method: POST
  path: /routes/change-\${random(1,5000)}
  headers: { Content-Type: application/json }
  body: '{"uri":"http://$origin","predicates":["Path=/change/\${random(1,5000)}"],"filters":["AddRequestHeader=x-change, \${random(1,5000)}"]}'
  expect: [200, 201]
  weight: 2
- method: DELETE
  path: /routes/change-\${random(1,5000)}
  expect: [200, 404]
  weight: 1
Y
traffic() { "$weir" bench "http://$gateway/$((routes / 2))" -q -c 32 -t 1 -R "$rate" -d "${seconds}s" --json "$work/$1.json" >"$work/$1.txt" || true; }
sleep 3
echo "routes              $routes"
echo "memory before       $(rss)"
traffic quiet
"$weir" bench plan "$work/changes.yml" -q >"$work/changes.txt" &
changing=$!
traffic changed
wait $changing || true
stats >"$work/stats.json"
told() { grep -E '^  (response|succeeded|p50|p99 |max)|^ +response|statuses' "$work/$1.txt" | cut -c1-78; }
echo "--- traffic, quiet"; told quiet
echo "--- traffic, $changes changes/s"; told changed
echo "--- changes"; told changes
echo "--- from the durable write until it serves"
grep -o '"changes":{[^}]*}' "$work/stats.json"
curl -s -o /dev/null -X DELETE "http://$admin/actuator/gateway/routes?id=change-" || true
sleep 4
echo "memory after        $(rss)"
stats | grep -o '"total":[0-9]*'
