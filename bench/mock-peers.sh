#!/usr/bin/env bash
# What an answer of a mock costs: `weir mock` and a route of the gateway to `mock://`, beside nginx's
# `return`, Prism, WireMock and MockServer, each on core 0, the client on core 1. Two requests: a GET
# that is answered by an example, and a POST of 1 KB of JSON that is checked against a schema of 20
# properties (nginx checks nothing, and is what both are compared with).
# Needs `cargo build --release`, wrk and nginx; fetches Prism by npm, WireMock and MockServer by Maven;
# a peer that cannot be fetched or does not answer is said and left out. Uses 127.0.0.1 only.
# Usage: cargo xtask peers mock, or bench/mock-peers.sh [rounds [seconds [FILE.json]]]   (3 4)
set -euo pipefail
. "$(dirname "$0")/common.sh"
rounds=${1:-3} seconds=${2:-4} json=${3-}
prism=5.16.0 wiremock=3.9.1 mockserver=5.15.0

example='{"id":1,"name":"lamp","price":9.5,"tags":["light","desk"]}'
# A schema of 20 properties, and 1 KB that fits it.
python3 - "$work" "$example" <<'PY'
import json, sys
work, example = sys.argv[1], json.loads(sys.argv[2])
kinds = [
    ({"type": "integer", "minimum": 0}, 7), ({"type": "string", "maxLength": 500}, "x" * 75),
    ({"type": "number", "minimum": 0}, 9.5), ({"type": "boolean"}, True),
    ({"type": "array", "maxItems": 9, "items": {"type": "string"}}, ["light", "desk", "large"]),
]
schema = {"type": "object", "required": [f"p{n}" for n in range(10)], "properties": {}}
body = {}
for n in range(20):
    schema["properties"][f"p{n}"], body[f"p{n}"] = kinds[n % 5]
body["p1"] = "x" * (75 + 1024 - len(json.dumps(body)))
wrong = dict(body, p0="no number")
response = lambda value: {"description": "d", "content": {"application/json": {"schema": {"type": "object"}, "example": value}}}
definition = {"openapi": "3.0.3", "info": {"title": "Shop", "version": "1"}, "paths": {
    "/items/{id}": {"get": {
        "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}],
        "responses": {"200": response(example)}}},
    "/items": {"post": {
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
        "responses": {"201": response({"id": 1})}}}}}
def write(name, value):
    with open(f"{work}/{name}", "w") as file:
        file.write(value if isinstance(value, str) else json.dumps(value))
write("shop.json", definition)
write("right.json", body)
write("wrong.json", wrong)
kind = {"Content-Type": "application/json"}
write("mappings.json", {"mappings": [
    {"request": {"method": "GET", "urlPathPattern": "/items/[0-9]+"}, "response": {"status": 200, "headers": kind, "body": json.dumps(example)}},
    {"request": {"method": "POST", "urlPath": "/items", "bodyPatterns": [{"matchesJsonSchema": json.dumps(schema)}]},
     "response": {"status": 201, "headers": kind, "body": '{"id":1}'}}]})
write("mockserver.json", [
    {"httpRequest": {"method": "GET", "path": "/items/[0-9]+"}, "httpResponse": {"statusCode": 200, "headers": {k: [v] for k, v in kind.items()}, "body": json.dumps(example)}},
    {"httpRequest": {"method": "POST", "path": "/items", "body": {"type": "JSON_SCHEMA", "jsonSchema": json.dumps(schema)}},
     "httpResponse": {"statusCode": 201, "headers": {k: [v] for k, v in kind.items()}, "body": '{"id":1}'}}])
text = json.dumps(json.dumps(body))
write("post.lua", f'wrk.method = "POST"\nwrk.body = {text}\nwrk.headers["Content-Type"] = "application/json"\n')
PY

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
status() { curl -s -o /dev/null -w '%{http_code}' -m 5 "$@" || true; }
post() { status -X POST -H 'Content-Type: application/json' --data-binary "@$work/$2" "http://127.0.0.1:${port[$1]}/items"; }
tell_errors() { echo "errors: $1: $2" | tee -a "$work/left-out" >&2; }
left_out() { echo "left out: $1: $2" | tee -a "$work/left-out" >&2; }

