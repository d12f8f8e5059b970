"""The marginal likelihood m(h) = p(w | h) of the hyperparameters h = (alpha, eta), and how to choose h."""

METHODS = {"tempering": 10_000, "gibbs-em": 200, "variational-em": 500, "full-bayes": 10_000}  # sweeps, if none given
SEARCHES = ("pilot", "iterative-grid")  # where tempering's search starts
