"""Visits a page many times, by clients each of which waits for its answer.

usage: visit.py SOCKET COUNT KINDS PATH TEXT [keep]

Each answer must be a 200 that begins with TEXT.  COUNT visits are made, then
more until the answers have KINDS different last words.  Prints `half` when half
of COUNT have come, and in the end what was wrong, or how many answers came and
those last words.  keep: clients keep their connections.
"""

import http.client
import socket
import sys
import threading

PATH, COUNT, KINDS = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
PAGE, TEXT = sys.argv[4:6]
KEEP = sys.argv[6:] == ["keep"]
CLIENTS = 8

lock = threading.Lock()
begun = answered = 0
wrong = []
ends = set()


class Connection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(PATH)


def ask(connection):
    connection.request("GET", PAGE)
    answer = connection.getresponse()
    text = answer.read().decode()
    if answer.status != 200 or not text.startswith(TEXT):
        raise ValueError(f"{answer.status} {text}")
    return text.split()[-1]


def visit():
    global begun, answered
    connection = Connection("x")
    while True:
        with lock:
            if begun >= COUNT and (wrong or len(ends) >= KINDS):
                return
            begun += 1
        try:
            end = ask(connection)
        except (OSError, ValueError, http.client.HTTPException) as problem:
            wrong.append(f"{type(problem).__name__}: {problem}")
            connection.close()
            continue
        if not KEEP:
            connection.close()
        with lock:
            ends.add(end)
            answered += 1
            if answered == COUNT // 2:
                print("half", flush=True)


clients = [threading.Thread(target=visit) for _ in range(CLIENTS)]
for client in clients:
    client.start()
for client in clients:
    client.join()
if wrong:
    print(f"{len(wrong)} of {begun} wrong:", *wrong[:5], sep="\n")
else:
    print(answered, *sorted(ends))
