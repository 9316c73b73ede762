"""A page in Debian's Chromium, which tests look at.

    browser.py serve SOCKET URL     opens the page, until it is killed
    browser.py SOCKET eval JS       the value of an expression, as text
    browser.py SOCKET shot FILE     a picture of the whole page
    browser.py SOCKET size W H      another window; 0 0: as at first
    browser.py SOCKET dark|light    the colours that the user prefers
    browser.py SOCKET errors        what the console was told of errors
    browser.py SOCKET hosts         the hosts that were asked for anything
    browser.py program              the path of the browser; 1: there is none

The browser is told what to do by the DevTools protocol, over two pipes.
"""
import base64
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import urllib.parse

PROGRAMS = ("chromium-headless-shell", "chromium")


def program():
    for name in PROGRAMS:
        path = shutil.which(name)
        if path:
            return path
    sys.exit(1)


class Browser:
    """A page; its requests and complaints are kept."""

    def __init__(self, folder):
        to_it, ours = os.pipe()
        from_it, its = os.pipe()
        self.to, self.answers = ours, os.fdopen(from_it, "rb")
        self.number, self.rest = 0, b""
        self.errors, self.hosts = [], set()

        def give_pipes():
            # Neither may be where the other one is wanted.
            high = [os.dup2(fd, 100 + fd) for fd in (to_it, its)]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.process = subprocess.Popen(
            [program(), "--headless", "--remote-debugging-pipe",
             "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--no-first-run", "--disable-background-networking",
             "--no-proxy-server", "--user-data-dir=" + folder, "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, close_fds=False,
            preexec_fn=give_pipes, env=dict(os.environ, HOME=folder))
        os.close(to_it)
        os.close(its)
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")
        self.session = self.call("Target.attachToTarget", flatten=True,
                                 targetId=target["targetId"])["sessionId"]
        for part in ("Page", "Runtime", "Log", "Network"):
            self.call(part + ".enable")

    def receive(self):
        while b"\0" not in self.rest:
            part = os.read(self.answers.fileno(), 65536)
            if not part:
                raise SystemExit("the browser has ended")
            self.rest += part
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(answer["error"]["message"])
                return answer["result"]
            self.note(answer)

    def note(self, event):
        params = event.get("params", {})
        if event["method"] == "Runtime.exceptionThrown":
            self.errors.append(params["exceptionDetails"]["text"])
        elif event["method"] == "Runtime.consoleAPICalled":
            if params["type"] in ("error", "warning", "assert"):
                self.errors.append(str(params["args"]))
        elif event["method"] == "Log.entryAdded":
            if params["entry"]["level"] in ("error", "warning"):
                self.errors.append(params["entry"]["text"])
        elif event["method"] == "Network.requestWillBeSent":
            url = urllib.parse.urlsplit(params["request"]["url"])
            if url.scheme != "data":
                self.hosts.add(url.netloc)

    # Functions for tests.

    def eval(self, expression):
        result = self.call("Runtime.evaluate", expression=expression,
                           returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            return "exception: " + details.get("exception", {}).get(
                "description", details["text"])
        value = result["result"].get("value")
        return value if isinstance(value, str) else json.dumps(value)

    def shot(self, path):
        picture = self.call("Page.captureScreenshot",
                            captureBeyondViewport=True)
        with open(path, "wb") as file:
            file.write(base64.b64decode(picture["data"]))
        return ""

    def size(self, width, height):
        if width == "0":
            self.call("Emulation.clearDeviceMetricsOverride")
        else:
            self.call("Emulation.setDeviceMetricsOverride", width=int(width),
                      height=int(height), deviceScaleFactor=1,
                      mobile=int(width) < 600)
        return ""

    def prefer(self, colours):
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": colours}])
        return ""

    def do(self, words):
        self.call("Runtime.evaluate", expression="0")  # takes events in
        if words[0] == "errors":
            return "\n".join(self.errors)
        if words[0] == "hosts":
            return "\n".join(sorted(self.hosts))
        if words[0] in ("dark", "light"):
            return self.prefer(words[0])
        return getattr(self, words[0])(*words[1:])


def serve(path, url):
    with tempfile.TemporaryDirectory() as folder:
        browser = Browser(folder)
        browser.call("Page.navigate", url=url)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen()
            while True:
                client, _ = listener.accept()
                with client, client.makefile("rw") as file:
                    try:
                        said = browser.do(json.loads(file.readline()))
                    except Exception as e:  # for the test to see
                        said = "exception: %r" % e
                    file.write(said)


def ask(path, words):
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(60)
        s.connect(path)
        with s.makefile("rw") as file:
            file.write(json.dumps(words) + "\n")
            file.flush()
            print(file.read())


if sys.argv[1] == "program":
    print(program())
elif sys.argv[1] == "serve":
    serve(*sys.argv[2:])
else:
    ask(sys.argv[1], sys.argv[2:])
