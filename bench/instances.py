"""Instances of a service, for the scripts beside this: each answers any request after its own delay, and counts.
Prints their addresses in one line, then serves; /counts tells the requests of each and begins anew.
Usage: instances.py MILLISECONDS..."""
import asyncio
import sys

BODY = b"ok\n"
counts = [0] * len(sys.argv[1:])


class Connection(asyncio.Protocol):
    def __init__(self, place, delay):
        self.place, self.delay, self.read = place, delay, b""

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.read += data
        while b"\r\n\r\n" in self.read:
            head, self.read = self.read.split(b"\r\n\r\n", 1)
            if head.startswith(b"GET /counts"):
                self.answer(" ".join(map(str, counts)).encode())
                counts[:] = [0] * len(counts)
            else:
                counts[self.place] += 1
                asyncio.get_running_loop().call_later(self.delay, self.answer, BODY)

    def answer(self, body):
        if not self.transport.is_closing():
            self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))


async def main():
    loop, servers = asyncio.get_running_loop(), []
    for place, milliseconds in enumerate(sys.argv[1:]):
        make = lambda place=place, delay=float(milliseconds) / 1000: Connection(place, delay)
        servers.append(await loop.create_server(make, "127.0.0.1", 0))
    addresses = ["127.0.0.1:%d" % server.sockets[0].getsockname()[1] for server in servers]
    print("listening", ",".join(addresses), flush=True)
    await asyncio.gather(*(server.serve_forever() for server in servers))


asyncio.run(main())
