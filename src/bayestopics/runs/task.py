"""A task: everything that defines a run."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayestopics.base.plain import canonical
from bayestopics.base.problems import InputError
from bayestopics.base.seeds import generator
from bayestopics.corpus.corpus import Corpus

OWN = "own"  # the scale of a run that belongs to no study


@dataclass(frozen=True)
class Task:
    """What to compute, on which corpus. `identity` is a hash of all fields except the corpus name, because a file that
    was moved is still the same corpus."""

    study: str  # the study, or the command if the run belongs to no study
    scale: str
    name: str
    params: Mapping[str, Any]
    seed: int
    corpus: str
    fingerprint: str
    code: str  # code_hash of the modules that compute it

    @property
    def identity(self) -> str:
        content = {name: value for name, value in dataclasses.asdict(self).items() if name != "corpus"}
        return hashlib.sha256(canonical(content).encode()).hexdigest()

    def generator(self, part: str = "") -> np.random.Generator:
        """The random generator of the run, or of a part of it."""
        return generator(self.seed, f"{self.study}/{self.name}/{part}")

    def insist(self, corpus: Corpus) -> None:
        """Refuse any corpus but that of the task."""
        if corpus.fingerprint != self.fingerprint:
            raise InputError(
                f"{corpus.name}: is not the corpus of this record ({self.corpus}): their fingerprints differ"
            )


def describe(corpus: Corpus | None) -> dict[str, str]:
    """The name and fingerprint of a task's corpus; some tasks have none."""
    if corpus is None:
        return {"corpus": "none", "fingerprint": "none"}
    return {"corpus": corpus.name, "fingerprint": corpus.fingerprint}
