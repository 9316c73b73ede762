"""apppool-wsgi in an app with keep_alive or template; see wsgi_pages.py."""

import http.client
import os
import socket

import contrib
import templates
from parking import Connection

PROGRAM = [f"{contrib.WORKERS}/apppool-wsgi", "tests.e2e.workers.wsgi_pages"]
KEEP = {"APPPOOL_KEEP_ALIVE": "1"}
# A header, and a body as long as the end of the head that comes behind it.
POSTED = "Content-Length: 2\r\n\r\n"


def send(connection, path, method="GET", version="1.1", more=""):
    head = f"{method} {path} HTTP/{version}\r\nHost: x\r\n{more}\r\n"
    connection.client.sendall(head.encode())


def read(connection, method="GET"):
    """Status, the value of Connection and the body."""
    response = http.client.HTTPResponse(connection.client, method=method)
    response.begin()
    try:
        body = response.read()
    except http.client.IncompleteRead as cut:
        body = cut.partial
    return response.status, response.getheader("Connection"), body


def answer(connection, path, method="GET"):
    send(connection, path, method)
    return read(connection, method)


def last_answer(connection, *request, **parts):
    """The end of a session by the worker, and then the daemon."""
    send(connection, *request, **parts)
    assert connection.is_done()
    connection.copy.close()
    return read(connection)


def in_hand():
    """A connection that a worker has."""
    with contrib.Worker(*PROGRAM, environment=KEEP) as worker:
        assert worker.heard() == b"READY"
        with Connection(worker) as connection:
            connection.hand()
            yield connection


def assert_kept(connection):
    """The session has been ended properly, and the connection goes on."""
    assert connection.is_parked()
    connection.hand()
    assert answer(connection, "/") == (200, "keep-alive", b"read 0\n")
    assert connection.is_parked()


def a_body_of_unknown_length_is_sent_in_chunks(folder):
    for connection in in_hand():
        assert answer(connection, "/pieces") == (200, "keep-alive", b"one,two")
        assert_kept(connection)


def a_body_of_unknown_length_ends_a_session_of_http_1_0(folder):
    keep = "Connection: keep-alive\r\n"
    for connection in in_hand():
        said = last_answer(connection, "/pieces", version="1.0", more=keep)
        assert said == (200, "close", b"one,two")


def an_answer_without_body_keeps_the_connection(folder):
    for connection in in_hand():
        for path, method, status in (
            ("/pieces", "HEAD", 200),
            ("/", "HEAD", 200),
            ("/none", "GET", 304),
        ):
            said = answer(connection, path, method)
            assert said == (status, "keep-alive", b"")
            assert connection.is_parked()
            connection.hand()
        assert answer(connection, "/")[0] == 200


def a_body_shorter_than_said_ends_the_session(folder):
    for connection in in_hand():
        assert last_answer(connection, "/short")[2] == b"one,two"


def of_a_body_longer_than_said_the_rest_is_not_sent(folder):
    for connection in in_hand():
        assert answer(connection, "/long") == (200, "keep-alive", b"one,t")
        assert_kept(connection)


def a_crash_amid_the_body_ends_the_session(folder):
    for connection in in_hand():
        assert last_answer(connection, "/crash")[2] == b"one,two"


def a_body_that_is_not_read_ends_the_session(folder):
    for connection in in_hand():
        send(connection, "/unread", "POST", more=POSTED)
        assert read(connection) == (200, "close", b"read 0\n")
        connection.client.shutdown(socket.SHUT_WR)
        assert connection.is_done()


def a_body_that_is_read_after_the_answer_ends_the_session(folder):
    for connection in in_hand():
        said = last_answer(connection, "/late", "POST", more=POSTED)
        assert said == (200, "close", b"late")


def the_application_is_loaded_once_by_a_template(folder):
    with open(f"{folder}/demo.py", "w") as file:
        file.write("import os\nname = b'loaded by %d\\n' % os.getpid()\n")
        file.write("def app(environ, start):\n")
        file.write("    start('200 OK', [])\n    return [name]\n")
    program = [os.path.abspath(PROGRAM[0]), "demo:app"]
    with contrib.Worker(
        *program, cwd=folder, environment=templates.TEMPLATE
    ) as origin:
        assert origin.heard() == b"READY"
        for serial in range(2):
            with templates.Process(origin, serial, "3", 0) as worker:
                said = worker.ask(contrib.GET)
                assert said.endswith(b"loaded by %d\n" % origin.process.pid)


if __name__ == "__main__":
    templates.adopt_orphans()
    contrib.main(globals())
