#!/usr/bin/env bash
# TCP pipelines beside HAProxy and nginx's stream module: CPU of short connections and of bulk, memory;
# Dubbo calls beside the same bytes through a TCP pipeline.
# Needs `cargo build --release -p weir -p weir-bare`, ab (apache2-utils), curl, haproxy, nginx and libnginx-mod-stream; uses
# 127.0.0.1 only; each proxy has one thread; about three minutes.
# Usage: bench/pipelines.sh [ROUNDS [dubbo]]; `dubbo` measures Dubbo alone.
set -euo pipefail
. "$(dirname "$0")/common.sh"
rounds=${1:-5}
bare=${BARE:-$(dirname "$weir")/weir-bare}
[ -x "$bare" ] || { echo "error: no program $bare: make it by \`cargo build --release -p weir-bare\`, or name one with BARE=PATH" >&2; exit 1; }
declare -A pid port sinks

wait_for_pipeline() { # log, id
  until grep -q "^listening.*($2)" "$1"; do kill -0 "${pids[-1]}" || { cat "$1" >&2; return 1; }; sleep 0.05; done
  sed -n "s/^listening [a-z]* [0-9.]*:\([0-9]*\) ($2)/\1/p" "$1"
}

# User and system time of a process so far, in clock ticks.
hz=$(getconf CLK_TCK)
# CPU per unit of what is run, in µs: proxy, units, command…
cpu() {
  local before after name=$1 units=$2
  shift 2
  before=$(ticks "$name")
  "$@" >"$work/run.log" 2>&1 || { echo "error: failed: $*" >&2; cat "$work/run.log" >&2; return 1; }
  after=$(ticks "$name")
  awk -v t=$((after - before)) -v hz="$hz" -v n="$units" 'BEGIN { printf "%.2f", t * 1e6 / hz / n }'
}

# The same Dubbo calls through a TCP pipeline and through Dubbo ones, each in a process of its own.
measure_dubbo() {
  local calls=${CALLS:-400000} depth round name
  "$bare" dubbo-answer --listen 127.0.0.1:0 >"$work/provider.log" 2>&1 & pids+=($!)
  local provider=127.0.0.1:$(wait_for "$work/provider.log" listening | sed 's/.*://')
  for name in bytes dubbo shared; do
    {
      echo "weir: { admin.port: -1, server.workers: 1, store.path: $work/$name-store }"
      echo 'weir.pipelines:'
      case $name in
        bytes) echo "- { id: $name, listen: '127.0.0.1:0', protocol: tcp, upstream: '$provider' }" ;;
        dubbo) echo "- { id: $name, listen: '127.0.0.1:0', protocol: dubbo, upstream: '$provider' }" ;;
        shared) echo "- { id: $name, listen: '127.0.0.1:0', protocol: dubbo, upstream: '$provider', dubbo: { shared: true } }" ;;
      esac
    } >"$work/$name.yml"
    "$weir" run "$work/$name.yml" >"$work/$name.log" 2>&1 & pids+=($!)
    pid[$name]=$!
    port[$name]=$(wait_for_pipeline "$work/$name.log" "$name")
  done
  echo "CPU of the proxy per Dubbo call, µs; $calls calls over 8 connections; median of $rounds rounds"
  for depth in 1 16; do
    for round in $(seq "$rounds"); do
      for name in bytes dubbo shared; do
        cpu "$name" "$calls" "$bare" dubbo-load --to "127.0.0.1:${port[$name]}" --depth "$depth" --calls "$calls" >>"$work/calls-$depth-$name"
        echo >>"$work/calls-$depth-$name"
      done
    done
    awk -v d="$depth" -v a="$(median <"$work/calls-$depth-bytes")" -v b="$(median <"$work/calls-$depth-dubbo")" -v c="$(median <"$work/calls-$depth-shared")" \
      'BEGIN { printf "%2d under way on each              tcp %.2f, dubbo %.2f (%.2f x tcp), dubbo shared %.2f (%.2f x tcp)\n", d, a, b, b / a, c, c / a }'
  done
}
if [ "${2-}" = dubbo ]; then measure_dubbo; exit; fi

