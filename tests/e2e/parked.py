"""
usage: parked.py DIRECTORY LIMIT SCENARIO

Clients of app web, which is run by workers/parker, and keep their connections.
Each knows what it has asked; what is wrong is printed, with up to LIMIT seconds
for the daemon to agree.
"""
import contextlib
import os
import random
import signal
import socket
import sys
import threading
import time

from observer import (agree, command, connect, expect, hear, now, pause,
                      rewrite, web)

POOL = int(os.environ["POOL"])
COUNT = int(os.environ.get("COUNT", "1000"))


class Client:
    """A client that keeps its connection, and knows what it must hear."""

    def __init__(self, name):
        self.name = name
        self.asked = 0
        self.heard = 0
        self.socket = connect("web.sock")
        self.answers = self.socket.makefile("rb")

    def line(self, number):
        return f"{self.name} {number}"

    def ask(self, times=1):
        """As many lines as that, in one piece."""
        lines = ""
        for _ in range(times):
            lines += self.line(self.asked) + "\n"
            self.asked += 1
        self.socket.sendall(lines.encode())

    def hear(self):
        """The number of the process that has answered, or None."""
        try:
            said = self.answers.readline().decode()
        except OSError as problem:
            said = str(problem)
        pid, _, line = said.partition(" ")
        if line != self.line(self.heard) + "\n":
            print(f"{self.line(self.heard)}: {said!r}")
            return None
        self.heard += 1
        return int(pid)

    def is_over(self):
        """Whether the connection has ended as it should."""
        try:
            return self.socket.recv(1) == b""
        except OSError:
            return False

    def close(self):
        self.answers.close()
        self.socket.close()


def parked(count=COUNT):
    """So many clients, all of which have been answered once."""
    clients = [Client(f"client-{i}") for i in range(count)]
    ask_all(clients)
    expect(parked=count, sessions=0, waiting=0, starting=0)
    return clients


def parked_one(name):
    client = Client(name)
    ask_all([client])
    expect(sessions=0)
    return client


def ask_all(clients):
    """Each asks, and hears its own answer; the processes that gave them."""
    for client in clients:
        client.ask()
    return {client.hear() for client in clients}


def all_are_there(clients, **counts):
    """No client is lost, and each is served once more."""
    expect(parked=len(clients), accepted=len(clients), lost=0, completed=0)
    ask_all(clients)
    expect(parked=len(clients), sessions=0, waiting=0, lost=0, **counts)


def are_over(clients):
    for client in clients:
        if not client.is_over():
            print(client.name, "is not over")


def pids():
    return {worker["pid"] for worker in web()["workers"] if worker["pid"]}


def a_reload_keeps_them():
    clients = parked()
    before = pids()
    rewrite('parker"', 'parker", "--ahead"')
    os.kill(POOL, signal.SIGHUP)
    agree("new processes", lambda app: not before & pids() and pids())
    all_are_there(clients)


def a_resize_keeps_them():
    clients = parked()
    for sizes in ("1 1", "8 8", "2 2"):
        command("resize web " + sizes)
        agree(sizes, lambda app: app["processes"] == int(sizes[0]))
        ask_all(clients)
    all_are_there(clients)


def kill_half():
    """Kills processes that have a connection, but do not know yet."""
    doomed = sorted(pids())[::2]
    for pid in doomed:
        pause(pid)
    return doomed


def deaths_lose_none():
    clients = parked()
    for _ in range(3):
        app = agree("idle", lambda a: a["idle"] >= 4 and
                    not a["active"] and not a["starting"])
        former = app["retaken"]
        doomed = kill_half()
        for client in clients:
            client.ask()
        # Unread connections are taken back when others are idle again.
        agree("all have one", lambda app: app["retaken"] > former or all(
            w["sessions"] for w in app["workers"] if w["pid"] in doomed))
        for pid in doomed:
            # A process that was to leave may have left.
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for client in clients:
            client.hear()
    all_are_there(clients)


