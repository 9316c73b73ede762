"""A mixed crowd of clients of several PoolCounter servers.

usage: servers.py SERVER,SERVER,... LOCKER KEYS [DEAD]

Each of KEYS keys is held by one client in turn: libapppool's (LOCKER), those of
the samples in Python and, where these run, Ruby and Perl, and one that chooses
as MediaWiki does.  The others must find it held, and so have asked the same
server.  With DEAD, a server of the list that is not there, its keys must have
moved, and no others.  Prints how many keys each server had.
"""

import collections
import hashlib
import os
import random
import socket
import subprocess
import sys

sys.path.insert(0, "contrib/workers")
import apppool  # noqa: E402

SERVERS, LOCKER, KEYS = sys.argv[1].split(","), sys.argv[2], int(sys.argv[3])
DEAD = sys.argv[4] if len(sys.argv) > 4 else None


def shuffled():
    """The list as another machine may have it."""
    return ",".join(random.sample(SERVERS, len(SERVERS)))


class Library:
    def lock(self, key):
        self._process = subprocess.Popen(
            [LOCKER, os.devnull, key, "1", "1", "0", "me"],
            env=dict(os.environ, APPPOOL_COUNTER=shuffled()),
            stdout=subprocess.PIPE, text=True)
        return self._process.stdout.readline().strip()

    def close(self):
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()


class Sample:
    def lock(self, key):
        self._counter = apppool.Counter(shuffled())
        return self._counter.lock(key, 1, 1)

    def close(self):
        self._counter.close()


class Script:
    """A sample in another language, one process for all keys."""

    def __init__(self, *command):
        self._process = subprocess.Popen(
            command, text=True, bufsize=1,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    @staticmethod
    def all():
        if os.path.exists("/usr/bin/ruby"):
            yield Script("/usr/bin/ruby", "tests/e2e/locker.rb")
        if os.path.exists("/usr/share/doc/libsocket-msghdr-perl"):
            yield Script("/usr/bin/perl", "tests/e2e/locker.pl")

    def call(self, line):
        self._process.stdin.write(line + "\n")
        return self._process.stdout.readline().strip()

    def lock(self, key):
        self.call(f"open {shuffled()}")
        return self.call(f"lock {key} 1 1 0")

    def close(self):
        self.call("unlock")


class Mediawiki:
    """The choice of PoolCounterConnectionManager::get()."""

    @staticmethod
    def order(key):
        sums = {name: hashlib.md5((name + key).encode()).hexdigest()
                for name in SERVERS}
        return sorted(sums, key=sums.get)

    def lock(self, key):
        for self.server in self.order(key):
            host, _, port = self.server.partition(":")
            try:
                self._socket = socket.create_connection(
                    (host, int(port or 7531)), 0.1)
                break
            except OSError:
                pass
        self._socket.settimeout(10)
        self._socket.sendall(b"ACQ4ME %s 1 1 0\n" % key.encode())
        return self._socket.recv(1024).decode().strip()

    def close(self):
        self._socket.close()


def gone(key):
    """Waits until the server has noticed that the holder has left."""
    while True:
        client = Mediawiki()
        answer = client.lock(key)
        client.close()
        if answer == "LOCKED":
            return


def main():
    had = collections.Counter()
    scripts = list(Script.all())
    for n in range(KEYS):
        key = f"wiki{n}:pcache:{n * n}"
        crowd = [Library(), Sample(), Mediawiki(), *scripts]
        first = n % len(crowd)
        crowd = crowd[first:] + crowd[:first]
        answers = [client.lock(key) for client in crowd]
        refused = ["QUEUE_FULL"] * (len(crowd) - 1)
        assert answers == ["LOCKED", *refused], (key, answers)
        server = next(c.server for c in crowd if isinstance(c, Mediawiki))
        expected = [name for name in Mediawiki.order(key) if name != DEAD]
        assert server == expected[0], (key, server)
        had[server] += 1
        for client in reversed(crowd):
            client.close()
        gone(key)
    print(*(had[name] for name in SERVERS))


main()
