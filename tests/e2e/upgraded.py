"""
usage: upgraded.py DIRECTORY LIMIT ROUNDS CLIENTS COMMAND...
       upgraded.py <STATUS

Clients of apps of every kind, which are in the middle of something while the
command is run again and again; see upgrade_test.sh. So many of them are in
sessions, as many are parked and have locks, and half as many wait. Prints what
is wrong, as what the status shows before and after a run.

Without arguments: prints a status in JSON without what time alone changes.
"""
import difflib
import json
import resource
import socket
import subprocess
import sys
import time

# What each app's client says before and after; the answer has the latter.
APPS = {"native": "hello", "template": "hello", "library": "hello",
        "seccomp": "hello", "stdio": "hello", "limited": "hello",
        "listen": "keep"}
KEYS = 10
OF_TIME = ("uptime", "age", "idle_for", "busy_for", "rss", "cpu", "state_for",
           "last_failure_age", "load", "work", "queue_wait", "session_time",
           "oldest_wait", "idle_while_waiting", "rate", "need", "kept",
           "prefetch", "start_time")


def clean(x):
    if isinstance(x, dict):
        return {k: clean(v) for k, v in x.items() if k not in OF_TIME}
    if isinstance(x, list):
        return [clean(v) for v in x]
    return x


def pretty(status):
    return json.dumps(clean(status), indent=1, sort_keys=True)


class Clients:
    def __init__(self, folder, limit, rounds, count, *command):
        self.folder, self.limit = folder, float(limit)
        self.rounds, self.count = int(rounds), int(count)
        self.command = command

    def connect(self, name):
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(self.limit)
        s.connect(f"{self.folder}/{name}.sock")
        return s

    def run(self, *words):
        """The command, or another one of the same program."""
        done = subprocess.run(self.command[:-1] + (words or self.command[-1:]),
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            print(f"{' '.join(words)}: {done.stdout}{done.stderr}")
        return done.stdout

    def status(self):
        return json.loads(self.run("-j", "status"))

    def settled(self):
        """The status when all clients are where they stay, and no others are
        there."""
        wanted = {"native": (1, 0, 0), "template": (1, 0, 0),
                  "library": (1, 0, 0), "seccomp": (1, 0, 0),
                  "stdio": (1, 0, 0), "limited": (1, self.count // 2, 0),
                  "wait": (0, 0, 1), "crowd": (self.count, 0, 0),
                  "parked": (0, 0, self.count), "listen": (None, 0, None),
                  None: self.count // 2}
        end = time.monotonic() + self.limit
        while True:
            status = self.status()
            found = {a["name"]: (a["sessions"], a["waiting"], a["parked"])
                     for a in status["apps"]}
            # This one has those that listeners are seen to have, too.
            found[None] = status["waiting"]
            if found == wanted or time.monotonic() > end:
                break
            time.sleep(0.01)
        if found != wanted:
            raise SystemExit(f"clients are {found} instead of {wanted}")
        return pretty(status)

    def upgrade(self, n):
        before = self.settled()
        self.run()
        after = pretty(self.status())
        if before != after:
            print(f"round {n}:", *difflib.unified_diff(
                before.split("\n"), after.split("\n"), lineterm=""), sep="\n")


def hear(s):
    """A line, or what went wrong."""
    said = b""
    try:
        while not said.endswith(b"\n") and (part := s.recv(1)):
            said += part
    except OSError as problem:
        return f"{said!r}: {problem}"
    return said.decode()


def tell(s, line):
    s.sendall(line.encode() + b"\n")


def expect(what, s, part):
    said = hear(s)
    if part not in said:
        print(f"{what}: {said!r} has no {part!r}")


class Locks:
    """The places of some keys are held, and one more client wants each key."""

    def __init__(self, clients):
        places = clients.count // KEYS
        self.limit = clients.limit
        self.held = [clients.connect("counter") for _ in range(clients.count)]
        self.wanted = [clients.connect("counter") for _ in range(KEYS)]
        for n, s in enumerate(self.held + self.wanted):
            tell(s, f"ACQ4ME upgrade{n % KEYS} {places} {places + 1} 60")
            if n < len(self.held):
                expect("a lock", s, "LOCKED")

    def release(self):
        for s in self.wanted:
            s.settimeout(0.01)
            if "LOCKED" in (said := hear(s)):
                print(f"a lock that is held was given twice: {said}")
            s.settimeout(self.limit)
        for n, s in enumerate(self.held):
            tell(s, "RELEASE")
            expect("the release", s, "RELEASED")
            if n < KEYS:
                expect("the next lock", self.wanted[n], "LOCKED")


def main(*words):
    c = Clients(*words)
    nofile = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (nofile, nofile))
    locks = Locks(c)
    parked = [c.connect("parked") for _ in range(c.count)]
    for n, s in enumerate(parked):
        tell(s, f"first {n}")
        expect("a client that parks", s, f"first {n}")
    # Each keeps a process busy, which has not got its line yet.
    held = {name: c.connect(name) for name in APPS if name != "listen"}
    crowd = [c.connect("crowd") for _ in range(c.count)]
    # The one place of this app is taken: these wait in the queue.
    waiting = [c.connect("limited") for _ in range(c.count // 2)]
    unsaid = c.connect("wait")
    for n in range(c.rounds):
        c.upgrade(n)
        for name, line in APPS.items():
            if name in ("limited", "stdio"):
                continue
            with c.connect(name) as s:
                tell(s, line)
                expect(f"a new client of {name}", s, line)
    for name, s in held.items():
        tell(s, APPS[name])
        expect(f"a session of {name}", s, APPS[name])
        s.close()
    for s in crowd + waiting:
        tell(s, "hello")
        expect("a client in a session, or one that waited", s, "hello")
        s.close()
    for n, s in enumerate(parked):
        tell(s, f"second {n}")
        expect("a parked client", s, f"second {n}")
    tell(unsaid, "hello")
    expect("a client that had said nothing", unsaid, "hello")
    locks.release()


if len(sys.argv) > 1:
    main(*sys.argv[1:])
else:
    print(pretty(json.load(sys.stdin)))
