#!/usr/bin/env bash
# The throttle: how evenly it lets pass, by ab as piped's authors measured theirs, and by weir bench.
# Needs `cargo build --release`, ab (apache2-utils) and python3; uses 127.0.0.1 only; four minutes.
# FLOW=FILE.svg draws what the upstream sees of a pace and of a window (docs/images/upstream.svg).
# Usage: bench/throttle.sh
set -euo pipefail
. "$(dirname "$0")/common.sh"

start_origin
: >"$work/upstream.log"
python3 "$(dirname "$0")/valve.py" upstream >"$work/upstream.log" 2>&1 & pids+=($!)
upstream=$(wait_for "$work/upstream.log" listening)

# Starts a gateway with so many workers; sets pid, gateway and admin.
run_weir() { # workers
  { printf 'server: { address: 127.0.0.1, port: 0 }\nweir: { admin.port: 0, store.path: %s, server.workers: %s }\n' "$work/store-$1" "$1"
    printf 'weir.limits: { changed: { rate: 500/s, max-wait: 1h }, closed: { rate: 1/h, max-wait: 10000h, queue: 20000 } }\n'
    printf 'spring.cloud.gateway.server.webflux.routes:\n'
    for rate in 300 333.3 500 1000 2500 20000; do
      printf -- '- { id: "r%s", uri: "http://%s", predicates: [ "Path=/%s/**" ], filters: [ StripPrefix=1, "Throttle=%s/s" ] }\n' \
        "$rate" "$origin" "$rate" "$rate"
    done
    printf -- '- { id: window, uri: "http://%s", predicates: [ "Path=/window/**" ], filters: [ StripPrefix=1, { name: Throttle, args: { rate: 500/s, mode: window } } ] }\n' "$origin"
    printf -- '- { id: fair, uri: "http://%s", predicates: [ "Path=/fair/**" ], filters: [ StripPrefix=1, { name: Throttle, args: { rate: 500/s, order: fair, key: "header:X-Tenant" } } ] }\n' "$origin"
    printf -- '- { id: even, uri: "http://%s", predicates: [ "Path=/even/**" ], filters: [ "Throttle=500/s" ] }\n' "$upstream"
    printf -- '- { id: batch, uri: "http://%s", predicates: [ "Path=/batch/**" ], filters: [ { name: Throttle, args: { rate: 500/s, mode: window } } ] }\n' "$upstream"
    printf -- '- { id: changed, uri: "http://%s", predicates: [ "Path=/changed/**" ], filters: [ Throttle=changed ] }\n' "$upstream"
    printf -- '- { id: retry, uri: "http://%s", predicates: [ "Path=/retry/**" ], filters: [ { name: Throttle, args: { rate: 0.5/s, queue: 0 } } ] }\n' "$upstream"
    printf -- '- { id: closed, uri: "http://%s", predicates: [ "Path=/closed/**" ], filters: [ Throttle=closed ] }\n' "$upstream"
  } >"$work/routes-$1.yml"
  : >"$work/weir-$1.log"
  "$weir" run "$work/routes-$1.yml" >"$work/weir-$1.log" 2>&1 & pids+=($!)
  pid=$!
  gateway=$(wait_for "$work/weir-$1.log" listening)
  admin=$(wait_for "$work/weir-$1.log" admin)
}
run_weir 1
one=$gateway
run_weir 2
valve() { python3 "$(dirname "$0")/valve.py" "$@"; }

row() { awk -v what="$1" '/Time taken/ { took = $5 } /Failed requests/ { failed = $3 } /Non-2xx/ { odd = $3 }
  $1 ~ /^(50|90|95|99|100)%$/ { p[$1] = $2 }
  END { printf "%-34s %8.3f s, failed %d, other than 2xx %d, p50 %d, p90 %d, p95 %d, p99 %d, max %d ms\n", what, took, failed, odd, p["50%"], p["90%"], p["95%"], p["99%"], p["100%"] }'; }
echo '100 clients by ab, HTTP/1.0, 10,000 requests; a perfect pace takes 19.998 s and 200 ms each'
ab -q -c 100 -n 10000 "http://$gateway/500/ok" | row 'pace 500/s'
awk '/^VmRSS/ { printf "%-34s %8.1f MB resident after it\n", "", $2 / 1024 }' "/proc/$pid/status"
ab -q -c 100 -n 3000 "http://$gateway/window/ok" | row "window 500/s, as piped's tap"
echo '10 connections at 1000/s; a perfect pace takes 10 ms each'
ab -q -k -c 10 -n 5000 "http://$gateway/1000/ok" | row 'pace 1000/s'
echo 'long-run rates: requests / (rate x time), 1 is exact'
for place in "$one" "$gateway"; do
  for rate in 300 333.3 2500 20000; do
    workers=2; [ "$place" = "$one" ] && workers=1
    seconds=4 clients=64
    # So many that the queue is not empty when ab is held up for some milliseconds, and so long that
    # the 20 ms in which ab connects them do not count.
    [ "$rate" = 20000 ] && seconds=20 clients=512
    count=$(awk -v r="$rate" -v s="$seconds" 'BEGIN { printf "%d", r * s }')
    ab -q -k -c "$clients" -n "$count" "http://$place/$rate/ok" | awk -v r="$rate" -v n="$count" -v w="$workers" '/Time taken/ { printf "%-34s %8.4f\n", "pace " r "/s, workers: " w, n / (r * $5) }'
  done
done
echo '90 connections of one key beside 1 of another at 500/s, order fair; two turns are 4 ms'
ab -q -k -c 90 -n 2000 -H 'X-Tenant: heavy' "http://$gateway/fair/ok" >"$work/heavy.txt" & heavy=$!
sleep 0.5
ab -q -k -c 1 -n 200 -H 'X-Tenant: light' "http://$gateway/fair/ok" | row 'the light key'
wait $heavy
row 'the heavy key' <"$work/heavy.txt"

echo 'an upstream that notes when it is asked; 100 clients at 500/s'
valve even "$gateway/even/" "$upstream" 500 10
[ -z "${FLOW-}" ] || valve flow "$gateway/even/" "$gateway/batch/" "$upstream" "$FLOW"
valve killed "$gateway/even/" "$upstream" 500
valve changed "$gateway/changed/" "$upstream" "$admin" changed
valve retry "$gateway/retry/" 0.5
# A gateway that has served nothing before.
run_weir 3
valve queued "$gateway/closed/" "$pid" 10000
