# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, driven through its debugging pipe with nothing but Python's own library."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE = 60  # seconds for one answer


def find():
    """The path of a browser, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Chromium:
    """One browser with one page. Events of the page are kept in `events` as (method, parameters)."""

    def __init__(self, program):
        self.profile = tempfile.mkdtemp(prefix="colshuf-browser-")
        to_browser, self.output = os.pipe()
        self.input, from_browser = os.pipe()
        self.log = open(os.path.join(self.profile, "log"), "wb")
        flags = ["--headless", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe", "--hide-scrollbars",
                 "--disable-dev-shm-usage", f"--user-data-dir={self.profile}/user"]
        if os.geteuid() == 0:
            flags.append("--no-sandbox")
        # The browser reads commands from descriptor 3 and answers on 4; high numbers first, lest one overwrite the other.
        shell = f'exec 13<&{to_browser} 14>&{from_browser}; exec 3<&13 4>&14 13<&- 14>&-; exec "$@"'
        self.process = subprocess.Popen(["bash", "-c", shell, "bash", program, *flags, "about:blank"], stdin=subprocess.DEVNULL,
                                        stdout=self.log, stderr=self.log, pass_fds=(to_browser, from_browser))
        os.close(to_browser)
        os.close(from_browser)
        self.buffer, self.number, self.session, self.events = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.output)
        os.close(self.input)
        self.log.close()
        shutil.rmtree(self.profile, ignore_errors=True)

    def _message(self, until):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.input], [], [], max(0, until - time.monotonic()))
            if not ready:
                raise TimeoutError(f"the browser is silent for {PATIENCE} s: {self._complaint()}")
            chunk = os.read(self.input, 1 << 16)
            if not chunk:
                raise RuntimeError(f"the browser is gone: {self._complaint()}")
            self.buffer += chunk
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def _complaint(self):
        self.log.flush()
        with open(self.log.name, "rb") as log:
            return log.read()[-500:].decode(errors="replace")

    def call(self, method, **parameters):
        """The result of one command."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session is not None:
            message["sessionId"] = self.session
        os.write(self.output, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + PATIENCE
        while True:
            answer = self._message(until)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            if "method" in answer:
                self.events.append((answer["method"], answer.get("params", {})))

    def open(self, path):
        """Loads a local file and waits until all of it is there; what happened before is forgotten."""
        self.events.clear()
        failed = self.call("Page.navigate", url="file://" + os.path.abspath(path)).get("errorText")
        if failed:
            raise RuntimeError(f"{path}: {failed}")
        until = time.monotonic() + PATIENCE
        while not any(method == "Page.loadEventFired" for method, _ in self.events):
            answer = self._message(until)
            if "method" in answer:
                self.events.append((answer["method"], answer.get("params", {})))

    def resize(self, width, height=900):
        """The page as on a screen so many CSS pixels wide; a narrow one is a telephone's."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)

    def medium(self, medium="screen", scheme="light"):
        self.call("Emulation.setEmulatedMedia", media=medium, features=[{"name": "prefers-color-scheme", "value": scheme}])

    def run(self, script):
        """The value of a JavaScript expression."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def screenshot(self, path):
        """All of the page, also what is below the fold, as PNG."""
        picture = base64.b64decode(self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"])
        with open(path, "wb") as out:
            out.write(picture)
        return picture

    def pdf(self, path, **options):
        """The page as printed on A4."""
        document = base64.b64decode(self.call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69, printBackground=False, **options)["data"])
        with open(path, "wb") as out:
            out.write(document)
        return document
