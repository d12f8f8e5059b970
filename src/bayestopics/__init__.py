"""Bayesian topic models: how many topics, which hyperparameters, which sampler? Each answer has an error bar.

The public names are imported only when they are first used, so that `import bayestopics` and the command line start
fast.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bayestopics.api import evidence, fit, hdp, hyper, infer, score, select, simulate, topic_posterior
    from bayestopics.base.cluster import using_cluster
    from bayestopics.base.problems import InputError
    from bayestopics.corpus import Corpus, Pruning, read_corpus, write_corpus
    from bayestopics.corpus.demo import demo_texts
    from bayestopics.estimators import HDP, LDA
    from bayestopics.evidence.topic_prior import TopicPrior
    from bayestopics.lda.state import Prior
    from bayestopics.pages.report import write_report
    from bayestopics.runs.export import to_pyldavis
    from bayestopics.runs.kinds import CommandResult as Result

__version__ = "0.1.0"
__all__ = [
    "HDP",
    "LDA",
    "Corpus",
    "InputError",
    "Prior",
    "Pruning",
    "Result",
    "TopicPrior",
    "demo_texts",
    "evidence",
    "fit",
    "hdp",
    "hyper",
    "infer",
    "read_corpus",
    "score",
    "select",
    "simulate",
    "to_pyldavis",
    "topic_posterior",
    "using_cluster",
    "write_corpus",
    "write_report",
]

_HOMES = {
    **dict.fromkeys(
        ("evidence", "fit", "hdp", "hyper", "infer", "score", "select", "simulate", "topic_posterior"),
        "bayestopics.api",
    ),
    **dict.fromkeys(("Corpus", "Pruning", "read_corpus", "write_corpus"), "bayestopics.corpus"),
    **dict.fromkeys(("HDP", "LDA"), "bayestopics.estimators"),
    "demo_texts": "bayestopics.corpus.demo",
    "InputError": "bayestopics.base.problems",
    "Prior": "bayestopics.lda.state",
    "Result": "bayestopics.runs.kinds:CommandResult",
    "TopicPrior": "bayestopics.evidence.topic_prior",
    "to_pyldavis": "bayestopics.runs.export",
    "write_report": "bayestopics.pages.report",
    "using_cluster": "bayestopics.base.cluster",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'bayestopics' has no attribute {name!r}")
    module, _, other = _HOMES[name].partition(":")
    return getattr(import_module(module), other or name)


def __dir__() -> list[str]:
    return sorted(__all__)


class _Package(ModuleType):
    """Keeps `bayestopics.evidence` and `bayestopics.hyper` the functions, even after the packages with the same names,
    which contain the methods, were imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


import_module(__name__).__class__ = _Package
