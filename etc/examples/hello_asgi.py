"""A page by ASGI: see uvicorn.conf. It knows nothing of apppoold(8)."""

import os


async def application(scope, receive, send):
    page = f"process {os.getpid()}: {scope.get('path')}\n"
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
        await send({"type": "websocket.send", "text": page})
        await send({"type": "websocket.close"})
        return
    assert scope["type"] == "http"
    await send({
        "type": "http.response.start",
        "status": 200,
        "headers": [(b"content-type", b"text/plain")],
    })
    await send({"type": "http.response.body", "body": page.encode()})
