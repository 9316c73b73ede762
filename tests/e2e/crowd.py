"""Clients of a web server: crowd.py HOST:PORT|PATH COUNT [OPTION...] TARGET...

Eight at a time ask for the targets in turn until COUNT answers have come, each
of which must have the status 200 and be whole.  Prints the failures, then their
number, those of answers and connections, and the last words of texts.

    --keep          a client goes on with its connection while it may
    --text TEXT     each answer begins with that, and ends with a word
    --words COUNT   they go on until there are so many different last words
    --midway SHELL  a command, run while the second half of them is asked for;
                    they go on until it has ended
"""

import argparse
import http.client
import itertools
import socket
import subprocess
import sys
import threading

CLIENTS = 8
FAILURES_SHOWN = 10


class Client(http.client.HTTPConnection):
    connected = 0

    def connect(self):
        self.connected += 1
        if "/" not in self.host:
            return super().connect()
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.host)


class Crowd:
    def __init__(self, options):
        self.options = options
        self.lock = threading.Lock()
        self.asked = 0
        self.failures = []
        self.command = None
        self.targets = itertools.cycle(options.target)
        self.connections = 0
        self.words = set()

    def next_target(self):
        """None: that was all."""
        with self.lock:
            self.asked += 1
            if self.asked == self.options.count // 2 and self.options.midway:
                self.command = subprocess.Popen(self.options.midway, shell=True)
            if self.asked <= self.options.count or self.is_busy() or (
                    len(self.words) < self.options.words and not self.failures):
                return next(self.targets)

    def is_busy(self):
        return self.command is not None and self.command.poll() is None

    def ask(self, client, target):
        # A path is none.
        headers = {"Host": "localhost"}
        if not self.options.keep:
            headers["Connection"] = "close"
        client.request("GET", target, headers=headers)
        response = client.getresponse()
        text = response.read().decode()
        if response.status != 200 or not text.startswith(self.options.text):
            raise http.client.HTTPException(response.status, text)
        if self.options.text:
            self.words.add(text.split()[-1])

    def run(self):
        client = Client(self.options.address, timeout=30)
        while target := self.next_target():
            try:
                self.ask(client, target)
            except (OSError, http.client.HTTPException) as problem:
                self.failures.append(f"{target}: {problem!r}")
                client.close()
        with self.lock:
            self.connections += client.connected


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("address")
    parser.add_argument("count", type=int)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--midway")
    parser.add_argument("--text", default="")
    parser.add_argument("--words", type=int, default=0)
    parser.add_argument("target", nargs="+")
    crowd = Crowd(parser.parse_args())
    clients = [threading.Thread(target=crowd.run) for _ in range(CLIENTS)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    for failure in crowd.failures[:FAILURES_SHOWN]:
        print(failure)
    if crowd.command is not None and crowd.command.returncode != 0:
        crowd.failures.append("the command failed")
    print(f"{len(crowd.failures)} of {crowd.asked - CLIENTS} failed,",
          f"over {crowd.connections} connections", *sorted(crowd.words))
    sys.exit(crowd.failures != [])


main()
