"""A page by WSGI: see gunicorn.conf and wsgi.conf. It knows nothing of apppoold(8)."""

import os


def application(environ, start_response):
    body = f"process {os.getpid()}: {environ['PATH_INFO']}\n".encode()
    start_response(
        "200 OK",
        [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))],
    )
    return [body]
