"""Pages for apppool-wsgi: one for each way to send a body, or not to."""


def pieces(start_response, length=None, crash=False):
    headers = [] if length is None else [("Content-Length", str(length))]
    start_response("200 OK", headers)
    yield b"one,"
    yield b""
    yield b"two"
    if crash:
        raise RuntimeError("crashed")


def application(environ, start_response):
    path = environ["PATH_INFO"]
    if path == "/pieces":
        return pieces(start_response)
    if path == "/short":
        return pieces(start_response, 8)
    if path == "/long":
        return pieces(start_response, 5)
    if path == "/crash":
        return pieces(start_response, crash=True)
    if path == "/late":
        # The body is read when the head of the answer has been sent.
        start_response("200 OK", [])(b"late")
        environ["wsgi.input"].read()
        return []
    if path == "/none":
        start_response("304 Not Modified", [])
        return []
    body = b""
    if path != "/unread":
        body = environ["wsgi.input"].read()
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"read %d\n" % len(body)]
