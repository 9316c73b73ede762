"""usage: client.py SOCKET ENOUGH TEXT TARGET [NAME=VALUE...]

Four clients ask the Unix SOCKET for TARGET, each time on a new connection, until
the file ENOUGH is there: over HTTP, or over FastCGI with these parameters beside
the usual ones, if there are any.  An answer is right if its status is 200 and it
has TEXT.  Prints how many requests there were, and how many had no right answer;
what became of the first of these goes to standard error.
"""

import os
import socket
import struct
import sys
import threading

ADDRESS, ENOUGH, TEXT, TARGET = sys.argv[1:5]
PARAMETERS = {
    "GATEWAY_INTERFACE": "CGI/1.1", "SERVER_PROTOCOL": "HTTP/1.1",
    "SERVER_NAME": "localhost", "SERVER_PORT": "80", "HTTP_HOST": "localhost",
    "REMOTE_ADDR": "127.0.0.1", "REQUEST_METHOD": "GET",
    "REQUEST_URI": TARGET, "SCRIPT_NAME": TARGET.partition("?")[0],
    "QUERY_STRING": TARGET.partition("?")[2], "REDIRECT_STATUS": "200",
} | dict(parameter.split("=", 1) for parameter in sys.argv[5:])
FASTCGI = len(sys.argv) > 5


def record(kind, content=b""):
    return struct.pack(">BBHHBx", 1, kind, 1, len(content), 0) + content


def request():
    if not FASTCGI:
        return (f"GET {TARGET} HTTP/1.1\r\nHost: localhost\r\n"
                "Connection: close\r\n\r\n").encode()
    pairs = (struct.pack(">II", len(name) | 1 << 31, len(value) | 1 << 31)
             + f"{name}{value}".encode() for name, value in PARAMETERS.items())
    return (record(1, struct.pack(">HB5x", 1, 0))
            + record(4, b"".join(pairs)) + record(4) + record(5))


def is_right(answer):
    if not FASTCGI:
        return answer.startswith(b"HTTP/1.1 200 ") and TEXT.encode() in answer
    streams = {6: b"", 7: b"", 3: b""}
    at = 0
    while at < len(answer):
        kind, length, padding = struct.unpack_from(">xBxxHBx", answer, at)
        streams[kind] += answer[at + 8:at + 8 + length]
        at += 8 + length + padding
    status = b"\r\n" + streams[6].partition(b"\r\n\r\n")[0] + b"\r\n"
    # PHP leaves something in the reserved bytes of the last record.
    return (streams[3][:5] == bytes(5) and TEXT.encode() in streams[6]
            and (b"\r\nStatus:" not in status or b"\r\nStatus: 200" in status))


counts = [0, 0]


def client():
    while not os.path.exists(ENOUGH):
        counts[0] += 1
        answer = b""
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(30)
                connection.connect(ADDRESS)
                connection.sendall(request())
                while part := connection.recv(65536):
                    answer += part
            right, wrong = is_right(answer), answer[:600]
        except (OSError, struct.error) as error:
            right, wrong = False, error
        if not right:
            counts[1] += 1
            if counts[1] < 4:
                print("wrong:", wrong, file=sys.stderr)


clients = [threading.Thread(target=client) for _ in range(4)]
for one in clients:
    one.start()
for one in clients:
    one.join()
print(*counts)