def clients_leave():
    """Served clients are completed, and nothing stays open."""
    clients = parked()
    descriptors = len(os.listdir(f"/proc/{POOL}/fd"))
    for client in clients[::2]:
        client.close()
    left = clients[1::2]
    expect(parked=len(left), completed=len(clients) - len(left), abandoned=0)
    most = descriptors - (len(clients) - len(left))
    agree("descriptors", lambda _: len(os.listdir(f"/proc/{POOL}/fd")) <= most)
    ask_all(left)
    for client in left:
        client.socket.shutdown(socket.SHUT_WR)
    expect(parked=0, completed=len(clients), lost=0)
    are_over(left)


def half_a_request_holds_one_process():
    clients = parked(40)
    slow = clients[:3]
    for client in slow:
        client.socket.sendall(client.line(client.asked).encode())
    expect(sessions=3, active=3)
    for _ in range(3):
        ask_all(clients[3:])
    for client in slow:
        client.asked += 1
        client.socket.sendall(b"\n")
        client.hear()
    all_are_there(clients)


def pipelined_requests_are_answered():
    """Requests come while the connection is about to be parked."""
    clients = parked(200)
    for _ in range(20):
        for client in clients:
            client.ask(random.randrange(1, 6))
        for client in random.sample(clients, 100):
            client.ask()
        for client in clients:
            while client.heard < client.asked:
                if client.hear() is None:
                    return
    all_are_there(clients)


def requests_meet_park():
    """A next request is sent at any moment around the PARK of the last."""
    clients = parked(8)
    begun = now()

    def come(client):
        while now() < begun + 1 and client.hear_next():
            pass

    def hear_next(self):
        self.ask()
        time.sleep(random.random() * 1e-4)
        self.ask()
        return self.hear() is not None and self.hear() is not None

    Client.hear_next = hear_next
    threads = [threading.Thread(target=come, args=[c]) for c in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    all_are_there(clients)


def the_longest_idle_makes_room():
    """max_parked is 10."""
    clients = [parked_one(f"client-{i}") for i in range(12)]
    expect(parked=10, completed=2, lost=0)
    are_over(clients[:2])
    ask_all(clients[2:])


def idle_clients_are_closed_in_time():
    """keep_alive_timeout is 200 ms."""
    clients = [parked_one(f"client-{i}") for i in range(300)]
    expect(parked=0, completed=300, timed_out=0)
    are_over(clients)


def a_drain_closes_them():
    clients = parked()
    command("drain web")
    expect(parked=0, completed=len(clients), lost=0)
    are_over(clients)
    command("resume web")
    ask_all([Client("afterwards")])


def a_stop_closes_them():
    clients = parked()
    os.kill(POOL, signal.SIGTERM)
    are_over(clients)


def a_kept_copy_disturbs_nobody():
    """Processes that go on with what they have parked."""
    clients = parked(20)
    for client in clients:
        client.name = "keep " + client.name
    ask_all(clients)
    ask_all(clients)
    for client in clients[:10]:
        client.close()
    expect(parked=10, completed=10, lost=0)
    ask_all(clients[10:])
    expect(parked=10, sessions=0, lost=0)
    killed = pids()
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    # Requests that a process has received are lost with it.
    agree("new processes", lambda app: not killed & pids())
    ask_all(clients[10:])
    expect(parked=10, completed=10, lost=0)


def parking_twice_ends_the_process_alone():
    clients = []
    for i in range(4):
        clients.append(parked_one(f"client-{i}"))
        agree("ended", lambda app: app["exits"].get("nonsense", 0) > i)
        agree("idle", lambda app: app["idle"] >= 1)
    expect(parked=4, lost=0)


def a_guessed_serial_ends_the_process_that_guesses():
    client = Client("sleep 300000")
    client.ask()
    expect(sessions=1)
    hear(connect("guess.sock"))
    print(*{client.hear()} & {None}, sep="", end="")
    all_are_there([client])


if __name__ == "__main__":
    globals()[sys.argv[3]]()
