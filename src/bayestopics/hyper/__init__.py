"""The marginal likelihood m(h) of the hyperparameters h = (alpha, eta), and which h to take."""