start_origin
# Takes whatever comes, to its end: `weir origin` refuses bodies of a gigabyte.
cat >"$work/bulk.py" <<'PY'
import socket, sys, threading
def take(c):
    while c.recv_into(room) > 0: pass
    c.close()
room = bytearray(1 << 18)
if sys.argv[1] == 'sink':
    s = socket.create_server(('127.0.0.1', 0))
    print('listening', s.getsockname()[1], flush=True)
    while True:
        threading.Thread(target=take, args=(s.accept()[0],), daemon=True).start()
s = socket.create_connection(('127.0.0.1', int(sys.argv[2])))
for _ in range(4096): s.sendall(room)
s.shutdown(socket.SHUT_WR)
assert s.recv(1) == b''
PY
python3 "$work/bulk.py" sink >"$work/sink.log" 2>&1 & pids+=($!)
sink=127.0.0.1:$(wait_for "$work/sink.log" listening)

# Ports that nobody has, for those that cannot choose one.
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# weir: a TCP pipeline and an HTTP one, each in a process of its own.
run_weir() { # name, protocol
  cat >"$work/$1.yml" <<YAML
weir: { admin.port: -1, server.workers: 1, store.path: $work/$1-store }
weir.pipelines:
- { id: $1, listen: "127.0.0.1:0", protocol: $2, upstream: "$origin" }
- { id: sink, listen: "127.0.0.1:0", upstream: "$sink" }
YAML
  "$weir" run "$work/$1.yml" >"$work/$1.log" 2>&1 & pids+=($!)
  pid[$1]=$!
  port[$1]=$(wait_for_pipeline "$work/$1.log" "$1")
  sinks[$1]=$(wait_for_pipeline "$work/$1.log" sink)
}
run_weir tcp tcp
run_weir http http

port[haproxy]=$(free_port)
sinks[haproxy]=$(free_port)
cat >"$work/haproxy.cfg" <<CFG
global
  nbthread 1
  maxconn 4000
defaults
  mode tcp
  option splice-auto
  timeout connect 5s
  timeout client 600s
  timeout server 600s
frontend f
  bind 127.0.0.1:${port[haproxy]}
  default_backend b
frontend g
  bind 127.0.0.1:${sinks[haproxy]}
  default_backend s
backend b
  server o $origin
backend s
  server s $sink
CFG
haproxy -db -f "$work/haproxy.cfg" >"$work/haproxy.log" 2>&1 & pids+=($!)
pid[haproxy]=$!

port[nginx]=$(free_port)
sinks[nginx]=$(free_port)
module=$(ls /usr/lib/nginx/modules/ngx_stream_module.so)
cat >"$work/nginx.conf" <<CFG
load_module $module;
daemon off; master_process off; worker_processes 1; pid $work/nginx.pid; error_log $work/nginx.log crit;
events { worker_connections 10000; }
stream { server { listen 127.0.0.1:${port[nginx]} backlog=65535; proxy_pass $origin; }
  server { listen 127.0.0.1:${sinks[nginx]}; proxy_pass $sink; } }
CFG
nginx -c "$work/nginx.conf" & pids+=($!)
pid[nginx]=$!
sleep 0.5
for name in tcp http haproxy nginx; do kill -0 "${pid[$name]}" || { echo "error: $name ended" >&2; cat "$work/$name.log" >&2; exit 1; }; done

echo "CPU of the proxy per connection with one request, µs; ab -c 100 -n 20000; median of $rounds rounds"
for round in $(seq "$rounds"); do
  for name in tcp haproxy nginx http; do
    cpu "$name" 20000 ab -q -c 100 -n 20000 "http://127.0.0.1:${port[$name]}/ok" >>"$work/short-$name"
    echo >>"$work/short-$name"
  done
