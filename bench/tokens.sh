#!/usr/bin/env bash
# What a token costs: CPU of a keep-alive request with an RS256 token that is checked, beside the same
# request at a gateway that checks none, and with a token that was never seen before.
# Needs `cargo build --release`, wrk, openssl and python3; uses 127.0.0.1 only; about a minute.
# Usage: bench/tokens.sh [ROUNDS]
set -euo pipefail
. "$(dirname "$0")/common.sh"
rounds=${1:-5}

start_origin
openssl genrsa -out "$work/key" 2048 2>/dev/null
openssl rsa -in "$work/key" -pubout -out "$work/key.pem" 2>/dev/null
part() { openssl base64 -A | tr '+/' '-_' | tr -d '='; }
token() { # subject
  local signed
  signed=$(printf '{"alg":"RS256"}' | part).$(printf '{"sub":"%s","scope":"read","exp":%s}' "$1" $(($(date +%s) + 3600)) | part)
  printf '%s.%s' "$signed" "$(printf '%s' "$signed" | openssl dgst -sha256 -sign "$work/key" -binary | part)"
}

declare -A pid gateway
start plain < <(ten_routes)
start jwt < <(printf 'spring.security.oauth2.resourceserver.jwt.public-key-location: file:%s\n' "$work/key.pem"; ten_routes)

one=$(token alice)
[ "$(curl -s -o /dev/null -w '%{http_code}' "http://${gateway[jwt]}/0")" = 401 ]
[ "$(curl -s -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $one" "http://${gateway[jwt]}/0")" = 200 ]

for round in $(seq "$rounds"); do
  cpu plain 0 -H "Authorization: Bearer $one" >>"$work/plain"
  cpu jwt 0 -H "Authorization: Bearer $one" >>"$work/jwt"
done
a=$(median <"$work/plain") b=$(median <"$work/jwt")
echo "CPU of a keep-alive request, µs; wrk -c 32, one worker; median of $rounds rounds"
printf '%-34s %8s\n' 'no check' "$a" 'an RS256 token, seen before' "$b"
awk -v a="$a" -v b="$b" 'BEGIN { printf "%-34s %8.3f x\n", "", b / a }'

# Tokens that differ from request to request: none is remembered.
count=2000
for n in $(seq "$count"); do printf '%s\n' "$(token "user-$n")"; done >"$work/tokens"
before=$(ticks jwt)
python3 - "${gateway[jwt]}" "$work/tokens" <<'PY'
import socket, sys
host, port = sys.argv[1].split(':')
s = socket.create_connection((host, int(port)))
f = s.makefile('rb')
for token in open(sys.argv[2]):
    s.sendall(b'GET /0 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ' + token.strip().encode() + b'\r\n\r\n')
    status, length = f.readline(), 0
    assert b' 200 ' in status, status
    while (line := f.readline()) != b'\r\n':
        if line.lower().startswith(b'content-length:'): length = int(line.split(b':')[1])
    f.read(length)
PY
awk -v t=$(($(ticks jwt) - before)) -v hz="$(getconf CLK_TCK)" -v n="$count" 'BEGIN { printf "%-34s %8.2f\n", "a token never seen, one at a time", t * 1e6 / hz / n }'
