"""The sample workers in an app with keep_alive = true."""

import os
import socket

import contrib

KEEPERS = [
    [f"{contrib.BUILD}/contrib/hello"],
    [contrib.PYTHON, f"{contrib.WORKERS}/hello.py"],
    [f"{contrib.WORKERS}/apppool-wsgi", "tests.e2e.workers.wsgi_pages"],
]
if contrib.HAS_RACK:
    KEEPERS.append(
        [f"{contrib.WORKERS}/apppool-rack", "tests/e2e/workers/rack.ru"]
    )
if contrib.HAS_PSGI:
    KEEPERS.append([f"{contrib.WORKERS}/apppool-psgi", contrib.PAGES_PSGI])
POST = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"

# Heads that another server might read differently, with a body that would then
# be a request.
SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
MALFORMED = [
    line.replace(b"LENGTH", b"Content-Length: %d" % len(SMUGGLED)) for line in (
        b"Host: x\r\nContent-Length : %d" % len(SMUGGLED),
        b"Host: x\r\nContent-Length\t: %d" % len(SMUGGLED),
        b"Host: x\r\n LENGTH",
        b" LENGTH\r\nHost: x",
        b"Host: x\r\nno colon\r\nLENGTH",
        b"Host: x\r\n: no name\r\nLENGTH",
        b"Host: x\r\nA: b\nLENGTH",
        b"Host: x\r\nA: b\rLENGTH",
        b"Host: x\r\nA: \0\r\nLENGTH",
        b"Host: x\r\nContent-Length: 0\r\nLENGTH",
        b"Host: x\r\nContent-Length: +%d" % len(SMUGGLED),
        b"Host: x\r\nLENGTH\r\nTransfer-Encoding: chunked",
    )
]


class Connection:
    """A client, and the daemon's copy of its connection."""

    def __init__(self, worker):
        self.worker = worker
        self.client = socket.create_connection(
            worker.listener.getsockname(), timeout=20
        )
        self.copy, _ = worker.listener.accept()
        self.reader = self.client.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.reader.close()
        self.client.close()
        self.copy.close()

    def hand(self):
        self.worker.serial += 1
        message = b"CONN %d 5" % self.worker.serial
        socket.send_fds(self.worker.end, [message], [self.copy.fileno()])

    def answer(self):
        """Status, headers and body of the next answer."""
        status = int(self.reader.readline().split(b" ")[1])
        headers = {}
        while (line := self.reader.readline()) != b"\r\n":
            name, _, value = line.decode().partition(":")
            headers[name.lower()] = value.strip()
        return status, headers, self.reader.read(int(headers["content-length"]))

    def ask(self, request):
        self.client.sendall(request)
        return self.answer()

    def is_parked(self):
        return self.worker.heard() == b"PARK %d" % self.worker.serial

    def is_done(self):
        return self.worker.heard() == b"DONE %d" % self.worker.serial


def every(folder, keep="1"):
    """Each sample with a connection in hand."""
    for keeper in KEEPERS:
        with contrib.Worker(
            *keeper, environment={"APPPOOL_KEEP_ALIVE": keep}
        ) as worker:
            assert worker.heard() == b"READY"
            with Connection(worker) as connection:
                connection.hand()
                yield connection


def a_connection_is_parked_between_two_requests(folder):
    for connection in every(folder):
        for request in (contrib.GET, POST, contrib.GET):
            status, headers, _ = connection.ask(request)
            assert status == 200
            assert headers["connection"] == "keep-alive"
            assert connection.is_parked()
            connection.hand()


def another_worker_goes_on_with_a_parked_connection(folder):
    for one, other in zip(every(folder), reversed(list(KEEPERS))):
        assert one.ask(contrib.GET)[0] == 200
        assert one.is_parked()
        with contrib.Worker(*other) as worker:
            assert worker.heard() == b"READY"
            one.worker = worker
            one.hand()
            status, headers, _ = one.ask(contrib.GET)
            # The other worker is of an app without keep_alive.
            assert (status, headers["connection"]) == (200, "close")
            assert one.is_done()


