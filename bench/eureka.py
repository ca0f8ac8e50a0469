"""A registry with Eureka's answers, for the scripts beside this. Each line of the file that the second argument
names is a service and its instances, `name host:port host:port ...`; the file is read again for each request.
Prints where it listens, port 0 being a free one. Usage: eureka.py ADDRESS:PORT FILE"""
import http.server
import json
import sys


def instance(name, address):
    host, port = address.rsplit(":", 1)
    return {
        "instanceId": address, "hostName": host, "app": name.upper(), "ipAddr": host, "status": "UP",
        "port": {"$": int(port), "@enabled": "true"}, "securePort": {"$": 443, "@enabled": "false"},
        "vipAddress": name, "metadata": {}, "actionType": "ADDED",
    }


class Registry(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        applications = []
        for line in open(sys.argv[2]):
            name, *addresses = line.split()
            instances = [instance(name, address) for address in addresses]
            applications.append({"name": name.upper(), "instance": instances})
        body = {"applications": {"versions__delta": "1", "apps__hashcode": "", "application": applications}}
        known = self.path.rstrip("/").endswith("/apps")
        self.answer(200 if known else 404, json.dumps(body).encode() if known else b"")

    def answer(self, status=200, body=b""):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.answer()

    do_PUT = do_POST
    do_DELETE = do_POST

    def log_message(self, *arguments):
        pass


address, port = sys.argv[1].rsplit(":", 1)
server = http.server.ThreadingHTTPServer((address, int(port)), Registry)
print(f"listening {server.server_address[0]}:{server.server_address[1]}", flush=True)
server.serve_forever()
