#!/usr/bin/env bash
# Memory and start of weir with N routes, each with its own path, two filters with a value of its
# own, an id and metadata: from one YAML file, from the store, and after the store's routes have
# been imported twice more. Needs `cargo build --release`; uses 127.0.0.1 only.
# Usage: bench/memory.sh [routes...]          (default: 10 1000 10000 100000 1000000)
#        WEIR=path/of/weir bench/memory.sh    (default: target/release/weir)
# WEIR=target/released/weir is the program as it is released (`cargo xtask release`).
set -euo pipefail
. "$(dirname "$0")/common.sh"
pid=
trap '[ -z "$pid" ] || kill "$pid" 2>/dev/null || true; rm -rf "$work"' EXIT
[ $# -gt 0 ] || set -- 10 1000 10000 100000 1000000

head='server: { address: 127.0.0.1, port: 0 }
management: { server: { address: 127.0.0.1, port: 0 }, endpoint.gateway.access: unrestricted }
management.endpoints.web.exposure.include: "*"'
yaml() { # routes
  printf '%s\nspring.cloud.gateway.server.webflux:\n  routes:\n' "$head"
  awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) printf "    - { id: api-%d, uri: \"http://127.0.0.1:9\", predicates: [ \"Path=/%d\" ], filters: [ \"AddRequestHeader=x-route, api-%d\", \"PrefixPath=/ok/%d\" ], metadata: { owner: team-%d } }\n", i, i, i, i, i }'
}
jsonl() { # routes
  awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) printf "{\"id\":\"api-%d\",\"uri\":\"http://127.0.0.1:9\",\"predicates\":[\"Path=/%d\"],\"filters\":[\"AddRequestHeader=x-route, api-%d\",\"PrefixPath=/ok/%d\"],\"metadata\":{\"owner\":\"team-%d\"}}\n", i, i, i, i, i }'
}
start() { # configuration, store; sets pid, admin and started (ms until it serves)
  local begin line
  begin=$(date +%s%N)
  coproc run { exec "$weir" run "$1" --set weir.store.path="$2" 2>&1; }
  pid=$run_PID
  while read -r line <&"${run[0]}"; do
    case $line in
      admin*) admin=${line##* } ;;
      listening*) break ;;
      error* | refused*) echo "$line"; exit 1 ;;
    esac
  done
  started=$((($(date +%s%N) - begin) / 1000000))
}
stop() { kill "$pid"; wait "$pid" 2>/dev/null || true; pid=; }
cpu() { awk -v hz="$(getconf CLK_TCK)" '{ print ($14 + $15) * 1000 / hz }' "/proc/$pid/stat"; }
row() { # routes, what, start ms, CPU ms
  awk -v n="$1" -v what="$2" -v ms="$3" -v cpu="$4" '
    /^VmHWM/ { peak = $2 } /^VmRSS/ { rss = $2 } /^RssAnon/ { anon = $2 } /^RssFile/ { file = $2 }
    END { printf "| %9d | %-22s | %8s | %6s | %9.1f | %9.1f | %10.1f | %9.1f |\n",
          n, what, ms, cpu, rss / 1024, anon / 1024, file / 1024, peak / 1024 }' "/proc/$pid/status"
}
import() { "$weir" routes --admin "http://$admin" import "$1" >/dev/null; }

echo '|    routes | from                   | start ms | CPU ms |    RSS MB | anonymous | file pages |   peak MB |'
echo '| --------- | ---------------------- | -------- | ------ | --------- | --------- | ---------- | --------- |'
printf '%s\n' "$head" >"$work/empty.yml"
for count in "$@"; do
  if ((count <= 100000)); then
    yaml "$count" >"$work/routes.yml"
    start "$work/routes.yml" "$work/none"
    used=$(cpu)
    sleep 2
    row "$count" 'one YAML file' "$started" "$used"
    stop
  fi
  jsonl "$count" >"$work/routes.jsonl"
  start "$work/empty.yml" "$work/store"
  import "$work/routes.jsonl"
  stop
  start "$work/empty.yml" "$work/store"
  used=$(cpu)
  sleep 2
  row "$count" 'the store' "$started" "$used"
  import "$work/routes.jsonl"
  import "$work/routes.jsonl"
  sleep 4
  row "$count" 'imported twice more' - -
  stop
  rm -rf "$work/store"
done
