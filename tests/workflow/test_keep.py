"""`make keep` adds new records to the kept ones; what the records no longer give stays and is marked as old."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd

from bayestopics.runs.record import write
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task
from bayestopics.studies.kept import read_kept

ROOT = Path(__file__).parents[2]
COLUMNS = ["id", "ours", "error", "verdict"]
FROM_200, FROM_30, WIDE = (
    "lda-20-pmmh-single-site-m50-from200",
    "lda-20-pmmh-single-site-m50-from30",
    "lda-20-wide-pmmh-single-site-m50-from30",
)


def walk(name: str, steps: list[int]) -> Result:
    corpus, _, start = name.partition("-pmmh")[0], *name.rpartition("from")[1:]
    params = {"kind": "pmmh", "corpus": corpus, "sampler": "single-site", "start": int(start), "inner": 50}
    params |= {"most": 250, "iterations": len(steps)}
    task = Task("number_of_topics", "paper", name, params, 1, corpus, "f00d", "c0de")
    metrics = {"mode": 20, "last_topics": steps[-1], "log_estimate_sd": 100.0, "acceptance_rate": 0.0}
    volatile = {"cpu_seconds": 10.0, "resumed": 0, "platform": "Linux-5.1-of-somebody"}
    trace = pd.DataFrame({"topics": steps, "log_estimate": -1.0, "accepted": False})
    posterior = pd.DataFrame({"topics": [steps[-1]], "probability": 1.0})
    return Result(task, metrics, tables={"trace": trace, "posterior": posterior}, volatile=volatile)


def keep(folder: Path, *options: str) -> pd.DataFrame:
    """Run it and return the kept claims."""
    script = ROOT / "workflow" / "scripts" / "keep.py"
    subprocess.run([sys.executable, script, *options], cwd=folder, check=True)
    kept = folder / "results" / "paper" / "kept"
    return pd.read_csv(kept / "claims.csv", keep_default_na=False).set_index("id")


def test_what_is_new_is_added_and_what_cannot_be_made_again_is_old(tmp_path: Path) -> None:
    (tmp_path / "config").symlink_to(ROOT / "config")
    paper = tmp_path / "results" / "paper"
    kept, study = paper / "kept", paper / "number_of_topics"
    (kept / "number_of_topics").mkdir(parents=True)
    (kept / "number_of_topics" / "walks-whales.png").write_bytes(b"of before")
    (kept / "number_of_topics" / "walks-lda-20.png").write_bytes(b"of before")
    before = [["B1", "nine", "", "partly"], ["T3", "of before", "", "partly"]]
    pd.DataFrame(before, columns=COLUMNS).to_csv(kept / "claims.csv", index=False)

    write(walk(FROM_200, [*range(199, 29, -1), *(300 * [30])]), study / FROM_200)
    write(walk("lda-20-pmmh-of-other-settings-from1", [1]), study / "lda-20-pmmh-of-other-settings-from1")
    claims = keep(tmp_path)
    assert claims.loc["B1", ["ours", "verdict", "evidence"]].tolist() == ["nine", "partly", "old"]
    assert claims["ours"]["T3"].startswith("1 of 1 chains reach T = 30, the median after 170 steps")
    assert claims["evidence"]["T3"] == "kept"
    assert claims["verdict"]["T1"] == "not answered: not run at this scale: lda-20"
    found = read_kept(kept / "number_of_topics")
    assert list(found) == [FROM_200]
    assert found[FROM_200].volatile == {"cpu_seconds": 10.0, "resumed": 0}
    assert (kept / "number_of_topics" / "walks-lda-20.png").read_bytes()[1:4] == b"PNG"
    assert (kept / "old" / "number_of_topics" / "walks-whales.png").read_bytes() == b"of before"
    assert "**partly** (old)" in (kept / "claims.md").read_text(encoding="utf-8")

    shutil.rmtree(study)  # another machine has only its own records and the kept ones
    for name in (FROM_30, WIDE):
        write(walk(name, [*range(29, 20, -1), *(1000 * [20])]), study / name)
    claims = keep(tmp_path)
    assert claims["ours"]["T3"].startswith("1 of 1 chains reach T = 30, the median after 170 steps")
    assert claims["verdict"]["T2"] == "partly"  # from both records: it arrives, but no later
    assert len(pd.read_csv(kept / "number_of_topics" / "walks.csv")) == 3

    write(walk(WIDE, [30] * 1000), study / WIDE)  # run again
    assert keep(tmp_path, "--kept")["verdict"]["T2"] == "partly"
    assert keep(tmp_path)["verdict"]["T2"] == "not reproduced"
