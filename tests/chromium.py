"""A page in headless Chromium, for the tests of the pages that users open."""

from __future__ import annotations

import base64
import json
import os
import select
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from killing import PATIENCE

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium, chromium-browser or google-chrome on the PATH"
)

OPTIONS = shlex.split("""--headless --remote-debugging-pipe --window-size=2200,1500 --no-sandbox --disable-gpu
    --disable-quic --disable-dev-shm-usage --disable-background-networking --disable-component-update --disable-sync
    --no-first-run --no-proxy-server '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1'""")
# Chromium reads commands from descriptor 3, and writes answers and events to descriptor 4
LAUNCH = "import os, sys; [os.dup2(int(sys.argv[n]), n + 2) for n in (1, 2)]; os.execv(sys.argv[3], sys.argv[3:])"


def eventually(look: Callable, complaint: Callable[[], str]):
    """Wait until `look` returns something true, and return it."""
    deadline = time.monotonic() + PATIENCE
    while not (value := look()):
        assert time.monotonic() < deadline, complaint()
        time.sleep(0.2)
    return value


def stop(process: subprocess.Popen) -> None:
    """End the leader of a session, and whatever it has left running."""
    process.terminate()
    try:
        process.wait(PATIENCE)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


class Page:
    """A page in a Chromium of its own, driven by the DevTools protocol: JSON messages that end in NUL, over pipes."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.session, self.events, self.sent, self.unread = folder, {}, [], 0, b""
        commands, self.commands = os.pipe()
        self.messages, messages = os.pipe()
        launch = [sys.executable, "-c", LAUNCH, str(commands), str(messages), str(CHROMIUM)]
        self.process = subprocess.Popen(
            [*launch, *OPTIONS, f"--user-data-dir={folder / 'profile'}"],
            pass_fds=(commands, messages),
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(commands)
        os.close(messages)

    def attach(self) -> None:
        """Make the page, and listen to it."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = {"sessionId": self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]}
        for domain in ("Page", "Runtime", "Network"):
            self.call(f"{domain}.enable")

    def close(self) -> None:
        stop(self.process)
        os.close(self.commands)
        os.close(self.messages)

    def call(self, method: str, **params) -> dict:
        """Send a command; returns its result. Events that come meanwhile are kept."""
        self.sent += 1
        message = {"id": self.sent, "method": method, "params": params, **self.session}
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while (answer := self.receive()).get("id") != self.sent:
            self.events.append(answer)
        return answer["result"]

    def receive(self) -> dict:
        while b"\0" not in self.unread:
            ready, _, _ = select.select([self.messages], [], [], PATIENCE)
            more = os.read(self.messages, 1 << 20) if ready else b""
            assert more, "Chromium has ended, or hangs"
            self.unread += more
        message, _, self.unread = self.unread.partition(b"\0")
        return json.loads(message)

    def open(self, address: str) -> None:
        self.call("Page.navigate", url="about:blank")  # addresses that differ only after the # are one page
        eventually(lambda: "errorText" not in self.call("Page.navigate", url=address), lambda: f"no {address}")

    def evaluate(self, script: str):
        """The value of a JavaScript expression; None if it throws, as it may while the page is still being built."""
        return self.call("Runtime.evaluate", expression=script, returnByValue=True)["result"].get("value")

    def wait(self, script: str):
        """The value of the expression, once it is true."""
        return eventually(lambda: self.evaluate(script), lambda: f"{script}\nis not true of\n{self.text()}")

    def click(self, element: str) -> None:
        self.wait(f"Boolean({element})")
        self.evaluate(f"({element}).focus(), ({element}).click()")

    def text(self) -> str:
        """All text that is laid out, frames included."""
        snapshot = self.call("DOMSnapshot.captureSnapshot", computedStyles=[])
        laid_out = [index for document in snapshot["documents"] for index in document["layout"]["text"]]
        return "\n".join(snapshot["strings"][index] for index in laid_out if index >= 0)

    def screenshot(self, name: str) -> None:
        image = base64.b64decode(self.call("Page.captureScreenshot")["data"])
        for folder in filter(None, (self.folder, os.environ.get("BAYESTOPICS_SCREENSHOTS"))):
            Path(folder).mkdir(parents=True, exist_ok=True)
            (Path(folder) / f"{name}.png").write_bytes(image)

    def heard(self, method: str) -> list[dict]:
        return [event["params"] for event in self.events if event["method"] == method]

    def errors(self) -> list[dict]:
        """Uncaught exceptions, and what the page itself calls an error on the console."""
        said = [event for event in self.heard("Runtime.consoleAPICalled") if event["type"] == "error"]
        return self.heard("Runtime.exceptionThrown") + said
