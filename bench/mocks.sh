#!/usr/bin/env bash
# Many API definitions in the store: how long an import and a cold start take, the memory that a
# definition takes, how long a change takes until it serves, and requests to all of them beside
# requests to one. Each definition is OpenAPI with four operations, two schemas and an example, under
# a base path of its own. BEFORE=PATH names another version of weir, which is measured first with the
# same definitions; then ratios are printed.
# Needs `cargo build --release` and curl; uses 127.0.0.1 only.
# Usage: bench/mocks.sh [definitions [changes [seconds [requests/s]]]]   (100000 500 10 2000)
set -euo pipefail
. "$(dirname "$0")/common.sh"
count=${1:-100000} changes=${2:-500} seconds=${3:-10} rate=${4:-2000}

cat >"$work/mocks.yml" <<Y
server: { address: 127.0.0.1, port: 0 }
management: { server: { address: 127.0.0.1, port: 0 }, endpoint.gateway.access: unrestricted }
management.endpoints.web.exposure.include: "*"
weir.mock.select-header: X-Api-Id
spring.cloud.gateway.server.webflux.routes: [ { id: mocks, uri: "mock://store", predicates: [ Path=/** ] } ]
Y
# The definition of a number; `summary` differs from version to version.
definition='{"openapi":"3.1.0","info":{"title":"Shop %d","version":"%s"},"paths":{"/items":{"get":{"operationId":"list","summary":"All items","parameters":[{"name":"limit","in":"query","schema":{"type":"integer","maximum":100}}],"responses":{"200":{"description":"all","content":{"application/json":{"schema":{"type":"array","items":{"$ref":"#/components/schemas/Item"}},"example":[{"id":%d,"name":"lamp","price":9.5}]}}}}},"post":{"operationId":"add","summary":"A new item","requestBody":{"required":true,"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Item"}}}},"responses":{"201":{"description":"made","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Item"}}}}}}},"/items/{id}":{"parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"integer"}}],"get":{"operationId":"show","summary":"One item","responses":{"200":{"description":"one","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Item"}}}},"404":{"description":"none","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Error"}}}}}},"delete":{"operationId":"remove","summary":"No such item any more","responses":{"204":{"description":"gone"}}}}},"components":{"schemas":{"Item":{"type":"object","required":["id","name"],"properties":{"id":{"type":"integer"},"name":{"type":"string","maxLength":80},"price":{"type":"number","minimum":0},"tags":{"type":"array","items":{"type":"string"}},"made":{"type":"string","format":"date-time"}}},"Error":{"type":"object","required":["code"],"properties":{"code":{"type":"integer"},"message":{"type":"string"}}}}}}'
awk -v n="$count" -v text="$definition" 'BEGIN { for (i = 0; i < n; i++) { printf "{\"name\":\"shop-%d\",\"base-path\":\"/shops/%d\",\"definition\":", i, i; printf text, i, "1", i; print "}" } }' >"$work/all.jsonl"

now_ms() { date +%s%3N; }
rss_mb() { awk '/^VmRSS/ { printf "%.1f", $2 / 1024 }' "/proc/$1/status"; }
start() { # program, name; sets pid, gateway, admin
  "$1" run "$work/mocks.yml" --set weir.store.path="$work/store-$2" >"$work/$2.log" 2>&1 & pids+=($!)
  pid=$!
  gateway=$(wait_for "$work/$2.log" listening)
  admin=$(wait_for "$work/$2.log" admin)
}
stop() { kill "$pid"; while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done; }
# Milliseconds at a share of the lines of a file.
quantile() { # share, file
  sort -n "$2" | awk -v share="$1" '{ v[NR] = $1 } END { i = int(share * NR + 0.999999); printf "%.2f", v[i < 1 ? 1 : i] }'
}
note() { echo "$2 $3" >>"$work/figures-$1"; } # name, what, value

measure() { # program, name
  local program=$1 name=$2 began at shop
  start "$program" "$name"
  note "$name" empty_mb "$(rss_mb "$pid")"
  began=$(now_ms)
  split -l 10000 -d -a 4 "$work/all.jsonl" "$work/part-$name-"
  for part in "$work/part-$name-"*; do
    mv "$part" "$part.jsonl"
    "$program" apis --admin "http://$admin" import "$part.jsonl" >/dev/null
  done
  note "$name" import_s "$(($(now_ms) - began))e-3"
  stop
  began=$(now_ms)
  start "$program" "$name"
  note "$name" start_s "$(($(now_ms) - began))e-3"
  sleep 3
  note "$name" memory_mb "$(rss_mb "$pid")"
  : >"$work/changes-$name"
  for ((at = 0; at < changes; at++)); do
    shop=$((RANDOM * 32768 % count + RANDOM % 1000)) shop=$((shop % count))
    # shellcheck disable=SC2059 # the definition is the format
    printf "$definition" "$shop" "$((at + 2))" "$((shop + 1000000))" >"$work/changed.json"
    curl -sf -o /dev/null -w '%{time_total}\n' -X PUT -H 'Content-Type: application/json' \
      --data-binary "@$work/changed.json" "http://$admin/weir/apis/shop-$shop?base-path=/shops/$shop" |
      awk '{ print $1 * 1000 }' >>"$work/changes-$name"
    # It serves once it is acknowledged.
    curl -sf "http://$gateway/shops/$shop/items" | grep -q "$((shop + 1000000))" || {
      echo "error: a change of shop-$shop does not serve" >&2
      return 1
    }
  done
  note "$name" change_p50_ms "$(quantile 0.5 "$work/changes-$name")"
  note "$name" change_p99_ms "$(quantile 0.99 "$work/changes-$name")"
  for kind in one all; do
    local path=/shops/1/items
    [ "$kind" = one ] || path="/shops/\${random(0,$((count - 1)))}/items"
    cat >"$work/traffic.yml" <<Y
target: http://$gateway
load: { connections: 16, threads: 1, rate: $rate, duration: ${seconds}s }
requests: [ { path: '$path' } ]
Y
    "$program" bench plan "$work/traffic.yml" -q --json "$work/$name-$kind.json" >/dev/null || true
    note "$name" "failed_$kind" "$(awk '$1 == "\"failed\":" { sub(",", "", $2); print $2; exit }' "$work/$name-$kind.json")"
  done
  note "$name" memory_used_mb "$(rss_mb "$pid")"
  stop
}

[ -z "${BEFORE-}" ] || measure "$BEFORE" before
measure "$weir" now
echo "$count definitions, $changes changes, $rate requests/s"
for name in before now; do
  [ -f "$work/figures-$name" ] || continue
  awk -v name="$name" -v n="$count" '{ v[$1] = $2 } END {
    printf "%s: import %.1f s, cold start %.1f s, memory %.0f MB (%.1f KB a definition), after traffic %.0f MB, a change p50 %s ms, p99 %s ms, failed requests: one %s, all %s\n",
      name, v["import_s"], v["start_s"], v["memory_mb"], (v["memory_mb"] - v["empty_mb"]) * 1024 / n,
      v["memory_used_mb"], v["change_p50_ms"], v["change_p99_ms"], v["failed_one"], v["failed_all"] }' "$work/figures-$name"
done
if [ -n "${BEFORE-}" ]; then
  awk 'NR == FNR { before[$1] = $2; next } $1 in before && before[$1] > 0 && $1 !~ /^(empty|failed)/ {
    printf "ratio %.3f of %s\n", $2 / before[$1], $1 }' "$work/figures-before" "$work/figures-now"
fi
