"""Bayesian topic models: how many topics, which hyperparameters, which sampler, each with an error bar.

The names below are imported when they are first used, so that `import bayestopics` and the command line start fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bayestopics.corpus import Corpus, Pruning, read_corpus, write_corpus
    from bayestopics.lda.state import Prior
    from bayestopics.predict.completion import score
    from bayestopics.runs.export import to_arviz, to_pyldavis
    from bayestopics.runs.fit import fit

__version__ = "0.1.0"
__all__ = [
    "Corpus",
    "Prior",
    "Pruning",
    "fit",
    "read_corpus",
    "score",
    "to_arviz",
    "to_pyldavis",
    "write_corpus",
]

_HOMES = {
    "Corpus": "bayestopics.corpus",
    "Pruning": "bayestopics.corpus",
    "read_corpus": "bayestopics.corpus",
    "write_corpus": "bayestopics.corpus",
    "Prior": "bayestopics.lda.state",
    "score": "bayestopics.predict.completion",
    "fit": "bayestopics.runs.fit",
    "to_arviz": "bayestopics.runs.export",
    "to_pyldavis": "bayestopics.runs.export",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'bayestopics' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
