"""`make keep`: what was kept stays, unless its study was run to its end; claims that records answer are answered."""

from __future__ import annotations

import dataclasses
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from bayestopics.runs.record import write
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task

ROOT = Path(__file__).parents[2]
COLUMNS = ["id", "paper", "where", "claim", "ours", "error", "scale", "verdict", "rule"]


def walk(start: int, steps: list[int]) -> Result:
    params = {"kind": "pmmh", "corpus": "lda-20", "sampler": "single-site", "start": start, "inner": 50}
    params |= {"most": 250, "iterations": len(steps)}
    task = Task("number_of_topics", "paper", f"lda-20-from{start}", params, 1, "lda-20", "f00d", "c0de")
    metrics = {"mode": 20, "last_topics": steps[-1], "log_estimate_sd": 100.0, "acceptance_rate": 0.0}
    volatile = {"cpu_seconds": 10.0, "resumed": 0, "platform": "Linux-5.1-of-somebody"}
    trace = pd.DataFrame({"topics": steps, "log_estimate": -1.0, "accepted": False})
    posterior = pd.DataFrame({"topics": [steps[-1]], "probability": 1.0})
    return Result(task, metrics, tables={"trace": trace, "posterior": posterior}, volatile=volatile)


def keep(folder: Path) -> pd.DataFrame:
    """Run it; the kept claims."""
    script = ROOT / "workflow" / "scripts" / "keep.py"
    subprocess.run([sys.executable, script], cwd=folder, check=True)
    kept = folder / "results" / "paper" / "kept"
    return pd.read_csv(kept / "claims.csv", keep_default_na=False).set_index("id")


def test_what_was_kept_stays_and_what_is_new_is_added(tmp_path: Path) -> None:
    (tmp_path / "config").symlink_to(ROOT / "config")
    paper = tmp_path / "results" / "paper"
    for name in ("blocking", "number_of_topics"):
        write(walk(99, [5]), paper / "kept" / name / "records" / "old")
        for table in ("trace", "posterior"):
            (paper / "kept" / name / "records" / "old" / f"{table}.parquet").unlink()
    old = [["B1", "", "", "", "nine", "", "paper", "partly", ""], ["T3", "", "", "", "old", "", "paper", "partly", ""]]
    pd.DataFrame(old, columns=COLUMNS).to_csv(paper / "kept" / "claims.csv", index=False)

    study = paper / "number_of_topics"
    write(walk(200, [*range(199, 29, -1), *(300 * [30])]), study / "lda-20-from200")
    Image.fromarray(np.zeros((4, 4, 3), np.uint8)).save(study / "walks.png")
    claims = keep(tmp_path)
    assert claims["ours"]["B1"] == "nine"  # from before
    assert claims["ours"]["T3"].startswith("T = 30 after 170 steps")  # anew
    assert claims["verdict"]["T1"] == "not answered: not run at this scale: lda-20"
    records = paper / "kept" / "number_of_topics" / "records"
    assert {path.name for path in records.iterdir()} == {"old", "lda-20-from200"}
    volatile = json.loads((records / "lda-20-from200" / "run.json").read_text(encoding="utf-8"))["volatile"]
    assert volatile["platform"] == "Linux"
    assert (records.parent / "walks.png").exists()
    assert (records.parent / "walks-lda-20.png").exists()  # drawn from the record that has a trace
    walks = pd.read_csv(records.parent / "walks.csv").set_index("start")
    assert walks["posterior"].fillna("").to_dict() == {200: "30: 100.00%", 99: ""}  # of both

    shutil.rmtree(study / "lda-20-from200")  # another machine: claims are of what it has and of what is kept
    noise = np.random.default_rng(0).random(20_000)
    steps = np.arange(10_000)  # as long a chain as the paper's
    trace = pd.DataFrame({"step": steps, "topics": 30, "log_estimate": -1e5 - steps // 100, "accepted": False})
    large = {"trace": trace, "noise": pd.DataFrame({"x": noise})}
    wide = walk(30, [31])
    wide.task.params["corpus"] = "lda-20-wide"
    for start, record in (("wide", wide), ("from30", walk(30, [31]))):
        write(dataclasses.replace(record, tables=large), study / f"lda-20-{start}")
    claims = keep(tmp_path)
    assert claims["ours"]["T3"].startswith("T = 30 after 170 steps")
    assert claims["verdict"]["T2"] == "not reproduced"  # from both
    assert {path.name for path in (records / "lda-20-wide").iterdir()} == {"run.json", "trace.parquet"}
    noisy = trace.assign(log_estimate=noise[:10_000])  # too large to be kept, but there
    write(dataclasses.replace(wide, tables={"trace": noisy.assign(topics=20)}), study / "lda-20-wide")
    assert keep(tmp_path)["verdict"]["T2"] == "partly"
    assert {path.name for path in (records / "lda-20-wide").iterdir()} == {"run.json"}
    shutil.rmtree(study / "lda-20-wide")
    shutil.rmtree(study / "lda-20-from30")
    (records / "lda-20-from200" / "trace.parquet").unlink()
    assert keep(tmp_path)["ours"]["T3"].startswith("T = 30 after 170 steps")  # the answer that was kept
    (paper / "kept" / "claims.csv").unlink()
    reason = "not answered: not run at this scale: trace of a record that is kept"
    assert keep(tmp_path)["verdict"]["T3"] == reason

    (study / "published.json").write_text(json.dumps([]))  # run to its end, of which this record is no part
    keep(tmp_path)
    assert not records.exists()
    assert (paper / "kept" / "blocking" / "records" / "old" / "run.json").exists()
