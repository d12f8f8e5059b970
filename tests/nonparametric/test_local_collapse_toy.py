"""The toy of figure 2 (claim V1)."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import psi
from scipy.stats import beta

from bayestopics.nonparametric.local_collapse_toy import CASES, SECOND, toy_figure2


def test_locally_collapsed_is_exact_in_both_cases() -> None:
    for case in CASES:
        curves = toy_figure2(case, 50)
        assert_allclose(curves.locally_collapsed, curves.exact, rtol=1e-9, atol=1e-12)


def test_by_integration() -> None:
    """theta_1 of a Dirichlet is a Beta variable: E[theta^w] and E[log theta] by quadrature."""
    for case, first in CASES.items():
        curves = toy_figure2(case, 6)
        marginals = [beta(q[0], q.sum() - q[0]) for q in (first, SECOND)]
        for w, exact in zip(curves.occurrences, curves.exact, strict=True):
            moments = [quad(lambda x, m=m, w=w: x**w * m.pdf(x), 0, 1, limit=200)[0] for m in marginals]
            assert_allclose(np.log(moments[0] / moments[1]), exact, atol=1e-5)


def test_mean_field_is_wrong_in_case_b_only() -> None:
    a, b = toy_figure2("A"), toy_figure2("B")
    assert np.all(a.exact < 0)
    assert np.all(a.mean_field < 0)
    assert abs(b.exact[0]) < 1e-12  # a tie: both components expect 1/10
    assert np.all(b.exact[1:] < 0)
    assert np.all(b.mean_field > 0)
    assert_allclose(b.mean_field[0], psi(1) - psi(10) - psi(0.1) + psi(1))
