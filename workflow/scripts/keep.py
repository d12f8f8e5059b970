"""Keeps the results of scale paper in git: `make keep` adds new records, `make kept` adds none.

Both make every figure, table and verdict again from the kept records. What the records no longer give stays as it was:
figures and tables move to results/paper/kept/old, and verdicts are marked "old". The claims of old/run-before.csv
were run before verdicts and records were kept.
"""

import shutil
import sys
from pathlib import Path

import pandas as pd
import yaml

from bayestopics.base.files import replacing
from bayestopics.base.plotting import use_style
from bayestopics.corpus.registry import Registry
from bayestopics.runs.record import is_record, read
from bayestopics.studies import claims
from bayestopics.studies.kept import (
    ABSENT,
    errors_again,
    make_again,
    read_kept,
    watched,
    with_old_answers,
    write_kept,
)
from bayestopics.studies.plan import Plan, Settings, names_in, plan_of

SCALE = "paper"
PAPER = Path("results") / SCALE
SETTINGS = Path("config/studies")
ENTRIES = Registry().entries


def plan_at_scale(study: str) -> Plan:
    """The plan as if all corpora were available; the records decide what is shown."""
    content = yaml.safe_load((SETTINGS / f"{study}.yaml").read_text(encoding="utf-8"))
    return plan_of(Settings.of(study, SCALE, content, ENTRIES, reach=ENTRIES))


def keep(kept: Path, add: bool) -> None:
    found, errors = {}, {}
    for study in names_in(SETTINGS):
        plan, records = plan_at_scale(study), read_kept(kept / study)
        new = [folder for folder in sorted((PAPER / study).glob("*")) if add and is_record(folder)]
        records |= {folder.name: watched(read(folder)) for folder in new}
        records = {run: records[run] for run in plan.runs if run in records}  # without records of other settings
        if records:
            found[study], errors[study] = records, errors_again(study, records.values())
            make_again(plan, records, errors[study], kept / study, kept / "old" / study, SCALE)
    answers = claims.answers(found, errors, ENTRIES, left_out=(), absent=ABSENT)
    table = claims.table_of(answers, SCALE)
    before = kept / "claims.csv"
    old = pd.read_csv(before, keep_default_na=False) if before.exists() else table
    told = kept / "old" / "run-before.csv"
    run_before = pd.read_csv(told)["id"].tolist() if told.exists() else []
    claims.write(kept, with_old_answers(table, old, run_before), answers, SCALE, left_out={})
    for study, records in found.items():
        write_kept(records.values(), kept / study)  # last, because only now we know which parts were read


if __name__ == "__main__":
    use_style()
    with replacing(PAPER / "kept") as kept:
        if (PAPER / "kept").exists():
            shutil.copytree(PAPER / "kept", kept)
        keep(kept, add="--kept" not in sys.argv)
