"""A peer of a frame pipeline: `serve SPEC` answers messages, `ask SPEC PORT` sends them.

SPEC says in its own terms what a message looks like: bytes `before` the length field, `size` and
`type` of the field, the `trailer` in hexadecimal digits, and which of `before`, `field` and
`trailer` the length `counts` besides the body.
"""

import json
import socket
import sys

MODE, SPEC = sys.argv[1], json.loads(sys.argv[2])
BEFORE, SIZE, TYPE = SPEC["before"], SPEC["size"], SPEC["type"]
TRAILER = bytes.fromhex(SPEC["trailer"])
PARTS = {"before": BEFORE, "field": SIZE, "trailer": len(TRAILER)}
COUNTED = sum(PARTS[part] for part in SPEC["counts"])


def encoded(value):
    if TYPE in ("be", "le"):
        return value.to_bytes(SIZE, {"be": "big", "le": "little"}[TYPE])
    if TYPE == "ascii":
        return b"%0*d" % (SIZE, value)
    if TYPE == "hex":
        digits = "%0*x" % (SIZE, value)
        # Either case is right.
        return (digits.upper() if value % 2 else digits).encode()
    return bytes.fromhex("%0*d" % (2 * SIZE, value))


def decoded(field):
    if TYPE in ("be", "le"):
        return int.from_bytes(field, {"be": "big", "le": "little"}[TYPE])
    if TYPE == "bcd":
        return int(field.hex())
    return int(field, 16 if TYPE == "hex" else 10)


def message(head, body):
    return head[:BEFORE] + encoded(len(body) + COUNTED) + body + TRAILER


def polls(head):
    """A message without a body; and a length of 0, where a message's is never so small."""
    return [message(head, b"")] + ([head[:BEFORE] + encoded(0)] if COUNTED else [])


def exactly(stream, count):
    data = b""
    while len(data) < count:
        more = stream.recv(count - len(data))
        if not more:
            raise EOFError("the end after %r" % data)
        data += more
    return data


def read(stream):
    """The bytes and the body of the next message; the body of a length of 0 is None."""
    head = exactly(stream, BEFORE + SIZE)
    value = decoded(head[BEFORE:])
    if value == 0 and COUNTED:
        return head, None
    body = exactly(stream, value - COUNTED)
    trailer = exactly(stream, len(TRAILER))
    assert trailer == TRAILER, trailer
    return head + body + trailer, body


def expect(stream, whole):
    got, _ = read(stream)
    assert got == whole, "%r instead of %r" % (got, whole)


def serve():
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    stream, _ = listener.accept()
    while True:
        try:
            whole, body = read(stream)
        except EOFError:
            return
        assert body, "a poll of the client came through"
        for poll in polls(b"\x60\x01\x02\x03"):
            stream.sendall(poll)
            # Its answer comes behind messages that are on their way.
            expect(stream, poll)
        stream.sendall(message(whole[:BEFORE], body.upper()))


def ask():
    stream = socket.create_connection(("127.0.0.1", int(sys.argv[3])), timeout=20)
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for count in (1, 9, 10, 15, 16, 99, 100, 255, 256, 257, 900):
        head = bytes([0x60, 0, count % 256, 0])
        body = bytes(ord("a") + at % 26 for at in range(count))
        for byte in message(head, body):
            stream.sendall(bytes([byte]))
        expect(stream, message(head, body.upper()))
        for poll in polls(head):
            stream.sendall(poll)
            expect(stream, poll)
    stream.shutdown(socket.SHUT_WR)
    assert stream.recv(1) == b"", "more than was asked for"
    print("fine")


{"serve": serve, "ask": ask}[MODE]()
