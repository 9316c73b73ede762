"""
usage: upgraded.py DIRECTORY LIMIT ROUNDS COMMAND...

Clients of apps of every kind, which are in the middle of something while the
command is run again and again; see upgrade_test.sh. Prints what is wrong.
"""
import socket
import subprocess
import sys

folder, limit, rounds, *command = sys.argv[1:]

# What each app's client says before and after; the answer has the latter.
APPS = {"native": "hello", "template": "hello", "library": "hello",
        "seccomp": "hello", "stdio": "hello", "limited": "hello",
        "listen": "keep"}
PARKED = 200
WAITING = 5


def connect(name):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(float(limit))
    s.connect(f"{folder}/{name}.sock")
    return s


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


def locks():
    """One client that has a lock of the counter, and one that wants it."""
    holder, waiter = connect("counter"), connect("counter")
    tell(holder, "ACQ4ME upgrade 1 10 60")
    expect("the lock", holder, "LOCKED")
    tell(waiter, "ACQ4ME upgrade 1 10 60")
    return holder, waiter


def main():
    holder, waiter = locks()
    parked = [connect("parked") for _ in range(PARKED)]
    for n, s in enumerate(parked):
        tell(s, f"first {n}")
        expect("a client that parks", s, f"first {n}")
    # Each keeps a process busy, which has not got its line yet.
    held = {name: connect(name) for name in APPS if name != "listen"}
    # The one place of this app is taken: these wait in the queue.
    waiting = [connect("limited") for _ in range(WAITING)]
    unsaid = connect("wait")
    for n in range(int(rounds)):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            print(f"round {n}: {done.stdout}{done.stderr}")
        for name, line in APPS.items():
            if name in ("limited", "stdio"):
                continue
            with connect(name) as s:
                tell(s, line)
                expect(f"a new client of {name}", s, line)
    for name, s in held.items():
        tell(s, APPS[name])
        expect(f"a session of {name}", s, APPS[name])
        s.close()
    for s in waiting:
        tell(s, "hello")
        expect("a client that waited", s, "hello")
        s.close()
    for n, s in enumerate(parked):
        tell(s, f"second {n}")
        expect("a parked client", s, f"second {n}")
    tell(unsaid, "hello")
    expect("a client that had said nothing", unsaid, "hello")
    waiter.settimeout(0.01)
    if "LOCKED" in (said := hear(waiter)):
        print(f"a lock that is held was given twice: {said}")
    waiter.settimeout(float(limit))
    tell(holder, "RELEASE")
    expect("the release", holder, "RELEASED")
    expect("the next lock", waiter, "LOCKED")


main()
