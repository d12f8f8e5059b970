"""Compare the speed of our samplers with other programs, as ratios within one run: same corpus, same T, one thread."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from tqdm import tqdm

from bayestopics.base.files import replacing
from bayestopics.base.plotting import save, use_style
from bayestopics.base.problems import InputError
from bayestopics.base.processes import using_threads
from bayestopics.base.stopwatch import cpu_model
from bayestopics.bench import corpora, hdp_pages, inference, memory, pages
from bayestopics.bench.growth import growth
from bayestopics.bench.hdp import PEERS, HdpEffort, measure
from bayestopics.bench.programs import OURS, PRIOR, PROGRAMS, choose, peer_versions
from bayestopics.bench.timing import PHASES, REFERENCE, Effort, compare
from bayestopics.runs.result import versions

# T = 1024 is the largest in Zhang & Sisson
FULL = {"corpora": "kos,nips,simulated", "topics": "20,100,1000", "effort": Effort(), "memory": ("nips", 1024)}
FULL |= {"inference": (("reuters-395", "kos"), (20, 100)), "hdp": ("kos",), "hdp_effort": HdpEffort()}
QUICK = {"corpora": "tiny-lda", "topics": "4,8", "effort": Effort(rounds=2, warm_up=3), "memory": ("tiny-lda", 8)}
SMALL = HdpEffort(rounds=2, warm_up=3, etas=(0.1,), budget=0.1, checks=3, components=(5, 50))
QUICK |= {"inference": (("tiny-lda",), (4,)), "hdp": ("tiny-hdp",), "hdp_effort": SMALL}


def main(arguments: Sequence[str] | None = None) -> int:
    use_style()
    try:
        options = _parser().parse_args(arguments)
        part = run_memory if options.memory else run_hdp if options.hdp else run_inference if options.infer else run
        part(options, QUICK if options.quick else FULL)
        return 0
    except InputError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bayestopics.bench", description=__doc__)
    parser.add_argument("--corpora", help=f"names of corpora, separated by commas (default {FULL['corpora']})")
    parser.add_argument("--topics", help=f"numbers of topics, separated by commas (default {FULL['topics']})")
    parser.add_argument("--programs", default=",".join(PROGRAMS), help="names of programs (default %(default)s)")
    parser.add_argument("--quick", action="store_true", help="make a smoke run on a tiny corpus, in seconds")
    parser.add_argument("--memory", action="store_true", help="measure peak memory only")
    parser.add_argument("--infer", action="store_true", help="measure the inference for new documents only")
    parser.add_argument("--hdp", action="store_true", help="measure the HDP only")
    parser.add_argument("--out", type=Path, default=Path("results/bench"), help="output folder (default %(default)s)")
    return parser


def run(options: argparse.Namespace, defaults: dict[str, Any]) -> None:
    begin = time.perf_counter()
    names, left_out = corpora.within_reach((options.corpora or defaults["corpora"]).split(","))
    topic_counts = _whole_numbers(options.topics or defaults["topics"])
    programs, failed = choose(dict.fromkeys(options.programs.split(",")))
    left_out |= failed
    for name, reason in left_out.items():
        print(f"left out: {name} ({reason})", file=sys.stderr)
    if os.environ.get("OMP_NUM_THREADS") != "1":
        print("note: other programs may use several threads; `make bench` sets OMP_NUM_THREADS=1", file=sys.stderr)
    tables = []
    with tqdm(total=len(names) * len(topic_counts), unit="cell", disable=None) as bar:
        for name in names:
            corpus = corpora.load(name)
            for topics in topic_counts:
                bar.set_description(f"{name} T={topics}")
                tables.append(compare(corpus, topics, programs, defaults["effort"], bar.set_postfix_str))
                bar.update()
    table = pd.concat(tables, ignore_index=True)
    measured = run_memory(options, defaults)
    run_inference(options, defaults)
    of_hdp = run_hdp(options, defaults)
    machine = {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "commit": _commit(),
        "quick": options.quick,
        "cpu": cpu_model(),
        "versions": versions(),
        "peers": peer_versions(),
        "left_out": left_out,
        "alpha": PRIOR.alpha,
        "eta": PRIOR.eta,
        "threads": 1,
        "rounds": defaults["effort"].rounds,
        "warm_up": defaults["effort"].warm_up,
        "warm_up_note": "sweeps of sparse; tomotopy makes its own (see column sweeps_before of bench.csv)",
        "seconds": round(time.perf_counter() - begin, 1),
        "memory": [] if measured is None else measured.to_dict("records"),
    }
    _write(options.out / "bench.csv", table.to_csv(index=False))
    _write(options.out / "bench.md", pages.markdown(table, measured, of_hdp, machine))
    _write(options.out / "bench.json", json.dumps(machine, indent=2) + "\n")  # last: `make keep-bench` looks at its age
    save(pages.figure(table, machine), options.out / "ns_per_token.png")
    _show(table, machine)
    print(f"\n{options.out}: bench.csv, bench.json, bench.md, ns_per_token.png; {machine['seconds']:.0f} s")


def run_memory(options: argparse.Namespace, defaults: dict[str, Any]) -> pd.DataFrame | None:
    """Measure the peak memory of our samplers among the programs; print it and write it to memory.csv."""
    wanted = options.programs.split(",")
    samplers = [program.name for program in OURS if program.name in wanted]
    if not samplers:
        return None
    corpus, topics = defaults["memory"]
    (corpus, *_), _ = corpora.within_reach([corpus])
    corpora.load(corpus)  # fills the cache, so that no process must unpack it
    measured = memory.measure(corpus, topics, tqdm(samplers, desc="memory", unit="sampler", disable=None))
    _write(options.out / "memory.csv", measured.to_csv(index=False))
    print(f"\nPeak memory in MB of one sweep on {corpus}, T={topics} (goal: {memory.GOAL_MB:,.0f})")
    print(measured[["program", "peak_mb", "loaded_mb"]].round(0).to_string(index=False))
    for name in measured.loc[measured["peak_mb"] > memory.GOAL_MB, "program"]:
        print(f"above the goal: {name}")
    return measured


def run_inference(options: argparse.Namespace, defaults: dict[str, Any]) -> pd.DataFrame:
    """Compare the inference for new documents with tomotopy's; print it and write it to inference.csv."""
    names, topic_counts = defaults["inference"]
    names, _ = corpora.within_reach(names)
    present, _ = choose(name for name in ("tomotopy",) if name in options.programs.split(","))
    rounds, parts = defaults["effort"].rounds, []
    for corpus in map(corpora.load, names):
        parts += [inference.measure(corpus, topics, rounds, bool(present)) for topics in topic_counts]
    table = pd.concat(parts, ignore_index=True)
    _write(options.out / "inference.csv", table.to_csv(index=False))
    print(f"\nTopics of new documents, CPU time in one thread\n{table.round(3).to_string(index=False)}")
    return table


