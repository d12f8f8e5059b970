"""Compile the kernels before processes that use them run side by side: python -m bayestopics.runs.warm"""

from bayestopics.lda import SAMPLERS
from bayestopics.nonparametric.warm import warm as warm_learner
from bayestopics.runs.chain import warm
from bayestopics.studies.truncation_free.compute_stream import LEARNERS

if __name__ == "__main__":
    for sampler in SAMPLERS:
        warm(sampler)
    for kind in LEARNERS.values():
        warm_learner(kind)
