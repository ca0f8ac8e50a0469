"""What bench/throttle.sh measures beside ab: how evenly an upstream is reached, who is hurt when others
leave or a rate changes, whether Retry-After is true, and what waiting requests cost in memory.

Usage: valve.py upstream                                 an upstream; GET /taken gives the arrivals since the last time
       valve.py even GATEWAY UPSTREAM RATE SECONDS       gaps between arrivals
       valve.py flow PACED WINDOWED UPSTREAM FILE       arrivals in each 10 ms of 3 s, as an SVG: of a pace and of a window
       valve.py killed GATEWAY UPSTREAM RATE             half of 100 waiting clients are cut off
       valve.py changed GATEWAY UPSTREAM ADMIN LIMIT     500/s, then 50/s, then 500/s under load
       valve.py retry GATEWAY RATE                       refused requests come back when they are told to
       valve.py queued GATEWAY PID COUNT                 resident memory with so many waiting bodies of 1 MB
GATEWAY, UPSTREAM and ADMIN are host:port; GATEWAY may have a path behind it.
"""
import asyncio, json, resource, sys, time


async def upstream():
    arrivals = []

    async def serve(reader, writer):
        try:
            while True:
                head = await reader.readuntil(b'\r\n\r\n')
                now = time.monotonic()
                if head.startswith(b'GET /taken'):
                    body, arrivals[:] = json.dumps(arrivals).encode(), []
                else:
                    arrivals.append(now)
                    body = b'ok'
                writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n' % len(body) + body)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(serve, '127.0.0.1', 0, backlog=4096)
    print('listening', '%s:%d' % server.sockets[0].getsockname(), flush=True)
    await server.serve_forever()


def place(text):
    address, _, path = text.partition('/')
    host, port = address.rsplit(':', 1)
    return host, int(port), '/' + path


class Client:
    """One connection; `ask` gives status, fields and body."""

    def __init__(self, where):
        self.where = place(where)
        self.reader = self.writer = None

    async def ask(self, method='GET', path=None, body=b'', fields=''):
        host, port, own = self.where
        if self.writer is None:
            self.reader, self.writer = await asyncio.open_connection(host, port, limit=1 << 26)
        head = f'{method} {path or own} HTTP/1.1\r\nHost: localhost\r\n{fields}'
        if body:
            head += f'Content-Type: application/json\r\nContent-Length: {len(body)}\r\n'
        self.writer.write(head.encode() + b'\r\n' + body)
        head = (await self.reader.readuntil(b'\r\n\r\n')).decode('latin-1').split('\r\n')
        found = dict(line.lower().split(': ', 1) for line in head[1:] if ': ' in line)
        answer = await self.reader.readexactly(int(found.get('content-length', 0)))
        return int(head[0].split()[1]), found, answer


async def taken(where):
    client = Client(where)
    arrivals = json.loads((await client.ask(path='/taken'))[2])
    client.writer.close()
    return arrivals


async def ask_on(where, lost):
    """A client that asks again as soon as it is answered."""
    client = Client(where)
    try:
        while True:
            status, _, _ = await client.ask()
            lost[0] += status != 200
    except asyncio.CancelledError:
        if client.writer:
            client.writer.transport.abort()
        raise


def crowd(where, count, lost):
    return [asyncio.create_task(ask_on(where, lost)) for _ in range(count)]


def stop(tasks):
    for task in tasks:
        task.cancel()


def gaps(arrivals):
    return sorted((b - a) * 1e3 for a, b in zip(arrivals, arrivals[1:]))


def most_in(arrivals, span):
    """The most arrivals in any time of this length."""
    most = start = 0
    for end, at in enumerate(arrivals):
        while at - arrivals[start] >= span:
            start += 1
        most = max(most, end - start + 1)
    return most


def row(what, text):
    print(f'{what:<34} {text}', flush=True)


async def even(gateway, up, rate, seconds):
    lost = [0]
    clients = crowd(gateway, 100, lost)
    await asyncio.sleep(1)
    await taken(up)
    await asyncio.sleep(float(seconds))
    arrivals = await taken(up)
    stop(clients)
    found = gaps(arrivals)
    at = lambda share: found[int(len(found) * share)]
    row(f'upstream of a pace of {rate}/s', f'gaps p50 {at(.5):.2f}, p99 {at(.99):.2f}, max {found[-1]:.2f} ms; '
        f'most in 100 ms {most_in(arrivals, 0.1)} of {float(rate) / 10:g}; lost {lost[0]}')


async def flow(paced, windowed, up, file):
    counts = {}
    for name, gateway in ('paced', paced), ('windowed', windowed):
        clients = crowd(gateway, 600, [0])
        await asyncio.sleep(2)
        await taken(up)
        await asyncio.sleep(3)
        arrivals = await taken(up)
        stop(clients)
        await asyncio.sleep(0.5)
        counts[name] = [0] * 300
        for at in arrivals:
            counts[name][min(int((at - arrivals[0]) * 100), 299)] += 1
        row(f'{name}: most in 10 ms', f'{max(counts[name])} of {len(arrivals)} in 3 s')
    with open(file, 'w') as out:
        out.write(flow_picture(counts))


