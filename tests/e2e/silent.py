"""
usage: silent.py DIRECTORY LIMIT SCENARIO

Clients of app web, which waits for their data; workers/parker serves it.
"""
import resource
import socket
import threading
import time

from observer import (agree, command, connect, expect, folder, limit, rewrite,
                      web)

HEAD = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"


def connect_tcp():
    with open(f"{folder}/port") as file:
        port = int(file.read())
    return socket.create_connection(("127.0.0.1", port), timeout=limit)


def both():
    return [connect("web.sock"), connect_tcp()]


def hear_answer(client, line="hello"):
    """The answer of a process, and nothing more if it has closed."""
    said = b""
    try:
        while not said.endswith(b"\n") and (part := client.recv(4096)):
            said += part
    except OSError as problem:
        print(line, problem)
    if not said.decode().strip().endswith(line):
        print(line, said)


def is_over(client):
    try:
        if client.recv(1) != b"":
            print("more than the end")
    except ConnectionResetError:
        pass
    except OSError as problem:
        print("not closed:", problem)


def silent_clients_occupy_no_process():
    silent = [c for _ in range(20) for c in both()]
    expect(parked=40, sessions=0, waiting=0, accepted=40)
    for _ in range(10):
        for client in both():
            client.sendall(b"hello\n")
            hear_answer(client)
    expect(parked=40, sessions=0, completed=20)
    for client in silent:
        client.sendall(b"hello\n")
    for client in silent:
        hear_answer(client)
    expect(parked=0, completed=60)


def a_wait_begins_with_the_first_byte():
    client = connect("web.sock")
    expect(parked=1)
    time.sleep(0.5)
    client.sendall(b"hello\n")
    hear_answer(client)
    app = web()
    if app["queue_wait"]["max"] > 0.4:
        print(app["queue_wait"])


def clients_leave():
    for client in [c for _ in range(10) for c in both()]:
        client.close()
    expect(parked=0, abandoned=20, completed=0)
    for client in both():
        client.sendall(b"hello\n")
        client.close()
    expect(parked=0, abandoned=20, completed=2)


def silence_is_timed_out():
    for client in both():
        is_over(client)
    expect(parked=0, timed_out=2)


def the_longest_silent_makes_room():
    clients = [connect("web.sock") for _ in range(11)]
    is_over(clients[0])
    expect(parked=10, refused=1)


def a_drain_ends_silence():
    clients = both()
    expect(parked=2)
    command("drain web")
    for client in clients:
        is_over(client)
    expect(parked=0, refused=2, accepted=2)


def without_the_option_they_wait_as_others():
    clients = both()
    expect(parked=2)
    rewrite("wait_for_data = true", "")
    command("reload")
    expect(parked=0, sessions=2, lost=0)
    for client in clients:
        client.sendall(b"hello\n")
        hear_answer(client)
    expect(completed=2)


def a_kept_client_is_served_again():
    for client in both():
        for _ in range(3):
            expect(sessions=0)
            client.sendall(b"hello\n")
            hear_answer(client)
        client.close()
    expect(parked=0, completed=2, abandoned=0)


def a_program_echoes():
    silent = both()
    expect(parked=2, sessions=0)
    for client in both() + silent:
        client.sendall(b"hello\n")
        hear_answer(client)
        client.close()
    expect(parked=0, completed=4)


def a_request_comes_in_parts():
    clients = both()
    for part in (HEAD[:10], HEAD[10:-1]):
        for client in clients:
            client.sendall(part)
        expect(parked=2, sessions=0)
    for client in clients:
        client.sendall(HEAD[-1:])
        hear_answer(client, "GET / HTTP/1.1")
    expect(parked=0)


def what_is_no_request_goes_to_a_process():
    for bad in (b"\x16\x03\x01\n", b"hello\n"):
        for client in both():
            client.sendall(bad)
            hear_answer(client, bad.decode().strip())
    for client in both():
        client.sendall(b"GET /" + b"x" * 17000 + b"\n")
        client.close()
    expect(parked=0, sessions=0, timed_out=0, abandoned=0, accepted=6)


def half_a_request_and_the_end():
    for client in both():
        client.sendall(b"GET / HTTP/1.1\n")
        client.shutdown(socket.SHUT_WR)
        hear_answer(client, "GET / HTTP/1.1")
    expect(parked=0, completed=2)


def a_drain_ends_half_a_request():
    halves = both()
    for client in halves:
        client.sendall(HEAD[:10])
    expect(parked=2)
    command("drain web")
    for client in halves:
        is_over(client)
    expect(parked=0, completed=0, refused=2)


def connect_in_turn():
    """Waits where the backlog is full."""
    s = socket.socket(socket.AF_UNIX)
    s.connect(f"{folder}/web.sock")
    return s


def slow_clients():
    """Each sends a byte of a head every second."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    clients = [connect_in_turn() for _ in range(min(5000, most // 2))]
    for client in clients:
        client.sendall(b"GET / HTTP/1.1\r\nX: ")

    def dribble():
        while True:
            for client in clients:
                try:
                    client.sendall(b"x")
                except OSError:
                    return
            time.sleep(1)

    threading.Thread(target=dribble, daemon=True).start()
    return clients


def slow_clients_delay_nobody():
    slow = slow_clients()
    expect(parked=len(slow), sessions=0)
    end = time.monotonic() + 3
    asked, longest = 0, 0
    while time.monotonic() < end:
        began = time.monotonic()
        client = connect("web.sock")
        client.sendall(HEAD)
        hear_answer(client, "GET / HTTP/1.1")
        client.close()
        longest = max(longest, time.monotonic() - began)
        asked += 1
    app = agree("accounts", lambda a: a["completed"] == asked)
    if app["parked"] != len(slow) or app["idle_while_waiting"] > 1:
        print(app)
    with open(f"{folder}/slow", "w") as file:
        file.write(f"{asked} requests, the longest took {longest:.4f} s\n")
    for client in slow:
        client.close()
    expect(parked=0, abandoned=len(slow))


if __name__ == "__main__":
    import sys

    globals()[sys.argv[3]]()
