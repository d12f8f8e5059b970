"""Models that choose their number of topics: the DP mixture and the HDP, by variational inference and by Gibbs."""
