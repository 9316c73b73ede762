"""
usage: observer.py DIRECTORY LIMIT SCENARIO

Counts from outside what clients of an app and the kernel see, and compares it
with `status -j`. Prints what differs, with up to LIMIT seconds to agree.
"""
import glob
import json
import os
import random
import signal
import socket
import sys
import threading
import time

folder, limit, scenario = sys.argv[1], float(sys.argv[2]), sys.argv[3]
now = time.monotonic


def connect(name):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(limit)
    s.connect(f"{folder}/{name}")
    return s


def hear(s):
    said = b""
    try:
        while part := s.recv(65536):
            said += part
    except ConnectionError:
        pass
    s.close()
    return said


def ask(line, name="web.sock"):
    s = connect(name)
    s.sendall(line.encode() + b"\n")
    return s


def command(line):
    said = hear(ask(line, "control.sock")).decode()
    if "error: " in said:
        print(line, said)


def rewrite(old, new):
    """pool.conf, which is not read by that."""
    with open(f"{folder}/pool.conf", "r+") as file:
        text = file.read().replace(old, new)
        file.seek(0)
        file.truncate()
        file.write(text)


def status(question="json status web"):
    said = hear(ask(question, "control.sock"))
    return json.loads(said)["apps"]


def web():
    return status()[0]


def agree(what, holds):
    """Until holds(web()) is true."""
    end = now() + limit
    while not holds(app := web()):
        if now() > end:
            print(what, {k: v for k, v in app.items() if k != "workers"})
            return app
    return app


def expect(**counts):
    return agree(counts, lambda a: all(a[k] == v for k, v in counts.items()))


def hold():
    """A connection that a worker is given, and stays with."""
    return ask(f"gate {folder}/gates/never")


def is_held(pid):
    """Whether the worker has received such a one."""
    return os.path.isdir(f"{folder}/gates/never.{pid}")


def stat(pid):
    """From its state on."""
    with open(f"/proc/{pid}/stat") as f:
        return f.read().rsplit(")", 1)[1].split()


def pause(pid):
    os.kill(pid, signal.SIGSTOP)
    while stat(pid)[0] != "T":
        pass


def pids():
    found = set()
    for children in glob.glob(f"/proc/{os.environ['POOL']}/task/*/children"):
        with open(children) as f:
            found |= {int(pid) for pid in f.read().split()}
    return found


def served_and_waiting():
    """Six are served, two held, three wait, and four are turned away."""
    served = sum(b"hello" in hear(ask("hello")) for _ in range(6))
    expect(accepted=served, completed=6, sessions=0, waiting=0)
    held = [hold() for _ in range(2)]
    expect(sessions=2, active=2)
    first_before = now()
    waiters = [connect("web.sock")]
    first_after = now()
    waiters += [connect("web.sock") for _ in range(2)]
    expect(waiting=3, sessions=2, accepted=11)

    def is_as_old(app):
        return low - 0.02 <= app["oldest_wait"] <= high + 0.02

    end = now() + limit
    while True:
        low = now() - first_after
        app = web()
        high = now() - first_before
        if is_as_old(app):
            break
        if now() > end:
            print("oldest_wait", low, app["oldest_wait"], high)
            break
    turned_away = [connect("web.sock") for _ in range(4)]
    refused = sum(hear(s) == b"" for s in turned_away)
    # A refused connection has been in the queue for an instant.
    expect(refused=refused, accepted=15, waiting=3, max_waiting=4)
    waiters.pop().close()
    expect(abandoned=1, waiting=2)
    for s in held + waiters:
        s.close()


def lost_and_retaken():
    """A death loses what was received, and gives back what was not."""
    before = expect(idle=2)
    held = hold()
    app = expect(sessions=before["sessions"] + 1)
    worker = next(w for w in app["workers"] if w["sessions"] == 1)
    while not is_held(worker["pid"]):
        pass
    os.kill(worker["pid"], signal.SIGKILL)
    if hear(held) != b"":
        print("an answer of a dead worker")
    expect(lost=before["lost"] + 1, sessions=0)
    app = agree("idle", lambda a: a["idle"] >= 1 and not a["starting"])
    for w in app["workers"]:
        pause(w["pid"])
    asked = ask("hello")
    app = expect(sessions=1)
    worker = next(w for w in app["workers"] if w["sessions"] == 1)
    os.kill(worker["pid"], signal.SIGKILL)
    for w in app["workers"]:
        if w["pid"] != worker["pid"]:
            os.kill(w["pid"], signal.SIGCONT)
    if b"hello" not in hear(asked):
        print("the one taken back was not answered")
    expect(retaken=before["retaken"] + 1, lost=before["lost"] + 1)


def proc(pid):
    fields = stat(pid)
    ticks = os.sysconf("SC_CLK_TCK")
    return (int(fields[21]) * os.sysconf("SC_PAGESIZE"),
            (int(fields[11]) + int(fields[12])) / ticks)


def sizes_and_times():
    """Resident size, processor time and age are those of /proc."""
    for _ in range(60):
        hear(ask("hello"))

    def same(app):
        found = {w["pid"]: proc(w["pid"]) for w in app["workers"]}
        return found and max(cpu for _, cpu in found.values()) > 0 and all(
            w["rss"] == found[w["pid"]][0] and
            abs(w["cpu"] - found[w["pid"]][1]) <= 0.02
            for w in app["workers"])

    app = agree("rss and cpu", same)
    if not {w["pid"] for w in app["workers"]} <= pids():
        print("workers are no children of the daemon")
    if len(app["workers"]) != app["processes"]:
        print("processes", app["processes"], len(app["workers"]))


def accounts():
    """A thousand snapshots add up, while clients come and workers die."""
    over = threading.Event()

    def come():
        while not over.is_set():
            try:
                s = ask("hello")
                if random.random() < 0.9:
                    hear(s)
                else:
                    s.close()
            except OSError:
                pass

    def kill():
        while not over.wait(0.02):
            for w in web()["workers"]:
                if w["pid"] and random.random() < 0.5:
                    try:
                        os.kill(w["pid"], signal.SIGKILL)
                    except ProcessLookupError:
                        pass

    threads = [threading.Thread(target=come) for _ in range(6)]
    threads.append(threading.Thread(target=kill))
    for t in threads:
        t.start()
    for _ in range(1000):
        for a in status("json apps"):
            apart = a["accepted"] - sum(a[k] for k in (
                "completed", "refused", "timed_out", "abandoned", "lost",
                "waiting", "sessions", "parked"))
            if apart:
                print(apart, a)
    over.set()
    for t in threads:
        t.join()
    app = web()
    if not (app["lost"] + app["retaken"] and app["completed"]):
        print("nothing happened", app)


if __name__ == "__main__":
    globals()[scenario]()
