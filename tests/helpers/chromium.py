"""A headless Chromium that tests drive by the DevTools protocol, over a pipe: https://chromedevtools.github.io."""

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import time

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
]
KEYS = {
    "Tab": 9,
    "Enter": 13,
    " ": 32,
    "ArrowLeft": 37,
    "ArrowUp": 38,
    "ArrowRight": 39,
    "ArrowDown": 40,
    "End": 35,
}


class Chromium:
    """One page in one browser; a context manager. Every call waits at most `patience` seconds for its answer."""

    def __init__(self, profile, patience=60.0):
        self.patience, self.numbers, self.rest, self.events = patience, itertools.count(1), b"", []
        command_out, self.out = os.pipe()
        self.back, answer_in = os.pipe()
        words = [
            BROWSER,
            *FLAGS,
            f"--user-data-dir={profile}",
            "--remote-debugging-pipe",
            "about:blank",
        ]
        self.process = subprocess.Popen(  # which reads commands from 3 and writes answers to 4
            ["bash", "-c", f'exec "$@" 3<&{command_out} 4>&{answer_in}', "bash", *words],
            pass_fds=(command_out, answer_in),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(command_out), os.close(answer_in)
        self.session = None
        page = next(
            one for one in self("Target.getTargets")["targetInfos"] if one["type"] == "page"
        )
        self.session = self("Target.attachToTarget", targetId=page["targetId"], flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self(f"{domain}.enable")
        self("Emulation.setFocusEmulationEnabled", enabled=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.out), os.close(self.back)

    def __call__(self, method, **words):
        """The answer to a command; what the page reports meanwhile is kept in `events`."""
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": words}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == number:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]
            self.events.append(answer)

    def _message(self):
        end = time.monotonic() + self.patience
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.back], [], [], max(end - time.monotonic(), 0))
            assert ready, "the browser does not answer"
            more = os.read(self.back, 1 << 20)
            assert more, "the browser has ended"
            self.rest += more
        first, _, self.rest = self.rest.partition(b"\0")
        return json.loads(first)

    def open(self, address, width=1200, height=900, media="screen", dark=False):
        """Load a page at a width of so many CSS pixels."""
        self(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 700,
        )
        scheme = "dark" if dark else "light"
        self(
            "Emulation.setEmulatedMedia",
            media=media,
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )
        self.events.clear()
        self("Page.navigate", url=address)
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._message())

    def run(self, script):
        """The value of an expression in the page; promises are waited for."""
        answer = self("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key, times=1):
        """Press a key."""
        for _ in range(times):
            for kind in ("rawKeyDown", "keyUp"):
                self(
                    "Input.dispatchKeyEvent",
                    type=kind,
                    key=key,
                    code=key,
                    windowsVirtualKeyCode=KEYS[key],
                )
            if key in (" ", "Enter"):
                self("Input.dispatchKeyEvent", type="char", text="\r" if key == "Enter" else key)

    def picture(self, whole=False):
        """A PNG of what is in view, or of the whole page."""
        size = self("Page.getLayoutMetrics")["cssContentSize"]
        words = {"captureBeyondViewport": True, "clip": {**size, "scale": 1}} if whole else {}
        return base64.b64decode(self("Page.captureScreenshot", format="png", **words)["data"])

    def asked_for(self):
        """Addresses that the page asked for since it was opened, itself included; not what its policy stopped."""

        def of(method):
            return [
                event["params"]
                for event in self.events
                if event.get("method") == f"Network.{method}"
            ]

        stopped = {
            one["requestId"] for one in of("loadingFailed") if one.get("blockedReason") == "csp"
        }
        return [
            url
            for one in of("requestWillBeSent")
            if not (url := one["request"]["url"]).startswith("data:")
            and one["requestId"] not in stopped
        ]
