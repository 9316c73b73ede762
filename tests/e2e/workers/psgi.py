"""HTTP and PSGI as apppool-psgi has them; the application is pages.psgi."""

import http.client
import json
import os
import socket

import contrib
import http_facts
import parking
import templates
from contrib import GET
from http_facts import CHUNKED, POST, body, get, logged, said


def ready(**options):
    worker = contrib.psgi(**options)
    assert worker.heard() == b"READY"
    return worker


globals().update(http_facts.of(ready, PATH_INFO="/a b"))


def in_hand():
    """A connection of an app with keep_alive, that a worker has."""
    with ready(environment={"APPPOOL_KEEP_ALIVE": "1"}) as worker:
        with parking.Connection(worker) as connection:
            connection.hand()
            yield connection


def answer_of(connection, request, method="GET"):
    """Status, the value of Connection and the body."""
    connection.client.sendall(request)
    response = http.client.HTTPResponse(connection.client, method=method)
    response.begin()
    return response.status, response.getheader("Connection"), response.read()


def a_body_may_come_in_chunks(folder):
    with ready() as worker:
        env = said(worker, CHUNKED + b"3;a=b\r\nabc\r\n0a\r\n" + b"d" * 10 +
                   b"\r\n0\r\nTrailer: x\r\n\r\n")
        assert (env["body"], env["CONTENT_LENGTH"]) == ("abcdddddddddd", "13")
        assert said(worker, CHUNKED + b"0\r\n\r\n")["body"] == ""


def a_long_body_is_read_from_a_file(folder):
    long = b"x" * (2 << 20)
    with ready() as worker:
        head = POST + b"Content-Length: %d\r\n\r\n" % len(long)
        assert said(worker, head + long)["body"] == long.decode()
        chunk = b"%x\r\n%s\r\n" % (len(long), long)
        assert said(worker, CHUNKED + chunk + b"0\r\n\r\n")["body"] == \
            long.decode()


def continue_is_said_before_the_body_is_read(folder):
    head = POST + b"Expect: 100-continue\r\nContent-Length: 1\r\n\r\n"
    with ready() as worker:
        with worker.hand() as client:
            client.sendall(head)
            assert client.recv(4096) == b"HTTP/1.1 100 Continue\r\n\r\n"
            client.sendall(b"x")
            assert client.recv(4096).startswith(b"HTTP/1.1 200 OK\r\n")
        assert worker.heard() == b"DONE 1"
        assert worker.ask(head + b"x").startswith(b"HTTP/1.1 200 OK\r\n")


def an_application_that_fails_is_logged_and_answered(folder):
    with ready() as worker:
        for path, text in (
            ("/crash", b"crashed\n"),
            ("/wide", b"a character beyond a byte in the response\n"),
            ("/long", b"more than Content-Length says\n"),
            ("/short", b"less than Content-Length says\n"),
            ("/split", b"header X-A\n"),
            ("/silent", b"the application ended without its response\n"),
            ("/nothing", b"no response: the application returned nothing\n"),
        ):
            answer = worker.ask(get(path))
            assert answer.startswith(b"HTTP/1.1 500 "), (path, answer)
            assert logged(worker).endswith(text), (path, logged(worker))
        assert worker.status(GET) == 200


def a_response_is_bytes(folder):
    with ready() as worker:
        assert body(worker.ask(get("/latin"))) == b"\xe9"


def a_body_of_a_file_has_its_length(folder):
    with open("contrib/workers/hello.c", "rb") as file:
        text = file.read()
    for connection in in_hand():
        said = answer_of(connection, get("/file"))
        assert said == (200, "keep-alive", text)
        assert connection.is_parked()


def a_delayed_response_is_as_any(folder):
    for connection in in_hand():
        said = answer_of(connection, get("/delayed"))
        assert said == (200, "keep-alive", b"delayed")
        assert connection.is_parked()


def a_streamed_body_is_sent_in_chunks(folder):
    for connection in in_hand():
        said = answer_of(connection, get("/pieces"))
        assert said == (200, "keep-alive", b"one,two")
        assert connection.is_parked()


def a_streamed_body_is_closed_once(folder):
    for connection in in_hand():
        said = answer_of(connection, get("/twice"))
        assert said == (200, "keep-alive", b"once")
        assert connection.is_parked()
        assert logged(connection.worker) == \
            b"more of a response that is closed\n"
        connection.hand()
        assert answer_of(connection, get("/delayed"))[2] == b"delayed"


