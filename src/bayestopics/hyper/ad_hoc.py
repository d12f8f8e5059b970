"""Hyperparameters chosen without looking at the corpus [George & Doss, section 5.2]."""

from __future__ import annotations

from bayestopics.base.problems import InputError
from bayestopics.lda.state import Prior

CHOICES = ("griffiths-steyvers", "asuncion", "gensim")


def ad_hoc(name: str, topics: int) -> Prior:
    """The choice of Griffiths & Steyvers (2004), Asuncion et al. (2009) or gensim (Rehurek & Sojka 2010)."""
    if topics < 1:
        raise InputError(f"the number of topics must be at least 1, not {topics}")
    if name not in CHOICES:
        raise InputError(f"unknown choice {name!r}; choose from {', '.join(CHOICES)}")
    return {
        "griffiths-steyvers": Prior(alpha=50 / topics, eta=0.1),  # h_DG
        "asuncion": Prior(alpha=0.1, eta=0.1),  # h_DA
        "gensim": Prior(alpha=1 / topics, eta=1 / topics),  # h_DR
    }[name]
