"""Models without a fixed number of topics: the hierarchical Dirichlet process and the Dirichlet process mixture."""
