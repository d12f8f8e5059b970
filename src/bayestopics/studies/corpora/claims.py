"""Study `corpora`: the answers to claims H7 and B2."""

from __future__ import annotations

from typing import Any

import pandas as pd

from bayestopics.corpus.registry import Entry
from bayestopics.studies.claims import Answer, claim
from bayestopics.studies.corpora.tables import SIZES
from bayestopics.studies.records import Records, require


@claim(
    "H7",
    paper="George & Doss",
    where="table 2",
    statement="The numbers of documents (D), terms (V) and tokens (N) of the corpora C-1 to C-9.",
    rule="Reproduced if all 27 numbers agree, partly if at least 24 do, not reproduced otherwise.",
)
def h7(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    said = {p["id"]: (name, p) for name, e in entries.items() for p in e.papers if str(p["id"]).startswith("C-")}
    require(records, [name for name, _ in said.values()])
    rows = [
        {"paper": corpus_id, "corpus": name, "size": size, "ours": records[name].metrics[size], "theirs": paper[size]}
        for corpus_id, (name, paper) in sorted(said.items())
        for size in SIZES
    ]
    details = pd.DataFrame(rows, columns=["paper", "corpus", "size", "ours", "theirs"])
    different = details[details["ours"] != details["theirs"]]
    agree = len(details) - len(different)
    ours = f"{agree} of {len(details)} numbers agree"
    if len(different):
        first = different.iloc[0]
        ours += f"; {first['paper']} has {first['ours']:.0f} {first['size']} here and {first['theirs']} in the paper"
    verdict = "partly" if agree >= 24 else "not reproduced"
    return Answer(ours, "exact", verdict if len(different) else "reproduced", details)


@claim(
    "B2",
    paper="Zhang & Sisson",
    where="sec. 4.3",
    statement="62.9 % of the words of KOS occur exactly once in their document (the number is for the training part).",
    rule="Reproduced if the paper's percentage differs from ours by at most 0.05 points (its rounding) plus two "
    "standard deviations over 20 random splits.",
    numbers={"percent": 62.9},
)
def b2(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    require(records, ["kos"])
    metrics = records["kos"].metrics
    share, whole = metrics["training_words_once_share"], metrics["words_once_share"]
    deviation = metrics["training_words_once_sd"]
    near = abs(100 * share - numbers["percent"]) <= 0.05 + 200 * deviation
    return Answer(
        f"{share:.2%} of the training words, {whole:.2%} of all words",
        f"standard deviation over splits {deviation:.2%}",
        "reproduced" if near else "not reproduced",
    )
