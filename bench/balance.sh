#!/usr/bin/env bash
# How the load spreads over ten instances, and what one that is ten times slower does to p99: weir (round
# robin, least requests, peak EWMA), nginx and HAProxy (round robin, least connections), all with the same
# instances, in turn. An instance takes 5 ms, the slow one 50 ms; requests come at a rate, as from independent
# clients. The spread is the coefficient of variation (standard deviation by mean) of requests per instance,
# where all are alike.
# Needs `cargo build --release`, nginx, haproxy, curl and python3; uses 127.0.0.1 only; four minutes.
# Usage: bench/balance.sh [ROUNDS [RATE]]
set -euo pipefail
. "$(dirname "$0")/common.sh"
rounds=${1:-3}
rate=${2:-600}
here=$(dirname "$0")
export PATH=$PATH:/usr/sbin

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
instances() { # name, delays
  local name=$1
  shift
  : >"$work/$name.log"
  python3 "$here/instances.py" "$@" >"$work/$name.log" 2>&1 & pids+=($!)
  list[$name]=$(wait_for "$work/$name.log" listening | tr ',' ' ')
}
declare -A list gateway
instances alike 5 5 5 5 5 5 5 5 5 5
instances slow 5 5 5 5 5 5 5 5 5 50

{
  printf 'server: { address: 127.0.0.1, port: 0 }\nweir: { admin.port: -1, server.workers: 1, store.path: %s }\nweir.upstreams:\n' "$work/store"
  for set in alike slow; do
    for balance in round-robin least-requests peak-ewma; do
      printf '  %s-%s: { balance: %s, targets: [ %s ] }\n' "$set" "$balance" "$balance" "$(sed 's/ /, /g' <<<"${list[$set]}")"
    done
  done
  printf 'spring.cloud.gateway.server.webflux.routes:\n'
  for set in alike slow; do
    for balance in round-robin least-requests peak-ewma; do
      printf -- '- { id: %s, uri: "upstream://%s", predicates: [ "Path=/%s" ] }\n' "$set-$balance" "$set-$balance" "$set-$balance"
    done
  done
} >"$work/weir.yml"
: >"$work/weir.log"
"$weir" run "$work/weir.yml" >"$work/weir.log" 2>&1 & pids+=($!)
gateway[weir]=$(wait_for "$work/weir.log" listening)

nginx_port=$(free_port)
{
  printf 'worker_processes 1; daemon off; pid %s/nginx.pid; error_log %s/nginx.log; events { worker_connections 4096; }\n' "$work" "$work"
  printf 'http { access_log off; keepalive_requests 1000000000; proxy_http_version 1.1; proxy_set_header Connection "";\n'
  for kind in body proxy fastcgi uwsgi scgi; do printf '%s_temp_path %s/%s;\n' "$(sed 's/body/client_body/' <<<$kind)" "$work" $kind; done
  for set in alike slow; do
    for balance in round-robin least-requests; do
      printf 'upstream %s-%s { %s %s keepalive 512; keepalive_requests 1000000000; }\n' $set $balance \
        "$([ $balance = round-robin ] || echo 'least_conn;')" "$(sed 's/\S*:\S*/server &;/g' <<<"${list[$set]}")"
    done
  done
  printf 'server { listen 127.0.0.1:%s;\n' "$nginx_port"
  for set in alike slow; do
    for balance in round-robin least-requests; do printf 'location = /%s-%s { proxy_pass http://%s-%s; }\n' $set $balance $set $balance; done
  done
  printf '} }\n'
} >"$work/nginx.conf"
nginx -p "$work" -c "$work/nginx.conf" 2>"$work/nginx.log" & pids+=($!)
gateway[nginx]=127.0.0.1:$nginx_port

haproxy_port=$(free_port)
{
  printf 'global\n  nbthread 1\ndefaults\n  mode http\n  http-reuse always\n  timeout connect 5s\n  timeout client 60s\n  timeout server 60s\n'
  printf 'frontend in\n  bind 127.0.0.1:%s\n' "$haproxy_port"
  for set in alike slow; do
    for balance in round-robin least-requests; do printf '  use_backend %s-%s if { path /%s-%s }\n' $set $balance $set $balance; done
  done
  for set in alike slow; do
    for balance in round-robin least-requests; do
      printf 'backend %s-%s\n  balance %s\n' $set $balance "$([ $balance = round-robin ] && echo roundrobin || echo leastconn)"
      n=0
      for address in ${list[$set]}; do printf '  server s%d %s pool-max-conn 512\n' $((n++)) "$address"; done
    done
  done
} >"$work/haproxy.cfg"
haproxy -f "$work/haproxy.cfg" >"$work/haproxy.log" 2>&1 & pids+=($!)
gateway[haproxy]=127.0.0.1:$haproxy_port

rows="weir/round-robin weir/least-requests weir/peak-ewma nginx/round-robin nginx/least-requests haproxy/round-robin haproxy/least-requests"
counts() { curl -s "http://${list[$1]%% *}/counts"; }
load() { # row, set, seconds, more arguments
  local row=$1 set=$2 seconds=$3
  "$weir" bench -R "$rate" -c 256 -d "${seconds}s" -q --json "$work/load.json" "http://${gateway[${row%/*}]}/$set-${row#*/}" >"$work/load.txt" 2>&1 ||
    { cat "$work/load.txt" >&2; return 1; }
}
# p99 in ms of the load that ran last.
p99() {
  python3 - "$work/load.json" <<'PY'
import json, sys
response = json.load(open(sys.argv[1]))["response"]
seen = 0
for nanoseconds, count in response["buckets"]:
    seen += count
    if seen >= 0.99 * response["count"]:
        print(nanoseconds / 1e6)
        break
PY
}
for row in $rows; do
  for set in alike slow; do
    until curl -sf -o /dev/null "http://${gateway[${row%/*}]}/$set-${row#*/}"; do sleep 0.1; done
    load "$row" $set 2 # connections, and what it learns of the instances
  done
done
for round in $(seq "$rounds"); do
  for row in $rows; do
    counts alike >/dev/null
    load "$row" alike 4
    counts alike | awk '{ for (i = 1; i <= NF; i++) { sum += $i; squares += $i * $i } mean = sum / NF
      printf "%.4f\n", sqrt(squares / NF - mean * mean) / mean }' >>"$work/spread-${row//\//-}"
    counts slow >/dev/null
    load "$row" slow 6
    p99 >>"$work/p99-${row//\//-}"
    counts slow | awk '{ for (i = 1; i <= NF; i++) sum += $i; printf "%.2f\n", 100 * $NF / sum }' >>"$work/share-${row//\//-}"
  done
done
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
echo "Ten instances of 5 ms, $rate requests a second; medians of $rounds rounds"
printf '%-24s %10s %22s %22s\n' '' 'spread' 'p99, one of 50 ms' 'its share of requests'
for row in $rows; do
  name=${row//\//-}
  printf '%-24s %10.3f %19.1f ms %20.2f %%\n' "$row" "$(median <"$work/spread-$name")" "$(median <"$work/p99-$name")" "$(median <"$work/share-$name")"
done
