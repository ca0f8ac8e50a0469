# What the scripts beside this have in common; they source it. Sets weir (the program), work (a
# folder) and pids (processes): both are gone when the script ends.
# `--help` shows what the script is about: the comment at its start.
case ${1-} in -h | --help) awk 'NR > 1 && !/^#/ { exit } NR > 1 { sub(/^# ?/, ""); print }' "$0"; exit ;; esac
weir=${WEIR:-$(cd "$(dirname "$0")/.." && pwd)/target/release/weir}
[ -x "$weir" ] || {
  echo "error: no program $weir: make it by \`cargo build --release\`, or name one with WEIR=PATH" >&2
  exit 1
}
work=$(mktemp -d)
pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true; rm -rf "$work"' EXIT

# Waits until the process that was started last has written a line with this first word to its log,
# and prints the line's last word; shows the log if it ends before.
wait_for() { # log, word
  until grep -q "^$2" "$1"; do
    kill -0 "${pids[-1]}" 2>/dev/null || { cat "$1" >&2; return 1; }
    sleep 0.05
  done
  awk -v w="$2" '$1 == w { print $NF }' "$1"
}

# Starts an upstream; sets origin (address and port).
start_origin() { # further addresses with commas
  : >"$work/origin.log"
  "$weir" origin --listen 127.0.0.1:0 ${1:+--also "$1"} --quiet >"$work/origin.log" 2>&1 & pids+=($!)
  origin=$(wait_for "$work/origin.log" listening)
}

# YAML of ten routes to it, `/0` to `/9`.
ten_routes() { # more filters, such as '"PrefixPath=/p", '
  printf 'spring.cloud.gateway.server.webflux:\n  routes:\n'
  for n in 0 1 2 3 4 5 6 7 8 9; do
    printf '    - { id: api-%d, uri: "http://%s", predicates: [ "Path=/%d" ], filters: [ "AddRequestHeader=x-route, api-%d", %s"SetPath=/ok" ] }\n' $n "$origin" $n $n "${1-}"
  done
}

# Starts a gateway with one worker, without an admin API, by more YAML on stdin; sets pid[NAME] and
# gateway[NAME] (address and port), which the script has to declare: `declare -A pid gateway`.
start() { # name
  { printf 'server: { address: 127.0.0.1, port: 0 }\nweir: { admin.port: -1, server.workers: 1, store.path: %s }\n' "$work/$1-store"
    cat; } >"$work/$1.yml"
  "$weir" run "$work/$1.yml" >"$work/$1.log" 2>&1 & pids+=($!)
  pid[$1]=$!
  gateway[$1]=$(wait_for "$work/$1.log" listening)
}

# Clock ticks of CPU that a gateway has taken.
ticks() { # name
  awk '{ print $14 + $15 }' "/proc/${pid[$1]}/stat"
}

# CPU that a gateway takes for a keep-alive request, in µs, under 32 connections of wrk.
cpu() { # name, path, more arguments of wrk
  local before count name=$1 path=$2
  shift 2
  before=$(ticks "$name")
  count=$(wrk -t1 -c32 -d3s "$@" "http://${gateway[$name]}/$path" | awk '/requests in/ { print $1 }')
  awk -v t=$(($(ticks "$name") - before)) -v hz="$(getconf CLK_TCK)" -v n="$count" 'BEGIN { printf "%.2f\n", t * 1e6 / hz / n }'
}

median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
