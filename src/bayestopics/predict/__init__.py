"""How well a model predicts words that it has not seen."""

METHODS = ("completion", "leave-one-out")
BETAS = ("integrated", "drawn")  # leave-one-out: the topics' words are integrated out given z, or drawn
ESTIMATORS = ("bridge", "left-to-right")  # of leave-one-out