def a_streamed_body_ends_a_session_of_http_1_0(folder):
    request = b"GET /pieces HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
    with ready(environment={"APPPOOL_KEEP_ALIVE": "1"}) as worker:
        answer = worker.ask(request)
    assert b"Connection: close\r\n" in answer
    assert body(answer) == b"one,two"


def a_response_that_is_cut_is_seen_to_be(folder):
    with ready() as worker:
        with worker.hand() as client:
            client.sendall(b"GET /cut HTTP/1.0\r\n\r\n")
            try:
                while client.recv(4096):
                    pass
                raise AssertionError("it ended as a whole one does")
            except ConnectionResetError:
                pass
        assert worker.heard() == b"DONE 1"
        assert logged(worker) == b"cut\n"


def a_response_without_a_body_keeps_the_connection(folder):
    for connection in in_hand():
        for path, method, status in (
            ("/none", "GET", 204),
            ("/same", "GET", 304),
            ("/", "HEAD", 200),
            ("/pieces", "HEAD", 200),
            ("/file", "HEAD", 200),
            ("/short", "HEAD", 200),
        ):
            request = get(path).replace(b"GET", method.encode())
            said = answer_of(connection, request, method)
            assert said == (status, "keep-alive", b""), path
            assert connection.is_parked()
            connection.hand()
        assert answer_of(connection, get("/delayed"))[2] == b"delayed"


def pipelined_requests_with_bodies_are_served_before_parking(folder):
    one = POST + b"Content-Length: 3\r\n\r\nabc"
    chunks = CHUNKED + b"2\r\nde\r\n0\r\n\r\n"
    for connection in in_hand():
        connection.client.sendall(one + chunks + b"\r\n" + one)
        bodies = [json.loads(connection.answer()[2])["body"] for _ in range(3)]
        assert bodies == ["abc", "de", "abc"]
        assert connection.is_parked()


def an_application_that_wants_to_end_is_given_no_more(folder):
    with ready() as worker:
        with worker.hand() as client:
            client.sendall(get("/retire"))
            assert body(client.recv(4096)) == b"last"
        assert worker.heard() == b"RETIRE"
        assert worker.heard() == b"DONE 1"
        worker.end.send(b"STOP")
        assert worker.process.wait(10) == 0


def a_machine_without_a_module_is_told_what_to_install(folder):
    for path, line in (
        ("Plack.pm", b"no Plack: install libplack-perl\n"),
        ("Socket/MsgHdr.pm",
         b"no Socket::MsgHdr: install libsocket-msghdr-perl\n"),
    ):
        path = f"{folder}/{path}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write("die;")
        with contrib.psgi(environment={"PERL5LIB": folder}) as worker:
            assert worker.process.wait(10) != 0
            assert logged(worker).endswith(line), logged(worker)
        os.unlink(path)


def an_application_that_cannot_be_loaded_says_why(folder):
    for name, text, why in (
        ("missing", None, b"No such file or directory"),
        ("wrong", "sub {", b"Missing right curly"),
        ("absent", "use No::Such::Module;", b"Can't locate No/Such/Module.pm"),
        ("number", "7;", b"number.psgi: does not return an application"),
    ):
        path = f"{folder}/{name}.psgi"
        if text is not None:
            with open(path, "w") as file:
                file.write(text)
        with contrib.psgi(path) as worker:
            message = worker.heard()
            assert message.startswith(b"FAIL ") and why in message, message
            assert worker.process.wait(10) == 1


def the_application_is_loaded_once_by_a_template(folder):
    path = f"{folder}/loaded.psgi"
    with open(path, "w") as file:
        file.write("my $by = $$; sub { [200, [], [join ' ', $by, rand]] }")
    with contrib.psgi(path, environment=templates.TEMPLATE) as origin:
        assert origin.heard() == b"READY"
        numbers = set()
        for serial in range(2):
            with templates.Process(origin, serial, "3", 0) as worker:
                pid, number = body(worker.ask(GET)).split()
                assert int(pid) == origin.process.pid
                numbers.add(number)
        assert len(numbers) == 2


if __name__ == "__main__":
    templates.adopt_orphans()
    contrib.main(globals())