def run_hdp(options: argparse.Namespace, defaults: dict[str, Any]) -> dict[str, pd.DataFrame]:
    """Compare the HDP with tomotopy and gensim, if they are among the programs; print it and write hdp_*.csv."""
    present, _ = choose(name for name in PEERS if name in options.programs.split(","))
    parts, effort = [], defaults["hdp_effort"]
    names, _ = corpora.within_reach(defaults["hdp"])
    with tqdm(names, unit="corpus", disable=None) as bar:
        for name in bar:
            bar.set_description(f"HDP, {name}")
            peers = {program.name for program in present}
            parts.append(measure(corpora.load(name), peers, effort, bar.set_postfix_str))
        with using_threads(1):
            of_growth = growth(effort.components, effort.rounds, bar.set_postfix_str)
    tables = {part: pd.concat([each[part] for each in parts], ignore_index=True) for part in parts[0]}
    tables["growth"] = of_growth
    for part, table in tables.items():
        _write(options.out / f"hdp_{part}.csv", table.to_csv(index=False))
    save(hdp_pages.figure(tables), options.out / "hdp.png")
    for title, table in hdp_pages.shown(tables).items():
        print(f"\n{title}\n{table.to_string(index=False)}")
    return hdp_pages.shown(tables)


def _show(table: pd.DataFrame, machine: dict[str, Any]) -> None:
    for phase in PHASES:
        title = pages.phase_title(phase, machine)
        print(f"\nNanoseconds per token, {title}\n{pages.costs(table, phase).to_string(index=False)}")
        if REFERENCE in set(table["program"]):
            head = f"Times as fast as {REFERENCE} (quartiles over rounds), {title}"
            print(f"\n{head}\n{pages.ratios(table, phase).to_string(index=False)}")


def _commit() -> str:
    """What was measured; `+ changes` where files differ from the commit."""
    said = [_git("rev-parse", "--short=12", "HEAD"), _git("status", "--porcelain", "--untracked-files=no")]
    return "unknown" if said[0] is None else said[0] + (" + changes" if said[1] else "")


def _git(*words: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", str(Path(__file__).parent), *words], capture_output=True, text=True)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _whole_numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--topics must be whole numbers separated by commas, not {text!r}") from None


def _write(path: Path, text: str) -> None:
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
