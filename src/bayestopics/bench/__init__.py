"""`make bench`: speed as ratios in one run - same corpus, same number of topics, one thread.

programs    our samplers and the peers, each as a function that makes one sweep
corpora     what they run on
timing      interleaved rounds, early in a chain and after a warm-up; medians and quartiles
memory      peak memory of a process that runs one sweep
pages       the tables and the figure
hdp         the HDP: passes of the variational methods, sweeps of the samplers, held-out scores over time
growth      the cost of a document against the number of components
hdp_pages   the tables of both and the figure
"""