declare -A port pid
names=()
# Starts a peer on core 0 and waits until it answers as it has to.
start() { # name, command…
  local name=$1 wrong
  shift
  taskset -c 0 "$@" >"$work/$name.log" 2>&1 & pids+=($!)
  pid[$name]=$!
  for _ in $(seq 240); do
    [ "$(status "http://127.0.0.1:${port[$name]}/items/1")" != 200 ] || break
    kill -0 "${pid[$name]}" 2>/dev/null || break
    sleep 0.5
  done
  wrong=$(post "$name" wrong.json)
  if [ "$(post "$name" right.json)" != 201 ]; then
    left_out "$name" "it does not answer: $(tail -n 2 "$work/$name.log" | tr '\n' ' ')"
  elif [ "$name" != nginx ] && [ "$wrong" = 201 ]; then
    left_out "$name" 'it takes a wrong body'
  else
    names+=("$name")
  fi
}
for name in nginx mock route prism wiremock mockserver; do port[$name]=$(free_port); done

cat >"$work/nginx.conf" <<N
worker_processes 1; daemon off; pid $work/nginx.pid; error_log $work/nginx-error.log;
events { worker_connections 1024; }
http {
  access_log off; keepalive_requests 1000000000; client_body_temp_path $work/body;
  proxy_temp_path $work/p1; fastcgi_temp_path $work/p2; uwsgi_temp_path $work/p3; scgi_temp_path $work/p4;
  server {
    listen 127.0.0.1:${port[nginx]}; default_type application/json;
    location /items/ { return 200 '$example'; }
    location = /items { return 201 '{"id":1}'; }
  }
}
N
start nginx "$(command -v nginx || echo /usr/sbin/nginx)" -p "$work" -c "$work/nginx.conf"
start mock "$weir" mock "$work/shop.json" --port "${port[mock]}"
cat >"$work/route.yml" <<Y
server: { address: 127.0.0.1, port: ${port[route]} }
weir: { admin.port: -1, server.workers: 1, store.path: $work/store }
weir.mock.apis: [ { name: shop, file: $work/shop.json } ]
spring.cloud.gateway.server.webflux.routes: [ { id: shop, uri: "mock://shop", predicates: [ Path=/** ] } ]
Y
start route "$weir" run "$work/route.yml"
if npm install --silent --no-audit --no-fund --prefix "$work/npm" "@stoplight/prism-cli@$prism" >"$work/npm.log" 2>&1; then
  start prism "$work/npm/node_modules/.bin/prism" mock -h 127.0.0.1 -p "${port[prism]}" --verboseLevel silent "$work/shop.json"
else
  left_out prism "npm: $(tail -n 1 "$work/npm.log")"
fi
jar() { # artifact
  mvn -q -B dependency:copy "-Dartifact=$1" "-DoutputDirectory=$work/jars" >"$work/mvn.log" 2>&1
}
if jar "org.wiremock:wiremock-standalone:$wiremock"; then
  mkdir -p "$work/wiremock/mappings"
  cp "$work/mappings.json" "$work/wiremock/mappings/"
  start wiremock java -jar "$work/jars/wiremock-standalone-$wiremock.jar" --port "${port[wiremock]}" \
    --bind-address 127.0.0.1 --root-dir "$work/wiremock" --no-request-journal --disable-banner
else
  left_out wiremock "Maven: $(head -n 1 "$work/mvn.log")"
fi
if jar "org.mock-server:mockserver-netty-no-dependencies:$mockserver"; then
  start mockserver java "-Dmockserver.initializationJsonPath=$work/mockserver.json" -Dmockserver.logLevel=OFF \
    -jar "$work/jars/mockserver-netty-no-dependencies-$mockserver.jar" -serverPort "${port[mockserver]}"
else
  left_out mockserver "Maven: $(head -n 1 "$work/mvn.log")"
fi

# All threads of a peer, and of what it started.
ticks() {
  local total=0 one
  for one in "${pid[$1]}" $(pgrep -P "${pid[$1]}" || true); do
    total=$((total + $(awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$one/stat" 2>/dev/null || echo 0)))
  done
  echo "$total"
}
hz=$(getconf CLK_TCK)
# CPU of an answer in µs, and answers a second.
cpu() { # name, GET or POST, seconds
  local before script=() path=/items/1
  [ "$2" = GET ] || { script=(-s "$work/post.lua") path=/items; }
  before=$(ticks "$1")
  taskset -c 1 wrk -t1 -c16 --timeout 30s "-d${3}s" "${script[@]}" "http://127.0.0.1:${port[$1]}$path" >"$work/wrk"
  if grep -q 'Non-2xx\|Socket errors' "$work/wrk"; then tell_errors "$1" "$2: $(grep 'Non-2xx\|Socket' "$work/wrk")"; fi
  awk -v t=$(($(ticks "$1") - before)) -v hz="$hz" '/requests in/ { n = $1 } /Requests\/sec/ { r = $2 }
    END { printf "%.2f %.0f\n", t * 1e6 / hz / n, r }' "$work/wrk"
}
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

for name in "${names[@]}"; do # compilers warm up
  for kind in GET POST; do cpu "$name" "$kind" "$seconds" >/dev/null; done
done
for _ in $(seq "$rounds"); do
  for kind in GET POST; do
    for name in $(shuf -e "${names[@]}"); do cpu "$name" "$kind" "$seconds" >>"$work/$name-$kind"; done
  done
done

declare -A title=([nginx]='nginx `return`' [mock]='`weir mock`' [route]='weir, `mock://`'
  [prism]="Prism $prism" [wiremock]="WireMock $wiremock" [mockserver]="MockServer $mockserver")
echo "CPU of an answer, µs, and answers a second; wrk -c16, core 0 alone; median of $rounds rounds of $seconds s"
echo "load average before: $(cut -d' ' -f1 /proc/loadavg)"
echo
echo '| | GET µs | x nginx | GET/s | POST µs | x nginx | POST/s |'
echo '| --- | ---: | ---: | ---: | ---: | ---: | ---: |'
rows=()
for name in "${names[@]}"; do
  line=("${title[$name]}")
  for kind in GET POST; do
    us=$(cut -d' ' -f1 "$work/$name-$kind" | median) rate=$(cut -d' ' -f2 "$work/$name-$kind" | median)
    base=$(cut -d' ' -f1 "$work/nginx-$kind" | median)
    line+=("$us" "$(awk -v a="$us" -v b="$base" 'BEGIN { printf "%.2f", a / b }')" "$rate")
  done
  printf '|'; printf ' %s |' "${line[@]}"; echo
  rows+=("$(printf '{"peer":"%s","get_us":%s,"get_ratio":%s,"get_rate":%s,"post_us":%s,"post_ratio":%s,"post_rate":%s}' \
    "$name" "${line[@]:1}")")
done
[ ! -s "$work/left-out" ] || { echo; sort -u "$work/left-out"; }
[ -z "$json" ] || { IFS=,; echo "{\"rounds\":$rounds,\"seconds\":$seconds,\"rows\":[${rows[*]}]}" >"$json"; }
