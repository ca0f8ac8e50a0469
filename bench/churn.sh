#!/usr/bin/env bash
# What it costs that instances come and go: p99 and failures of requests at a rate through `lb://` with 1,000
# instances, of which 100 leave and 100 others join every second, beside the same while none does; by turns and
# under rules (peak EWMA). The registry has Eureka's answers and is asked every second. The instances are
# addresses of 127.0.0.0/8; one origin listens on each of them.
# Needs `cargo build --release`, curl and python3; loads loopback only; three minutes.
# Usage: bench/churn.sh [ROUNDS [RATE]]
set -euo pipefail
. "$(dirname "$0")/common.sh"
rounds=${1:-5}
rate=${2:-2000}

start_origin "$(seq 0 4999 | awk '{ printf "127.1.%d.%d\n", $1 / 250, $1 % 250 + 1 }' | paste -sd,)"
port=${origin##*:}
# 1,000 addresses of a ring of 5,000, from a place on.
list() {
  awk -v from="$1" -v p="$port" 'BEGIN { printf "svc"; for (n = 0; n < 1000; n++) { i = (from + n) % 5000
    printf " 127.1.%d.%d:%d", i / 250, i % 250 + 1, p } print "" }' >"$work/services.new"
  { cat "$work/services.new"; sed 's/^svc/ruled/' "$work/services.new"; } >"$work/services.both"
  mv "$work/services.both" "$work/services"
}
list 0
: >"$work/registry.log"
python3 "$(dirname "$0")/eureka.py" 127.0.0.1:0 "$work/services" >"$work/registry.log" 2>&1 & pids+=($!)
registry=$(wait_for "$work/registry.log" listening)
cat >"$work/weir.yml" <<YML
server: { address: 127.0.0.1, port: 0 }
weir: { admin.port: -1, server.workers: 1, store.path: $work/store, upstreams.ruled.balance: peak-ewma }
eureka.client: { service-url.defaultZone: "http://$registry/eureka/", register-with-eureka: false, registry-fetch-interval-seconds: 1 }
spring.cloud.gateway.server.webflux.routes:
- { id: svc, uri: "lb://svc", predicates: [ "Path=/svc" ], filters: [ "SetPath=/ok" ] }
- { id: ruled, uri: "lb://ruled", predicates: [ "Path=/ruled" ], filters: [ "SetPath=/ok" ] }
YML
: >"$work/weir.log"
"$weir" run "$work/weir.yml" >"$work/weir.log" 2>&1 & pids+=($!)
gateway=$(wait_for "$work/weir.log" listening)
for path in svc ruled; do [ "$(curl -s -o /dev/null -w '%{http_code}' "http://$gateway/$path")" = 200 ]; done

load() { # path, row
  "$weir" bench -q -R "$rate" -c 128 -d 8s --json "$work/load.json" "http://$gateway/$1" >"$work/load.txt" 2>&1 ||
    { cat "$work/load.txt" >&2; return 1; }
  python3 - "$work/load.json" <<'PY' >>"$work/row-$2"
import json, sys
result = json.load(open(sys.argv[1]))
response, seen, p99 = result["response"], 0, None
for nanoseconds, count in response["buckets"]:
    seen += count
    if p99 is None and seen >= 0.99 * response["count"]:
        p99 = nanoseconds / 1e6
print(p99, result["sent"], result["sent"] - result["ok"])
PY
}
from=0
churn() { # until it is ended
  while :; do
    from=$((from + 100))
    list $from
    sleep 1
  done
}
for path in svc ruled; do load $path warm-$path; done
for round in $(seq "$rounds"); do
  for path in svc ruled; do
    load $path "$path-still"
    churn & moving=$!
    load $path "$path-churn"
    kill $moving
    wait $moving 2>/dev/null || true
  done
done
median() { sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
echo "1,000 instances, 100 of them others every second; $rate requests a second; medians of $rounds rounds"
printf '%-12s %12s %12s %10s %12s %10s\n' '' 'p99 still' 'p99 churn' 'ratio' 'requests' 'failed'
for path in svc ruled; do
  still=$(cut -d' ' -f1 "$work/row-$path-still" | median) churn=$(cut -d' ' -f1 "$work/row-$path-churn" | median)
  ratio=$(paste -d' ' "$work/row-$path-churn" "$work/row-$path-still" | awk '{ print $1 / $4 }' | median)
  awk -v name="$path" -v a="$still" -v b="$churn" -v r="$ratio" '{ sent += $2; failed += $3 }
    END { printf "%-12s %9.2f ms %9.2f ms %9.2fx %12d %10d\n", name, a, b, r, sent, failed }' "$work/row-$path-churn"
done
