#!/usr/bin/env bash
# What workers share: of the memory that requests read and write in user space, the cache lines (64
# bytes) that one thread writes and another uses. valgrind's lackey traces each access, so this shows
# on any number of cores what would be contended on many; the kernel's memory is not seen.
# Needs valgrind, binutils, mawk or gawk, and `cargo build --release`; uses 127.0.0.1 only.
# Usage: bench/sharing.sh [workers [requests]]     (2 2000)
# WEIR=target/released/weir is the program as it is released (`cargo xtask release`).
set -euo pipefail
. "$(dirname "$0")/common.sh"
workers=${1:-2}
requests=${2:-2000}
for tool in valgrind addr2line mkfifo; do
  command -v $tool >/dev/null || { echo "error: no $tool: install Debian's valgrind and binutils" >&2; exit 1; }
done

start_origin
{ printf 'server: { address: 127.0.0.1, port: 0 }\n'
  printf 'weir: { admin.port: -1, server: { workers: %d, huge-pages: false }, store.path: %s }\n' "$workers" "$work/store"
  ten_routes '"PrefixPath=/p", '; } >"$work/routes.yml"

cat >"$work/trace.awk" <<'AWK'
function show(what, n) { printf "%-52s %10.2f\n", what, n / requests }
$1 == "I" { pc = $2; next }
$1 == "L" || $1 == "S" || $1 == "M" {
  if (!measured) next
  address = substr($2, 1, index($2, ",") - 1)
  tail = index("0123456789abcdef", substr(address, length(address) - 1, 1)) - 1
  used[substr(address, 1, length(address) - 2) " " int(tail / 4) " " thread " " ($1 == "L" ? "read" : "write") " " pc]++
  next
}
/SCHED\[[0-9]+\].*acquired lock/ {
  thread = $0; sub(/.*SCHED\[/, "", thread); sub(/\].*/, "", thread)
  if (ended || ++looks % 20) next
  state = measured ? end : begin
  if ((getline ignored < state) > 0) { ended = measured; measured = !measured }
  close(state)
}
END {
  if (!ended) print "the end of the requests was not seen: what follows has the shutdown in it"
  for (key in used) {
    split(key, part, " "); line = part[1] " " part[2]; all += used[key]
    if (!((line, part[3]) in seen)) { seen[line, part[3]] = 1; threads[line]++ }
    if (part[4] == "write") written[line] = 1
  }
  for (key in used) {
    split(key, part, " "); line = part[1] " " part[2]
    if (threads[line] < 2) { own += used[key]; continue }
    if (!(line in written)) { readonly += used[key]; continue }
    lines[line] = 1; shared[part[4]] += used[key]
    print part[3], part[4], part[1] part[2], part[5], used[key] >places
  }
  for (line in lines) count++
  show("accesses to memory", all)
  show("  of lines that one thread uses alone", own)
  show("  of lines that several read and none writes", readonly)
  show("  of lines that one writes and another uses: reads", shared["read"])
  show("  of lines that one writes and another uses: writes", shared["write"])
  printf "%-52s %10d\n", "such lines", count
}
AWK

mkfifo "$work/trace"
: >"$work/places"
awk -v requests="$requests" -v begin="$work/begin" -v end="$work/end" -v places="$work/places" -f "$work/trace.awk" <"$work/trace" >"$work/result" & reader=$!; pids+=($reader)
valgrind --tool=lackey --trace-mem=yes --trace-sched=yes --log-file="$work/trace" \
  "$weir" run "$work/routes.yml" >"$work/weir.log" 2>&1 & pids+=($!)
pid=$!
echo "starting under valgrind" >&2
gateway=$(wait_for "$work/weir.log" listening)
load() { "$weir" bench "http://$gateway/5" -q -t 1 -c $((workers * 8)) -n "$1" --timeout 120s >/dev/null; }
echo "warming up: $requests requests" >&2
load "$requests"
echo yes >"$work/begin"
echo "tracing: $requests requests" >&2
began=$SECONDS
load "$requests"
took=$((SECONDS - began))
echo yes >"$work/end"
sleep 2
base=$(awk -v file="$(readlink -f "$weir")" '$NF == file { sub(/-.*/, "", $1); print $1; exit }' "/proc/$pid/maps")
kill -TERM $pid
wait $pid || true
wait $reader
echo "$workers workers, each of $requests requests on $((workers * 8)) connections, traced for $took s:"
cat "$work/result"
echo "by function, the accesses to such lines for each request:"
awk -v base="$base" '
  function number(hex, n, i) { n = 0; for (i = 1; i <= length(hex); i++) n = n * 16 + index("0123456789abcdef", substr(hex, i, 1)) - 1; return n }
  { sub(/,.*/, "", $4); printf "%x\n", number($4) - number(base) }' "$work/places" >"$work/pcs"
addr2line -f -C -e "$weir" <"$work/pcs" | awk 'NR % 2' >"$work/functions"
paste "$work/functions" "$work/places" | awk -F'\t' -v requests="$requests" '
  { split($2, part, " "); sum[$1, part[2]] += part[5]; functions[$1] }
  END { for (f in functions) printf "%10.2f reads %10.2f writes  %s\n", sum[f, "read"] / requests, sum[f, "write"] / requests, f }' |
  sort -k3 -n -r | awk '$1 + $3 >= 0.1'
