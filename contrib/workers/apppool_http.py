"""Requests of HTTP/1 for workers in Python, see hello.py and apppool-wsgi.

Whatever two servers might read differently is refused: a front end would take
what we see as the body of one request for the next, or the other way round.
"""

import http
import re

import apppool

HEAD_MAX = 65536

TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
LINE = re.compile(rf"({TOKEN}) ([^\x00-\x20#\x7f]+) HTTP/([0-9]\.[0-9])")
FIELD = re.compile(rf"({TOKEN}):([^\x00-\x08\x0a-\x1f\x7f]*)")
HOST = re.compile(
    r"(\[[0-9A-Fa-f:.]+\]|[\w\-.~%!$&'()*+,;=]*)(:[0-9]*)?", re.ASCII)
LENGTH = re.compile("[0-9]{1,18}")


class Refusal(Exception):
    """A request that is not served; the argument is the status."""


class Request:
    """The head of a request, of the lines before an empty one."""

    def __init__(self, lines):
        line, *lines = (line.decode("iso-8859-1") for line in lines)
        found = LINE.fullmatch(line)
        if not found:
            raise Refusal(400)
        self.method, self.target, version = found.groups()
        if version[0] != "1":
            raise Refusal(505)
        # HTTP/1.1: there must be a Host, and a connection is kept.
        self.is_modern = version != "1.0"
        self.protocol = "HTTP/" + version
        self.fields = {}
        for line in lines:
            found = FIELD.fullmatch(line)
            if not found:
                raise Refusal(400)
            name, value = found.groups()
            self.fields.setdefault(name.lower(), []).append(value.strip(" \t"))
        hosts = self.fields.get("host", [] if self.is_modern else [""])
        if len(hosts) != 1 or not HOST.fullmatch(hosts[0]):
            raise Refusal(400)
        lengths = set(self.fields.get("content-length", ["0"]))
        if "transfer-encoding" in self.fields:
            both = "content-length" in self.fields or not self.is_modern
            raise Refusal(400 if both else 411)
        length = lengths.pop()
        if lengths or not LENGTH.fullmatch(length):
            raise Refusal(400)
        self.length = int(length)

    def one(self, name):
        """The value of a field, of all with that name; "": there is none."""
        return ",".join(self.fields.get(name, []))

    def keeps_alive(self):
        options = [
            word.strip() for word in self.one("connection").lower().split(",")
        ]
        if self.is_modern:
            return "close" not in options
        return "keep-alive" in options

    def expects_continue(self):
        return self.is_modern and self.one("expect").lower() == "100-continue"


def read_request(client):
    """The next one of a client; an empty line before it is none."""
    client.begin()
    left = HEAD_MAX
    lines = []
    while True:
        line = client.read_line(left)
        if line is None:
            raise Refusal(431 if lines else 414)
        left -= len(line) + 1
        if not line.endswith(b"\r"):
            raise Refusal(400)
        if len(line) > 1:
            lines.append(line[:-1])
        elif lines:
            client.begin()
            return Request(lines)


def has_request(client):
    """Whether another one, or a part of it, was read together with the last."""
    return client.has_more(passing_over=b"\r\n")


def refuse(client, status, method=""):
    """An answer of ours, with which the connection ends."""
    reason = f"{status} {http.HTTPStatus(status).phrase}"
    body = "" if method == "HEAD" else reason + "\n"
    client.write(
        f"HTTP/1.1 {reason}\r\nContent-Type: text/plain\r\n"
        f"Content-Length: {len(reason) + 1}\r\nConnection: close\r\n\r\n"
        f"{body}".encode())
    client.flush()
    apppool.linger(client.connection)