def a_parked_connection_is_blocking(folder):
    for connection in every(folder):
        assert connection.ask(contrib.GET)[0] == 200
        assert connection.is_parked()
        assert os.get_blocking(connection.copy.fileno())


def pipelined_requests_are_answered_before_parking(folder):
    for connection in every(folder):
        connection.client.sendall(contrib.GET + POST + contrib.GET)
        assert [connection.answer()[0] for _ in range(3)] == [200] * 3
        assert connection.is_parked()


def pipelined_answers_wait_for_a_client_that_reads_late(folder):
    for connection in every(folder):
        for end, buffer in (
            (connection.copy, socket.SO_SNDBUF),
            (connection.client, socket.SO_RCVBUF),
        ):
            end.setsockopt(socket.SOL_SOCKET, buffer, 4096)
        connection.client.sendall(contrib.GET * 200)
        assert [connection.answer()[0] for _ in range(200)] == [200] * 200
        # How many were read together nobody knows.
        while connection.worker.end.recv(64).startswith(b"PARK"):
            connection.client.shutdown(socket.SHUT_WR)
            connection.hand()


def half_a_request_behind_another_is_waited_for(folder):
    for connection in every(folder):
        assert connection.ask(contrib.GET + POST[:20])[0] == 200
        assert connection.ask(POST[20:])[0] == 200
        assert connection.is_parked()


def half_a_body_behind_another_is_waited_for(folder):
    for connection in every(folder):
        assert connection.ask(contrib.GET + POST[:-1])[0] == 200
        assert connection.ask(POST[-1:])[0] == 200
        assert connection.is_parked()


def connection_close_ends_the_session(folder):
    close = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Close\r\n\r\n"
    for connection in every(folder):
        assert connection.ask(contrib.GET + close)[0] == 200
        status, headers, _ = connection.answer()
        assert (status, headers["connection"]) == (200, "close")
        assert connection.is_done()


def http_1_0_is_kept_only_if_asked_for(folder):
    keep = b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
    for connection in every(folder):
        _, headers, _ = connection.ask(keep)
        assert headers["connection"] == "keep-alive"
        assert connection.is_parked()
        connection.hand()
        _, headers, _ = connection.ask(b"GET / HTTP/1.0\r\n\r\n")
        assert headers["connection"] == "close"
        assert connection.is_done()


def a_refusal_ends_the_session(folder):
    bad = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n"
    for connection in every(folder):
        status, headers, _ = connection.ask(bad + contrib.GET)
        assert (status, headers["connection"]) == (400, "close")
        connection.client.shutdown(socket.SHUT_WR)
        assert connection.reader.read() == b""
        assert connection.is_done()


def a_body_is_not_taken_for_a_request(folder):
    # hello.c takes lines that end with LF alone.
    for keeper in KEEPERS[1:]:
        environment = {"APPPOOL_KEEP_ALIVE": "1"}
        with contrib.Worker(*keeper, environment=environment) as worker:
            assert worker.heard() == b"READY"
            for lines in MALFORMED:
                with Connection(worker) as connection:
                    connection.hand()
                    connection.client.sendall(
                        b"POST / HTTP/1.1\r\n" + lines + b"\r\n\r\n" + SMUGGLED)
                    assert connection.answer()[0] == 400, (keeper, lines)
                    assert connection.reader.read() == b"", (keeper, lines)
                    connection.client.shutdown(socket.SHUT_WR)
                    assert connection.is_done(), (keeper, lines)


def a_client_that_leaves_instead_of_asking_again_is_no_error(folder):
    for connection in every(folder):
        assert connection.ask(contrib.GET)[0] == 200
        assert connection.is_parked()
        connection.hand()
        connection.client.shutdown(socket.SHUT_WR)
        assert connection.is_done()
        connection.worker.log.seek(0)
        assert connection.worker.log.read() == b""


def without_keep_alive_no_connection_is_parked(folder):
    for connection in every(folder, keep=None):
        _, headers, _ = connection.ask(contrib.GET)
        assert headers["connection"] == "close"
        assert connection.is_done()


if __name__ == "__main__":
    contrib.main(globals())