def flow_picture(counts):
    panels = (('paced', 'mode: pace, one request every 2 ms', '#0369a1'),
              ('windowed', "mode: window, a batch each second as piped's tap has it", '#c2410c'))
    parts = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 330" font-family="sans-serif" font-size="13">'
             '<title>Requests that reach the upstream in each 10 ms, at a limit of 500 requests a second</title>'
             '<rect width="100%" height="100%" fill="#fff"/>']
    for top, (name, text, colour) in zip((30, 180), panels):
        most, base = max(counts[name]), top + 100
        parts.append(f'<text x="60" y="{top - 10}" fill="{colour}">{text}</text>'
                     f'<line x1="60" x2="620" y1="{base}" y2="{base}" stroke="#ddd"/>'
                     f'<text x="54" y="{top + 10}" text-anchor="end" fill="#444">{most}</text>'
                     f'<text x="54" y="{base}" text-anchor="end" fill="#444">0</text>')
        for at, count in enumerate(counts[name]):
            if count:
                height = max(100 * count / most, 1)
                x, y = 60 + at * 560 / 300, base - height
                parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="1.4" height="{height:.1f}" fill="{colour}"/>')
        for second in range(4):
            x = 60 + second * 560 / 3
            parts.append(f'<text x="{x:.1f}" y="{base + 18}" text-anchor="middle" fill="#444">{second} s</text>')
    parts.append('<text x="340" y="322" text-anchor="middle" fill="#444">requests that reach the upstream in each 10 ms</text></svg>')
    return '\n'.join(parts) + '\n'


async def killed(gateway, up, rate):
    lost = [0]
    stay, go = crowd(gateway, 50, lost), crowd(gateway, 50, [0])
    await asyncio.sleep(2)
    await taken(up)
    await asyncio.sleep(2)
    before = await taken(up)
    stop(go)
    await asyncio.sleep(2)
    after = await taken(up)
    stop(stay)
    least = min(sum(start <= at < start + 0.1 for at in after) for start in (after[0] + n / 10 for n in range(18)))
    row('50 of 100 that wait are cut off', f'{len(before) / 2:.0f}/s before, {len(after) / 2:.0f}/s after; '
        f'least in 100 ms after it {least} of {float(rate) / 10:g}; lost {lost[0]}')


async def changed(gateway, up, admin, limit):
    async def change(rate):
        body = json.dumps({'rate': rate}).encode()
        status, _, told = await Client(admin).ask('POST', f'/actuator/gateway/limits/{limit}', body)
        assert status == 200, told
        return time.monotonic()

    lost = [0]
    clients = crowd(gateway, 100, lost)
    await asyncio.sleep(2)
    await taken(up)
    slow = await change('50/s')
    await asyncio.sleep(3)
    fast = await change('500/s')
    await asyncio.sleep(2)
    arrivals = await taken(up)
    stop(clients)
    at_50 = gaps([at for at in arrivals if slow + 0.02 < at < fast])
    at_500 = gaps([at for at in arrivals if at > fast + 0.02])
    middle = lambda found: found[len(found) // 2]
    row('500 -> 50 -> 500/s under load', f'gaps p50 {middle(at_50):.2f} ms (20 is exact) from 20 ms after the change, '
        f'then {middle(at_500):.2f} ms (2 is exact); lost {lost[0]}')


async def retry(gateway, rate):
    """The route has a queue of 0: who comes too early is refused."""
    slot, refused, early, client = 1 / float(rate), 0, 0, Client(gateway)
    for _ in range(4):
        status, fields, _ = await client.ask()
        if status == 200:
            status, fields, _ = await client.ask()
        assert status == 503, status
        refused += 1
        told = int(fields['retry-after'])
        await asyncio.sleep(told + 0.002)
        status, _, _ = await client.ask()
        early += status != 200
    row(f'Retry-After at {rate}/s', f'{refused} refused; told {told} s for a slot of {slot:g} s; '
        f'refused again after it {early}')


async def queued(gateway, pid, count):
    count = int(count)
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    host, port, path = place(gateway)
    memory = lambda: next(int(line.split()[1]) / 1024 for line in open(f'/proc/{pid}/status') if line.startswith('VmRSS'))
    before, head = memory(), f'POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: 1048576\r\n\r\n'.encode()
    body, open_ones = bytes(1 << 16), []
    for _ in range(count):
        reader, writer = await asyncio.open_connection(host, port)
        writer.transport.set_write_buffer_limits(0)
        # As much of the body as the system takes; the client has the rest ready.
        writer.write(head + body)
        open_ones.append((reader, writer))
    await asyncio.sleep(2)
    row(f'{count} requests of 1 MB wait', f'{memory():.1f} MB resident; {before:.1f} MB before')
    for _, writer in open_ones:
        writer.transport.abort()


if __name__ == '__main__':
    if len(sys.argv) < 2 or sys.argv[1] not in ('upstream', 'even', 'flow', 'killed', 'changed', 'retry', 'queued'):
        sys.exit(__doc__)
    try:
        asyncio.run(globals()[sys.argv[1]](*sys.argv[2:]))
    except KeyboardInterrupt:
        pass
