"""Pages by http.server: see http-server.conf.

All that differs from a server of its own is the socket: descriptor 0 is there
and listens already.
"""

import http.server
import os
import socket


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = f"process {os.getpid()}: {self.path}\n".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def address_string(self):
        # A client of a Unix socket has no address.
        return self.headers.get("X-Real-IP", "-")

    def log_request(self, code="-", size="-"):
        pass  # the web server does that


server = http.server.HTTPServer(("", 0), Handler, bind_and_activate=False)
server.socket.close()
server.socket = socket.socket(fileno=0)
server.serve_forever()
