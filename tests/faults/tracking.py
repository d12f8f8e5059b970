"""Publishing through faults: PostgreSQL and `mlflow server`, killed and started again in the middle.

    python tests/faults/tracking.py [--records 31] [--seed 1]

It needs PostgreSQL's programs (Debian: postgresql) and the package psycopg2-binary. Several publishers send the same
records at the same time. The server, then the database, then a publisher are killed; who fails is started again, as
`make publish` would. In the end every record is one run, with every point of its curves once.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.request import urlopen

sys.path.insert(0, str(Path(__file__).parents[1]))

MOST_SECONDS = 30  # to publish the records, undisturbed, in CPU seconds of this process and of the server
PATIENCE = 300
PUBLISH = """
import sys, pathlib
from bayestopics.runs.publish import publish_list
study, out, *folders = sys.argv[1:]
problem = publish_list(pathlib.Path(out), {"a corpus": {"study": study, "records": folders, "shown": []}})
sys.exit(problem)
"""


def free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        return int(free.getsockname()[1])


def as_somebody(command: list[str]) -> list[str]:
    """PostgreSQL refuses to run as root."""
    return ["runuser", "-u", "postgres", "--", *command] if os.geteuid() == 0 else command


class Database:
    def __init__(self, folder: Path) -> None:
        where = shutil.which("initdb") or max(map(str, Path("/usr/lib/postgresql").glob("*/bin/initdb")), default=None)
        if where is None:
            sys.exit("PostgreSQL is not installed (Debian: apt-get install postgresql)")
        self.programs, self.folder, self.port = Path(where).resolve().parent, folder / "database", free_port()
        self.folder.mkdir()
        folder.chmod(0o755)
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres")
        quiet = {"stdout": subprocess.DEVNULL, "cwd": "/"}
        subprocess.run(as_somebody([where, "-A", "trust", "-U", "tracking", str(self.folder)]), check=True, **quiet)
        self.start()
        create = [str(self.programs / "createdb"), "-h", "127.0.0.1", "-p", str(self.port), "-U", "tracking", "mlflow"]
        subprocess.run(as_somebody(create), check=True, **quiet)
        self.uri = f"postgresql://tracking@127.0.0.1:{self.port}/mlflow"

    def control(self, *words: str) -> None:
        command = [str(self.programs / "pg_ctl"), "-D", str(self.folder), "-s", "-w", *words]
        subprocess.run(as_somebody(command), check=True, cwd="/", stdout=subprocess.DEVNULL)

    def start(self) -> None:
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self.folder}"
        self.control("start", "-o", options, "-l", str(self.folder / "log"))

    def crash(self) -> None:
        self.control("stop", "-m", "immediate")  # without writing anything


class Server:
    def __init__(self, database: Database, folder: Path) -> None:
        self.port, self.folder, self.database = free_port(), folder, database
        self.address = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        where = ["--host", "127.0.0.1", "--port", str(self.port), "--artifacts-destination", str(self.folder / "files")]
        command = [sys.executable, "-m", "mlflow", "server", "--workers", "1", *where]
        quiet = {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"}
        self.process = subprocess.Popen(
            [*command, "--backend-store-uri", self.database.uri],
            env=os.environ | quiet | {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            with suppress(OSError):
                urlopen(f"{self.address}/health", timeout=5).close()
                return
            time.sleep(0.2)
        raise RuntimeError("the server does not answer")

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def cpu_seconds(self) -> float:
        import psutil

        family = [one for one in psutil.process_iter() if _session(one.pid) == self.process.pid]
        return sum(sum(one.cpu_times()[:2]) for one in family)


def _session(pid: int) -> int:
    with suppress(OSError):
        return os.getsid(pid)
    return 0


def make_records(folder: Path, study: str, number: int) -> list[Path]:
    """Records of two chains with three curves of 400 points."""
    import numpy as np
    import pandas as pd

    from bayestopics.runs.record import write
    from made_up import record

    sweeps = np.arange(400)
    chains = [{"chain": chain, "sweep": sweeps, "log_joint": -1e5 + sweeps + chain, "x": sweeps % 7, "y": sweeps % 5}
              for chain in (0, 1)]  # fmt: skip
    trace = pd.concat([pd.DataFrame(chain) for chain in chains])
    volatile = {"finished": "2024-03-01T12:00:05Z", "wall_seconds": 1.0}
    for name in (f"run-{one}" for one in range(number)):
        made = record("k", name, {"topics": 4}, {"log_joint": 0.5}, study=study, trace=trace)
        write(dataclasses.replace(made, volatile=volatile), folder / study / name)
    return sorted((folder / study).iterdir())


def publisher(study: str, folders: list[Path], out: Path, server: Server) -> subprocess.Popen:
    environment = os.environ | {"MLFLOW_TRACKING_URI": server.address}
    words = [study, str(out), *map(str, folders)]
    return subprocess.Popen([sys.executable, "-c", PUBLISH, *words], env=environment, stderr=subprocess.PIPE, text=True)


def runs_in(server: Server, study: str) -> list[Any]:
    from mlflow import MlflowClient

    client = MlflowClient(server.address)
    experiment = client.get_experiment_by_name(f"bayestopics/{study}")
    return list(client.search_runs([experiment.experiment_id], max_results=5000)) if experiment else []


def check(server: Server, study: str, folders: list[Path]) -> None:
    """Every record is one finished run with all its points; nothing else is there but the parent."""
    from mlflow import MlflowClient

    from bayestopics.runs.publish import IDENTITY, POINTS
    from bayestopics.runs.record import read

    found = Counter(run.data.tags.get(IDENTITY, "parent") for run in runs_in(server, study))
    assert found == Counter([read(folder).key for folder in folders] + ["parent"]), found.most_common(3)
    assert {run.info.status for run in runs_in(server, study)} == {"FINISHED"}
    client = MlflowClient(server.address)
    for run in runs_in(server, study):
        if IDENTITY in run.data.tags:
            assert len(client.get_metric_history(run.info.run_id, "trace/log_joint/chain 1")) == POINTS
            assert [one.path for one in client.list_artifacts(run.info.run_id)] == ["run.json"]


def undisturbed(server: Server, folders: list[Path], folder: Path) -> None:
    begin, before = time.monotonic(), os.times()
    server_before = server.cpu_seconds()
    process = publisher("undisturbed", folders, folder / "out.json", server)
    _, said = process.communicate()
    assert process.returncode == 0, said
    used = sum(os.times()[2:4]) - sum(before[2:4]) + server.cpu_seconds() - server_before
    check(server, "undisturbed", folders)
    print(f"undisturbed: {len(folders)} records in {time.monotonic() - begin:.1f} s, {used:.1f} s of CPU", flush=True)
    assert used < MOST_SECONDS


def disturbed(study: str, server: Server, folders: list[Path], folder: Path, disturb: Any) -> None:
    """Three publishers at once and a disturbance in their middle; who fails is started again."""
    running = {one: publisher(study, folders, folder / f"{study}-{one}.json", server) for one in range(3)}
    deadline = time.monotonic() + PATIENCE
    while len(runs_in(server, study)) < 4:
        assert time.monotonic() < deadline, "nothing is published"
        time.sleep(0.05)
    time.sleep(random.random())
    at = len(runs_in(server, study))
    disturb(running)
    failed, said = 0, ""
    while running:
        one, process = running.popitem()
        _, errors = process.communicate(timeout=PATIENCE)
        if process.returncode:
            failed, said = failed + 1, errors.strip()
            assert process.returncode < 0 or said.count("\n") == 0, said
            running[one] = publisher(study, folders, folder / f"{study}-{one}.json", server)
    removed = sweep(server, study)
    check(server, study, folders)
    print(f"{study}: disturbed at {at} runs, {failed} publishers failed and were started again, {removed} runs left "
          f"over; every record is one run. The last failure: {said[:150]}", flush=True)  # fmt: skip


def sweep(server: Server, study: str) -> int:
    """Remove at once what a killed publisher left, which others would do ten minutes later."""
    from mlflow import MlflowClient

    from bayestopics.runs.store import Experiment

    before = len(runs_in(server, study))
    Experiment(MlflowClient(server.address), f"bayestopics/{study}", None, 0)
    return before - len(runs_in(server, study))


def out_of_reach(server: Server, folders: list[Path], folder: Path) -> None:
    server.kill()
    begin = time.monotonic()
    process = publisher("later", folders, folder / "later.json", server)
    _, said = process.communicate()
    print(f"out of reach: said in {time.monotonic() - begin:.1f} s: {said.strip()}", flush=True)
    assert process.returncode == 1
    assert said.count("\n") == 1
    server.start()
    assert publisher("later", folders, folder / "later.json", server).wait() == 0
    check(server, "later", folders)


def deleted(server: Server, folders: list[Path], folder: Path) -> None:
    from mlflow import MlflowClient

    client, runs = MlflowClient(server.address), runs_in(server, "later")
    for run in runs[: len(runs) // 2]:
        client.delete_run(run.info.run_id)
    assert publisher("later", folders, folder / "later.json", server).wait() == 0
    check(server, "later", folders)
    client.delete_experiment(client.get_experiment_by_name("bayestopics/later").experiment_id)
    assert publisher("later", folders, folder / "later.json", server).wait() == 0
    check(server, "later", folders)
    print(f"deleted: {len(runs) // 2} runs, then the experiment; both are there again", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=31)
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    options = parser.parse_args()
    random.seed(options.seed)
    os.environ["MLFLOW_HTTP_REQUEST_MAX_RETRIES"] = "2"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        database = Database(folder)
        server = Server(database, folder)

        def kill_server(_: Any) -> None:
            server.kill()
            time.sleep(1)
            server.start()

        def crash_database(_: Any) -> None:
            database.crash()
            time.sleep(1)
            database.start()

        def kill_publisher(running: dict[int, subprocess.Popen]) -> None:
            running[0].kill()

        def nothing(_: Any) -> None:
            pass

        try:
            studies = {"server-killed": kill_server, "database-crashed": crash_database,
                       "publisher-killed": kill_publisher, "at-once": nothing}  # fmt: skip
            made = {one: make_records(folder, one, options.records) for one in ("undisturbed", *studies, "later")}
            undisturbed(server, made["undisturbed"], folder)
            for study, disturb in studies.items():
                disturbed(study, server, made[study], folder, disturb)
            out_of_reach(server, made["later"], folder)
            deleted(server, made["later"], folder)
        finally:
            server.kill()
            database.crash()
    print("tracking: every record once, through every fault")
    return 0


if __name__ == "__main__":
    sys.exit(main())
