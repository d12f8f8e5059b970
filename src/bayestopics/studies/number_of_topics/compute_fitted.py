"""Study `number_of_topics`, evidence at fitted h: for each T at the (alpha, eta) that serial tempering finds for it.

Table 2 of the paper has one (alpha, eta) for all T, which was fitted at the T that came out. With more topics another
pair fits better, and T should not win or lose because of a pair that suits another T.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numba

from bayestopics.base.progress import counted
from bayestopics.base.seeds import seed_from
from bayestopics.corpus.corpus import Corpus
from bayestopics.evidence.compute import evidence
from bayestopics.hyper.compute import hyper
from bayestopics.lda.state import Prior
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.evidence import result_of
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task


def compute(task: Task, corpus: Corpus, checkpoint: Checkpoint) -> Result:
    """The tables of `runs.evidence`; here `evidence` also has alpha and eta."""
    done: dict[int, tuple[dict[str, Any], dict[str, Any]]] = checkpoint.load() or {}
    todo = [topics for topics in task.params["topics"] if topics not in done]
    for topics in counted(todo, task.name, "T"):
        done[topics] = _at(task, corpus, topics, checkpoint)
        checkpoint.save(done)
    found: dict[str, Any] = {"topics": list(done), "warnings": []}
    for topics, (h, one) in done.items():
        for key in ("log_evidence", "standard_error", "log_estimates", "seconds"):
            found.setdefault(key, []).append(one[key][0])
        found["warnings"] += [f"T = {topics}, h: {warning}" for warning in h["warnings"]] + one["warnings"]
    found["best"] = max(found["topics"], key=lambda t: found["log_evidence"][found["topics"].index(t)])
    result = result_of(task, found)
    table = result.tables["evidence"].assign(**{key: [h[key] for h, _ in done.values()] for key in ("alpha", "eta")})
    return replace(result, tables={**result.tables, "evidence": table}, answer={})


def _at(task: Task, corpus: Corpus, topics: int, checkpoint: Checkpoint) -> tuple[dict[str, Any], dict[str, Any]]:
    """The best (alpha, eta) of one T, and its evidence there."""
    params, seeds = task.params, [seed_from(task.generator(f"{part}/{topics}")) for part in ("h", "m")]
    h = hyper(
        corpus, topics, sweeps=params["h_sweeps"], seed=seeds[0], chains=1, checkpoint=checkpoint.part(f"h{topics}")
    )
    found = evidence(
        corpus,
        [topics],
        Prior(h["alpha"], h["eta"]),
        **{key: params[key] for key in ("sweeps", "passes", "repeats")},
        seed=seeds[1],
        workers=numba.get_num_threads(),
        checkpoint=checkpoint.part(f"m{topics}"),
    )
    return {key: h[key] for key in ("alpha", "eta", "warnings")}, found
