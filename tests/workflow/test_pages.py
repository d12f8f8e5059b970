"""The pages that users open, in headless Chromium: the Snakemake report, and the MLflow UI on the finished runs."""

import base64
import json
import os
import re
import select
import shlex
import shutil
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest

from conftest import PATIENCE, eventually, stop

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium, chromium-browser or google-chrome on the PATH")

OPTIONS = shlex.split("""--headless --remote-debugging-pipe --window-size=2200,1500 --no-sandbox --disable-gpu
    --disable-quic --disable-dev-shm-usage --disable-background-networking --disable-component-update --disable-sync
    --no-first-run --no-proxy-server '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1'""")
# Chromium reads commands from descriptor 3, and writes answers and events to descriptor 4
LAUNCH = "import os, sys; [os.dup2(int(sys.argv[n]), n + 2) for n in (1, 2)]; os.execv(sys.argv[3], sys.argv[3:])"


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


@pytest.fixture
def page(tmp_path):
    with closing(Page(tmp_path)) as page:
        page.attach()
        yield page


@contextmanager
def mlflow_server(project):
    """The address of an MLflow server on the project's store; it takes a while to answer."""
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    place = ["--backend-store-uri", "sqlite:///results/mlflow.db", "--host", "127.0.0.1", "--port", str(port)]
    quiet = {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    server = subprocess.Popen(
        [sys.executable, "-m", "mlflow", "server", "--workers", "1", *place],
        cwd=project.folder,
        env=project.environment | quiet,
        start_new_session=True,
    )
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        stop(server)


# The path of the result on show, once its figure is decoded or its frame is there.
ON_SHOW = """(shown => shown.src === results[app.state.resultPath].data_uri
    && (shown.tagName === 'IFRAME' || shown.naturalWidth > 500) && app.state.resultPath
)(document.querySelector('#app iframe') || [...document.querySelectorAll('#app img')].pop())"""


def test_the_report_shows_every_result(finished, page):
    finished.snakemake("--report", "results/smoke/report.html")
    page.open((finished.folder / "results" / "smoke" / "report.html").as_uri())
    categories = page.wait("document.querySelector('nav li a') && Object.keys(categories)")
    assert {"Corpora", "First look", "Claims"} <= set(categories)
    shown = []
    for category in categories:
        page.click("document.querySelector('nav ol a')")  # home
        page.click(f"[...document.querySelectorAll('nav li a')].find(a => a.innerText.trim() === '{category}')")
        for row in range(page.wait("document.querySelectorAll('nav tbody tr').length")):
            page.click(f"document.querySelectorAll('nav tbody tr')[{row}].querySelector('a[iconname=eye]')")
            path = finished.folder / page.wait(ON_SHOW)
            if path.suffix == ".html":
                heading = re.search("<h1>(.+?)</h1>", path.read_text())[1]
                eventually(lambda heading=heading: heading in page.text(), page.text)
            page.screenshot(f"report-{path.parent.name}-{path.stem}")
            shown.append(str(path.relative_to(finished.folder)))
    assert sorted(shown) == sorted(page.evaluate("Object.keys(results)"))
    assert page.evaluate("Object.keys(results).filter(path => !results[path].caption)") == []
    assert page.errors() == []
    # one file that needs nothing from elsewhere
    addresses = [event["request"]["url"] for event in page.heard("Network.requestWillBeSent")]
    assert {address.split(":")[0] for address in addresses} == {"file", "data"}


# Metric -> the number of runs that its chart shows, as lines (each has its run's uuid) or as bars.
CHARTS = """Object.fromEntries([...document.querySelectorAll('.js-plotly-plot')].map(plot => [
    plot.closest('[data-testid=experiment-view-compare-runs-card]').innerText.split('\\n')[0],
    new Set(plot.data.filter(drawn => drawn.y.length > 1).flatMap(drawn => drawn.uuid ?? drawn.y)).size]))"""


def test_the_mlflow_ui_lists_the_runs_and_charts_their_metrics(finished, page):
    ours = "run_uuid in (select run_uuid from tags where key = 'study' and value = 'first_look')"  # not the parent runs
    with closing(sqlite3.connect(finished.folder / "results" / "mlflow.db")) as store:
        ((experiment,),) = store.execute("select experiment_id from experiments where name = 'bayestopics/first_look'")
        names = [name for (name,) in store.execute(f"select name from runs where {ours}")]
        metrics = [key for (key,) in store.execute(f"select distinct key from latest_metrics where {ours}")]
    metrics = [key for key in metrics if re.search("log_joint|perplexity", key)]
    assert {"main/perplexity", "trace/log_joint"} <= set(metrics)
    with mlflow_server(finished) as address:
        runs = f"{address}/#/experiments/{experiment}/runs?workflowType=machine_learning"
        runs += "&searchFilter=" + quote("tags.study = 'first_look'")
        page.open(runs)
        page.wait(f"{names}.every(name => document.body.innerText.includes(name))")
        page.screenshot("mlflow-runs")
        page.open(f"{runs}&compareRunsMode=CHART")
        page.click("document.querySelector('input[placeholder=\"Search metric charts\"]')")
        page.call("Input.insertText", text="log_joint|perplexity")
        page.wait(f"(charts => {metrics}.every(metric => charts[metric] === {len(names)}))({CHARTS})")
        page.screenshot("mlflow-charts")
    assert page.errors() == []
