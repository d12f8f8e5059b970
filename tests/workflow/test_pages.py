"""The pages that users open, in headless Chromium: the Snakemake report, and the MLflow UI on the finished runs."""

import re
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing, contextmanager
from urllib.parse import quote

from chromium import eventually, needs_chromium, stop

pytestmark = needs_chromium


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
    metrics = ["main/perplexity", "trace/log_joint"]
    with mlflow_server(finished) as address:
        runs = f"{address}/#/experiments/{experiment}/runs?workflowType=machine_learning"
        runs += "&searchFilter=" + quote("tags.study = 'first_look'")
        page.open(runs)
        page.wait(f"{names}.every(name => document.body.innerText.includes(name))")
        page.screenshot("mlflow-runs")
        page.open(f"{runs}&compareRunsMode=CHART")
        page.click("document.querySelector('input[placeholder=\"Search metric charts\"]')")
        page.call("Input.insertText", text="|".join(metrics))
        page.wait(f"(charts => {metrics}.every(metric => charts[metric] === {len(names)}))({CHARTS})")
        page.screenshot("mlflow-charts")
    assert page.errors() == []
