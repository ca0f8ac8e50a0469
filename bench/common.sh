# What the scripts beside this have in common; they source it. Sets weir (the program), work (a
# folder) and pids (processes): both are gone when the script ends.
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
start_origin() { # address, 127.0.0.1 if not given
  : >"$work/origin.log"
  "$weir" origin --listen "${1-127.0.0.1}:0" --quiet >"$work/origin.log" 2>&1 & pids+=($!)
  origin=$(wait_for "$work/origin.log" listening)
}

# YAML of ten routes to it, `/0` to `/9`.
ten_routes() { # more filters, such as '"PrefixPath=/p", '
  printf 'spring.cloud.gateway.server.webflux:\n  routes:\n'
  for n in 0 1 2 3 4 5 6 7 8 9; do
    printf '    - { id: api-%d, uri: "http://%s", predicates: [ "Path=/%d" ], filters: [ "AddRequestHeader=x-route, api-%d", %s"SetPath=/ok" ] }\n' $n "$origin" $n $n "${1-}"
  done
}
