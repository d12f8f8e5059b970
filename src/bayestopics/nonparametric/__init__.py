"""Models that choose their number of topics: the DP mixture and the HDP, by variational inference and by Gibbs."""

MODELS = ("hdp", "dp-mixture")
METHODS = {"gibbs": 500, "split-merge": 500, "truncation-free": 10, "truncated": 10}  # default sweeps or passes
VARIANTS = ("exact", "paper", "annealed")  # of split-merge
BIRTHS = ("data", "words")  # how truncation-free methods find new components
FIRST_PASSES = ("sequential", "fading")  # how they weigh the documents of the first pass
SWEEPERS = ("plain", "blocked")  # the sweeps of gibbs and split-merge
