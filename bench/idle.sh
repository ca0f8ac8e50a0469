#!/usr/bin/env bash
# Memory of idle keep-alive connections: a gateway with ten routes from a file and the admin API on,
# at rest, under 100 busy connections, with N idle ones that have made a request each, and after
# they have gone. Needs `cargo build --release` and N file descriptors twice; uses 127.0.0.1 only.
# Usage: bench/idle.sh [connections]     (10000)
# WEIR=target/released/weir is the program as it is released (`cargo xtask release`).
set -euo pipefail
. "$(dirname "$0")/common.sh"
count=${1:-10000}

start_origin
{ printf 'server: { address: 127.0.0.1, port: 0 }\nweir: { admin.port: 0, store.path: %s }\n' "$work/store"
  ten_routes; } >"$work/routes.yml"
"$weir" run "$work/routes.yml" >"$work/weir.log" 2>&1 & pids+=($!)
pid=$!
gateway=$(wait_for "$work/weir.log" listening)
row() { awk -v what="$1" '/^VmRSS/ { rss = $2 } /^RssAnon/ { anon = $2 } /^RssFile/ { file = $2 }
  END { printf "%-28s RSS %7.1f MB, anonymous %7.1f MB, file pages %5.1f MB\n", what, rss / 1024, anon / 1024, file / 1024 }' "/proc/$pid/status"; }
anonymous() { awk '/^RssAnon/ { print $2 * 1024 }' "/proc/$pid/status"; }
open() { ls "/proc/$pid/fd" | wc -l; }

sleep 1
row 'at rest'
"$weir" bench "http://$gateway/5" -q -c 100 -d 4s >"$work/busy.txt" & busy=$!
sleep 3
row '100 busy connections'
wait $busy
sleep 4
row 'after them'
before=$(anonymous)
"$weir" bench "http://$gateway/5" -q --users "$count" --ramp 5s --loops 2 --think 20s --timeout 30s >"$work/idle.txt" 2>&1 & idle=$!
sleep 17
row "$(open) descriptors open"
awk -v a="$before" -v b="$(anonymous)" -v n="$count" 'BEGIN { printf "%28s %.0f bytes for each idle connection\n", "", (b - a) / n }'
wait $idle || true
sleep 5
row 'after them'
grep -E 'succeeded' "$work/busy.txt" "$work/idle.txt" | sed 's/.*txt://'
