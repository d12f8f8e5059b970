"""The evidence m(T) = p(w | T, alpha, eta), and the posterior of the number of topics."""

from bayestopics.evidence.estimators import ESTIMATORS, METHODS, PATHS, Estimator

__all__ = ["ESTIMATORS", "METHODS", "PATHS", "Estimator"]
