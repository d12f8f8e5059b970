"""`make keep`: copy the small results of the scale paper to results/paper/kept, which is in git.

Figures, tables and the claims, and of every run record its run.json and its small tables. A study that was run to its
end, and so published, takes the place of what was kept of it. Of one that was not, the records that are there are
added, and the claims that they answer together with those kept before: a night's work may take several machines. The
number of topics, which takes longest, also has its figures and tables from both.
"""

import json
import shutil
from pathlib import Path

import pandas as pd
import yaml
from PIL import Image

from bayestopics.base.files import replacing
from bayestopics.base.plotting import save
from bayestopics.corpus.registry import Registry
from bayestopics.runs.record import read
from bayestopics.studies.claims import MissingRecords, markdown, merged, table
from bayestopics.studies.number_of_topics import parts as topics_parts

PAPER = Path("results/paper")
LARGEST = 400_000  # bytes
SMALL = 60_000  # bytes of a table that is kept with its record; a PMMH trace of 10,000 steps is smaller
COLOURS = 256  # of a kept figure: with fewer, lines that cross bands lose their colour


def keep_figure(source: Path, target: Path) -> None:
    Image.open(source).convert("RGB").quantize(COLOURS).save(target, optimize=True)


class Kept(dict):
    """Tables or arrays of a kept record. Where one was not kept, a claim has no answer."""

    def __missing__(self, name: str) -> None:
        raise MissingRecords([f"{name} of a record that is kept"])


current = {path.parent.name: json.loads(path.read_text()) for path in PAPER.glob("*/published.json")}
records: dict = {}
with replacing(PAPER / "kept") as kept:
    if (PAPER / "kept").exists():
        shutil.copytree(PAPER / "kept", kept)
    for study in current:
        shutil.rmtree(kept / study, ignore_errors=True)
    for source in sorted(PAPER.rglob("*")):
        place = source.relative_to(PAPER)
        if place.parts[0] in ("kept", "logs") or not source.is_file() or place.parts[0].startswith("."):
            continue
        if source.name == "run.json":
            record, published = read(source.parent), current.get(place.parts[0])
            if published is not None and record.key not in published:
                continue  # left over from other settings
            folder = kept / place.parts[0] / "records" / source.parent.name
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            for name, content in record.tables.items():
                content.to_parquet(folder / f"{name}.parquet", index=False, compression="zstd")
                if (folder / f"{name}.parquet").stat().st_size > SMALL:
                    (folder / f"{name}.parquet").unlink()
            records.setdefault(place.parts[0], {})[source.parent.name] = record
            target = folder / source.name
        elif source.suffix in (".png", ".csv", ".md") and len(place.parts) <= 2:
            target = kept / place
        else:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".png":
            keep_figure(source, target)
        else:
            shutil.copyfile(source, target)
        if target.stat().st_size > LARGEST:
            raise SystemExit(f"{source} is too large to keep in git")
        if source.name == "run.json":  # the kernel of one machine is of no use to others
            content = json.loads(target.read_text(encoding="utf-8"))
            content["volatile"]["platform"] = content["volatile"]["platform"].partition("-")[0]
            target.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    if not (PAPER / "claims.csv").exists():  # not everything was run
        for path in sorted(kept.glob("*/records/*/run.json")):
            record, study = read(path.parent), records.setdefault(path.parts[-4], {})
            record.tables, record.arrays = Kept(record.tables), Kept(record.arrays)
            study.setdefault(path.parts[-2], record)
        records = {study: dict(sorted(found.items())) for study, found in records.items()}
        listed = yaml.safe_load(Path("config/claims.yaml").read_text(encoding="utf-8"))
        claims = table(listed, records, Registry().entries, "paper", ())
        if (kept / "claims.csv").exists():
            claims = merged(pd.read_csv(kept / "claims.csv", keep_default_na=False), claims)
        claims.to_csv(kept / "claims.csv", index=False)
        (kept / "claims.md").write_text(markdown(claims, "paper", {}), encoding="utf-8")
        if (PAPER / "number_of_topics").exists() and "number_of_topics" not in current:
            parts = records["number_of_topics"].values()
            for name, figure in topics_parts.figures(parts, "paper"):
                target = kept / "number_of_topics" / f"{name}.png"
                save(figure, target)
                keep_figure(target, target)
            for name, content in topics_parts.tables(parts):
                content.to_csv(kept / "number_of_topics" / f"{name}.csv", index=False)
