"""`make bench` compares speeds as ratios within one run: same corpus, same number of topics, one thread.

programs    our samplers and the other programs, each as a function that makes one sweep
corpora     the corpora they run on
timing      interleaved rounds, early in a chain and after a warm-up; medians and quartiles
memory      peak memory of a process that runs one sweep
pages       the tables and the figure
hdp         the HDP: passes of the variational methods, sweeps of the samplers, held-out scores over time
growth      the cost of a document against the number of components
hdp_pages   the tables and the figure of `hdp` and `growth`
"""
