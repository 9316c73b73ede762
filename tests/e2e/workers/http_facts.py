"""HTTP as apppool-rack and apppool-psgi read it alike, fact by fact."""

import json
import socket

from contrib import GET

POST = b"POST / HTTP/1.1\r\nHost: x\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"


def get(path, more=b""):
    if isinstance(path, str):
        path = path.encode()
    return b"GET %s HTTP/1.1\r\nHost: x\r\n%s\r\n" % (path, more)


def body(answer):
    return answer.partition(b"\r\n\r\n")[2]


def said(worker, request, **options):
    """The environment of the request, as the application has it."""
    answer = worker.ask(request, **options)
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n"), answer
    return json.loads(body(answer))


def logged(worker):
    worker.log.seek(0)
    return worker.log.read()


# Requests that others may read otherwise, and the answer.
TWO_MEANINGS = (
    (POST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400),
    (POST + b"Content-Length: 1, 1\r\n\r\na", 400),
    (POST + b"Content-Length: +1\r\n\r\na", 400),
    (POST + b"Content-Length: 1_0\r\n\r\n0123456789", 400),
    (POST + b"Content-Length: 0x1\r\n\r\na", 400),
    (POST + b"Content-Length:\r\n\r\n", 400),
    (POST + b"Content-Length : 1\r\n\r\na", 400),
    (POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
     b"0\r\n\r\n", 400),
    (POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
    (POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n"
     b"\r\n0\r\n\r\n", 501),
    (POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501),
    (b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"
     b"0\r\n\r\n", 400),
    (get(b"/", b" folded: x\r\n"), 400),
    (get(b"/", b"A: b\r\n folded\r\n"), 400),
    (get(b"/", b"A: b\rC: d\r\n"), 400),
    (get(b"/", b"A: b\nC: d\r\n"), 400),
    (get(b"/", b"A: b\0\r\n"), 400),
    (get(b"/", b"no colon\r\n"), 400),
    (get(b"/", b": no name\r\n"), 400),
    (get(b"/", b"Host: y\r\n"), 400),
    (get(b"/").replace(b"x", b"x/y@z"), 400),
    (b"GET / HTTP/1.1\r\n\r\n", 400),
    (b"GET / HTTP/1.1\nHost: x\n\n", 400),
    (b"GET  / HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    (b"GET / x HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    (b"GET / HTTP/1.1 \r\nHost: x\r\n\r\n", 400),
    (b"GET /\tx HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    (b"GET /#x HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    (b"GET x HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    (b"GET http://x@y/ HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    (b"CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    (b"G(T / HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    (b"GET /\r\n\r\n", 400),
    (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
)

BAD_CHUNKS = (
    b"x\r\n\r\n",
    b"-1\r\n\r\n",
    b"\r\n\r\n",
    b"0x3\r\nabc\r\n0\r\n\r\n",
    b"3\nabc\n0\n\n",
    b"3\r\nabcd\r\n0\r\n\r\n",
    b"3 3\r\nabc\r\n0\r\n\r\n",
    b"9" * 16 + b"\r\n",
    b"3;" + b"x" * 2000 + b"\r\nabc\r\n0\r\n\r\n",
    b"3;\rx\r\nabc\r\n0\r\n\r\n",
    b"0\r\nX: y\n\r\n" + GET,
    b"0\r\nX: y\rz\r\n\r\n",
)


def of(ready, **variables):
    """The facts about what ready() starts, whose applications see these too."""

    def an_application_sees_the_request(folder):
        with ready() as worker:
            env = said(
                worker,
                b"POST /a%20b?c=d HTTP/1.1\r\nHost: name:1\r\nX-One: 1\r\n"
                b"X_One: 2\r\nx-one:3\t\r\nCookie: a=1\r\nCookie: b=2\r\n"
                b"Content-Type: text/x\r\nContent-Length: 3\r\n\r\nabc",
            )
        assert env.pop("REMOTE_PORT").isdigit()
        assert env.pop("SERVER_PORT").isdigit()
        assert env == {
            "REQUEST_METHOD": "POST",
            "SCRIPT_NAME": "",
            "QUERY_STRING": "c=d",
            "REQUEST_URI": "/a%20b?c=d",
            "CONTENT_LENGTH": "3",
            "CONTENT_TYPE": "text/x",
            "HTTP_HOST": "name:1",
            "HTTP_X_ONE": "1, 3",
            "HTTP_COOKIE": "a=1; b=2",
            "REMOTE_ADDR": "127.0.0.1",
            "SERVER_NAME": "127.0.0.1",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "body": "abc",
            **variables,
        }

    def an_absolute_target_takes_precedence_over_host(folder):
        with ready() as worker:
            for target, path in (
                ("http://other:2/p/q?r", "/p/q"),
                ("http://other:2", "/"),
                ("https://other:2?r", "/"),
            ):
                env = said(worker, get(target))
                assert (env["HTTP_HOST"], env["PATH_INFO"]) == ("other:2", path)

    def a_client_of_a_unix_socket_is_of_this_machine(folder):
        with socket.socket(socket.AF_UNIX) as listener, ready() as worker:
            listener.bind(f"{folder}/socket")
            listener.listen()
            env = said(worker, GET, listener=listener)
        assert env["REMOTE_ADDR"] == "127.0.0.1"
        assert (env["SERVER_NAME"], env["SERVER_PORT"]) == ("localhost", "80")

    def requests_of_two_meanings_are_refused(folder):
        with ready() as worker:
            for request, status in TWO_MEANINGS:
                assert worker.status(request) == status, request
            assert logged(worker) == b""
            assert worker.status(GET) == 200

    def chunks_that_are_none_are_refused(folder):
        with ready() as worker:
            for chunks in BAD_CHUNKS:
                assert worker.status(CHUNKED + chunks) == 400, chunks

    return {name: fact for name, fact in locals().items()
            if name not in ("ready", "variables")}
