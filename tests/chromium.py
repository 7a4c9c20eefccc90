# SPDX-License-Identifier: Apache-2.0
"""Headless Chromium by its DevTools protocol over two pipes, with the standard library alone."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")
TIMEOUT_S = 60


def find():
    """The path of the program, or None."""
    named = os.environ.get("HALFTONE_CHROMIUM")
    for name in (named,) if named else PROGRAMS:
        path = shutil.which(name)
        if path:
            return path
    return None


class Failure(Exception):
    """The browser answered with an error, or not in time."""


class Chromium:
    """The browser while it runs, with this machine as its network and a profile of its own."""

    def __init__(self, program):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_read, self.to = os.pipe()
        self.answers, from_write = os.pipe()
        # The browser reads commands from descriptor 3 and writes answers to 4.
        command = ["sh", "-c", f'exec "$@" 3<&{to_read} 4>&{from_write}', "sh", program,
                   "--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu",
                   "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
                   "--disable-component-update", "--disable-sync", "--hide-scrollbars",
                   "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream",
                   "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
                   f"--user-data-dir={self.profile.name}", "about:blank"]
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(command, pass_fds=(to_read, from_write),
                                        stdout=self.log, stderr=self.log)
        os.close(to_read)
        os.close(from_write)
        self.buffer = b""
        self.last_id = 0
        self.events = []

    def __enter__(self):
        return self

    def __exit__(self, *error):
        try:
            self.call("Browser.close")
            self.process.wait(10)
        except (Failure, OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.to)
        os.close(self.answers)
        self.log.close()
        self.profile.cleanup()

    def receive(self, deadline):
        """The next message."""
        while b"\0" not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.answers], [], [], left)[0]:
                raise Failure("no answer of the browser in time")
            part = os.read(self.answers, 1 << 20)
            if not part:
                self.log.seek(0)
                raise Failure("the browser ended: " + self.log.read().decode(errors="replace"))
            self.buffer += part
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)

    def call(self, method, session=None, **parameters):
        """The result of a command; events on the way are kept."""
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            answer = self.receive(deadline)
            if answer.get("id") != self.last_id:
                self.events.append(answer)
            elif "error" in answer:
                raise Failure(f"{method}: {answer['error']}")
            else:
                return answer["result"]

    def wait_for(self, session, method):
        """Waits for an event, which may be among those that came."""
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            for event in self.events:
                if event.get("sessionId") == session and event.get("method") == method:
                    self.events.remove(event)
                    return event["params"]
            self.events.append(self.receive(deadline))

    def page(self):
        return Page(self)


class Page:
    """A tab. What it logs, throws and asks for is kept: problems(), requests()."""

    def __init__(self, browser):
        self.browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        attached = browser.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def set_size(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)

    def set_dark(self, is_dark):
        scheme = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def set_scripts(self, are_on):
        self.call("Emulation.setScriptExecutionDisabled", value=not are_on)

    def open(self, url):
        """Loads an address and waits until it is shown; returns the seconds that this took."""
        begin = time.monotonic()
        answer = self.call("Page.navigate", url=url)
        if "errorText" in answer:
            raise Failure(f"{url}: {answer['errorText']}")
        self.browser.wait_for(self.session, "Page.loadEventFired")
        return time.monotonic() - begin

    def evaluate(self, expression):
        """The value of an expression of JavaScript."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in answer:
            raise Failure(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def html(self):
        """The document as the browser understood it, also where scripts are off."""
        root = self.call("DOM.getDocument")["root"]["nodeId"]
        return self.call("DOM.getOuterHTML", nodeId=root)["outerHTML"]

    def count(self, selector):
        """How many elements a selector finds, also where scripts are off."""
        root = self.call("DOM.getDocument")["root"]["nodeId"]
        return len(self.call("DOM.querySelectorAll", nodeId=root, selector=selector)["nodeIds"])

    def press(self, key, code=None, text=""):
        """Presses a key of the keyboard."""
        virtual = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32}[key]
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=code or key, text=text,
                      windowsVirtualKeyCode=virtual)

    def screenshot(self):
        """The bytes of a PNG file of what the window shows."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def events(self, method):
        return [event["params"] for event in self.browser.events
                if event.get("sessionId") == self.session and event.get("method") == method]

    def problems(self):
        """What the page threw, and what is in its console, whatever the level."""
        self.evaluate("1")  # what was logged before has come
        return [*self.events("Runtime.exceptionThrown"), *self.events("Runtime.consoleAPICalled"),
                *self.events("Log.entryAdded")]

    def requests(self):
        """The addresses that the page asked for, without those that hold their data."""
        addresses = [event["request"]["url"] for event in self.events("Network.requestWillBeSent")]
        return [address for address in addresses if not address.startswith("data:")]
