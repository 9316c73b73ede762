"""Changes a pool again and again while clients send requests, and counts those
that fail.

usage: loss.py APPPOOLCTL CONTROL CONF ROUNDS REQUESTS CHANGE...

Ten clients, five by TCP and five by a Unix socket, send at least so many requests
of 16 KiB by HTTP, and more as long as the changes last, each of which is made
ROUNDS times: reload, with another environment, restart, upgrade, to the program
on disk, resize, kill, of an idle worker, detach. CONF has the addresses, and in a
line ANSWER=A or ANSWER=B what the program answers; each reload writes the other
one there.

An answer is right if it is of an environment that was in force at some time
between the request and the answer. Prints a line for each kind of change, then
the requests that failed, with the first reasons; exits with 1 if there are any.
"""

import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time

CLIENTS = 10
BODY = b"x" * 16384
PATIENCE = 30
PAUSE = 0.02        # between requests beyond those that were asked for


class Crowd:
    def __init__(self, addresses, requests):
        self.addresses = addresses
        self.lock = threading.Lock()
        self.left = requests
        self.allowed = {"A"}
        self.over = False
        self.done = 0
        self.failures = []

    def request(self, address):
        if address.startswith("/"):
            s = socket.socket(socket.AF_UNIX)
        else:
            s = socket.socket()
            host, port = address.rsplit(":", 1)
            address = (host, int(port))
        with s:
            s.settimeout(PATIENCE)
            s.connect(address)
            s.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\n"
                      b"Connection: close\r\nContent-Length: %d\r\n\r\n"
                      % len(BODY) + BODY)
            answer = b""
            while True:
                part = s.recv(65536)
                if not part:
                    return answer
                answer += part

    def client(self, address):
        while True:
            with self.lock:
                if self.left <= 0 and self.over:
                    return
                self.left -= 1
                before = set(self.allowed)
                enough = self.left < 0
            if enough:
                time.sleep(PAUSE)
            try:
                answer = self.request(address)
                head, _, body = answer.partition(b"\r\n\r\n")
                words = body.decode().split()
                with self.lock:
                    right = before | self.allowed
                if not head.startswith(b"HTTP/1.1 200 ") or \
                        words[1:] != [str(len(BODY))]:
                    problem = "the answer is %r" % answer[:80]
                elif words[0] not in right:
                    problem = "%s answered where %s is right" % (
                        words[0], " or ".join(sorted(right)))
                else:
                    problem = None
            except OSError as e:
                problem = repr(e)
            with self.lock:
                self.done += 1
                if problem:
                    self.failures.append("%s: %s" % (address, problem))


class Changes:
    def __init__(self, crowd, ctl, conf):
        self.crowd, self.ctl, self.conf = crowd, ctl, conf
        self.now = "A"
        self.large = False

    def run(self, *command):
        out = subprocess.run(self.ctl + list(command), text=True, check=False,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if out.returncode != 0:
            raise SystemExit("%s: %s" % (" ".join(command), out.stdout))
        return out.stdout

    def workers(self):
        app = json.loads(self.run("-j", "status"))["apps"][0]
        return [w for w in app["workers"] if w["state"] == "idle"]

    def idle(self):
        """The worker that has been idle for longest."""
        return max(self.workers(), key=lambda w: w["idle_for"], default=None)

    def reload(self):
        after = "B" if self.now == "A" else "A"
        with open(self.conf, encoding="utf-8") as file:
            text = file.read()
        with open(self.conf, "w", encoding="utf-8") as file:
            file.write(text.replace("ANSWER=" + self.now, "ANSWER=" + after))
        with self.crowd.lock:
            self.crowd.allowed = {"A", "B"}
        self.run("reload")
        with self.crowd.lock:
            self.crowd.allowed = {after}
        self.now = after

    def restart(self):
        self.run("restart")

    def upgrade(self):
        self.run("upgrade")

    def resize(self):
        self.large = not self.large
        size = "20" if self.large else "14"
        self.run("resize", "web", size, size)

    def kill(self):
        """A worker is stopped first: if it is idle then, it reads no connection
        any more that comes before the signal does."""
        while True:
            worker = self.idle()
            if worker is None:
                time.sleep(PAUSE)
                continue
            try:
                os.kill(worker["pid"], signal.SIGSTOP)
                if worker["id"] in [w["id"] for w in self.workers()]:
                    os.kill(worker["pid"], signal.SIGKILL)
                    return
                os.kill(worker["pid"], signal.SIGCONT)
            except ProcessLookupError:
                pass  # it was on its way out

    def detach(self):
        """A worker that was on its way out is not found, or leaves already."""
        worker = self.idle()
        if worker:
            subprocess.run(self.ctl + ["detach", worker["id"]], check=False,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def main():
    ctl, control, conf = sys.argv[1:4]
    rounds, requests = map(int, sys.argv[4:6])
    kinds = sys.argv[6:]
    with open(conf, encoding="utf-8") as file:
        listens = re.search(r"listen = \{(.*)\}", file.read()).group(1)
    addresses = [a.strip(' "').replace("unix:", "")
                 for a in listens.split(",")]
    crowd = Crowd(addresses, requests)
    changes = Changes(crowd, [ctl, "-s", control], conf)
    threads = [threading.Thread(target=crowd.client,
                                args=(addresses[i % len(addresses)],))
               for i in range(CLIENTS)]
    for thread in threads:
        thread.start()
    took = dict.fromkeys(kinds, 0.0)
    try:
        for _ in range(rounds):
            random.shuffle(kinds)
            for kind in kinds:
                began = time.monotonic()
                getattr(changes, kind)()
                took[kind] += time.monotonic() - began
    finally:
        crowd.over = True
        for thread in threads:
            thread.join()
    for kind in sorted(kinds):
        print("%-8s %3d times, %.0f ms each"
              % (kind, rounds, 1000 * took[kind] / rounds))
    print("%d requests, %d failed" % (crowd.done, len(crowd.failures)))
    for failure in crowd.failures[:10]:
        print(failure)
    return 1 if crowd.failures else 0


if __name__ == "__main__":
    sys.exit(main())
