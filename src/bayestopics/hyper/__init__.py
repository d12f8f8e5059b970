"""The marginal likelihood m(h) = p(w | h) of the hyperparameters h = (alpha, eta), and how to choose h."""

METHODS = {  # and their sweeps, if none are given
    "tempering": 10_000,
    "score": 2_000,
    "gibbs-em": 200,
    "variational-em": 500,
    "full-bayes": 10_000,
}
SEVERAL = ("tempering", "score")  # the methods that run several chains
SEARCHES = ("pilot", "iterative-grid")  # where tempering's search starts
