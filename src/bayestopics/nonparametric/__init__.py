"""Models that choose their number of topics: the DP mixture and the HDP, by variational inference and by Gibbs."""

MODELS = ("hdp", "dp-mixture")
METHODS = {"gibbs": 500, "split-merge": 500, "truncation-free": 10, "truncated": 10}  # sweeps or passes, if none given
VARIANTS = ("exact", "paper")  # of split-merge
SWEEPERS = ("plain", "blocked")  # of gibbs and split-merge