done
m=()
for name in tcp haproxy nginx http; do m[${#m[@]}]=$(median <"$work/short-$name"); done
printf '%-34s %8s\n' 'weir, tcp' "${m[0]}" 'HAProxy, mode tcp' "${m[1]}" 'nginx, stream' "${m[2]}" 'weir, http' "${m[3]}"
awk -v a="${m[0]}" -v b="${m[1]}" -v c="${m[2]}" 'BEGIN { printf "%-34s %8.2f x HAProxy, %.2f x nginx\n", "weir, tcp", a / b, a / c }'

echo "memory while 100 connections are open, MB: resident, and of it pages of the process's own"
for name in tcp haproxy nginx http; do
  ab -q -k -c 100 -t 3 -n 1000000 "http://127.0.0.1:${port[$name]}/ok" >"$work/open.log" 2>&1 & busy=$!
  sleep 2
  awk -v n="$name" '/^VmRSS/ { rss = $2 } /^RssAnon/ { own = $2 } END { printf "%-34s %8.1f %8.1f\n", n, rss / 1024, own / 1024 }' "/proc/${pid[$name]}/status"
  wait "$busy"
done

echo "CPU of the proxy per GiB, ms; one connection; median of $rounds rounds"
down() { curl -sf -o /dev/null "http://127.0.0.1:${port[$1]}/bytes/1073741824"; }
up() { python3 "$work/bulk.py" send "${sinks[$1]}"; }
for way in down up; do
  for round in $(seq "$rounds"); do
    for name in tcp haproxy nginx; do
      cpu "$name" 1000 "$way" "$name" >>"$work/$way-$name"
      echo >>"$work/$way-$name"
    done
  done
  a=$(median <"$work/$way-tcp"); b=$(median <"$work/$way-haproxy"); c=$(median <"$work/$way-nginx")
  printf '%-34s weir %s, HAProxy with splice %s, nginx %s' "to the ${way/down/client}" "$a" "$b" "$c" | sed 's/to the up/to the upstream/'
  awk -v a="$a" -v b="$b" -v c="$c" 'BEGIN { printf "; weir %.2f x HAProxy, %.2f x nginx\n", a / b, a / c }'
done

measure_dubbo

# The ini of the seed, throttled: ab's own figures.
cat >"$work/proxy.ini" <<INI
[pipeline.proxy]
listen = 127.0.0.1:0
[module.decode]
name = http-request-decoder
[module.tap]
name = tap
limit = 500
[module.encode]
name = http-request-encoder
[module.upstream]
name = proxy
upstream = $origin
INI
WEIR_ADMIN_PORT=-1 WEIR_STORE_PATH=$work/ini-store "$weir" run "$work/proxy.ini" >"$work/ini.log" 2>&1 & pids+=($!)
pid[ini]=$!
port[ini]=$(wait_for_pipeline "$work/ini.log" proxy)
echo '100 clients by ab, HTTP/1.0, 10,000 requests through the ini with limit = 500; a perfect pace takes 19.998 s'
ab -q -c 100 -n 10000 "http://127.0.0.1:${port[ini]}/ok" | awk '/Time taken/ { took = $5 } /Failed requests/ { failed = $3 } /Non-2xx/ { odd = $3 }
  $1 ~ /^(50|90|95|99|100)%$/ { p[$1] = $2 }
  END { printf "%-34s %8.3f s, failed %d, other than 2xx %d, p50 %d, p90 %d, p95 %d, p99 %d, max %d ms\n", "limit = 500", took, failed, odd, p["50%"], p["90%"], p["95%"], p["99%"], p["100%"] }'
awk '/^VmRSS/ { printf "%-34s %8.1f MB resident after it\n", "", $2 / 1024 }' "/proc/${pid[ini]}/status"
