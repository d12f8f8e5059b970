"""The evidence m(T) = p(w | T, alpha, eta), and the posterior of the number of topics."""

METHODS = ("annealing", "pseudo-marginal", "chib", "harmonic-z", "harmonic-psi")
PATHS = ("reference", "ais", "replica-exchange", "smc")  # of annealing
