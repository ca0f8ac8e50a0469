// Answers each request with what Node.js understood of it: x-seen: METHOD.TARGET.BODY in hex.
const http = require('http');
const hex = (bytes) => Buffer.from(bytes).toString('hex');

const server = http.createServer((request, response) => {
  const parts = [];
  request.on('data', (part) => parts.push(part));
  request.on('end', () => {
    const body = Buffer.concat(parts);
    response.setHeader('x-seen', `${hex(request.method)}.${hex(request.url)}.${hex(body)}`);
    response.setHeader('Content-Length', 0);
    response.end();
  });
});
server.keepAliveTimeout = 60000;
server.listen(Number(process.argv[2]), '127.0.0.1');
process.stdin.on('end', () => process.exit());
process.stdin.resume();
