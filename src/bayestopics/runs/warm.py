"""Compile the kernels before processes that use them run side by side: python -m bayestopics.runs.warm"""

from bayestopics.lda import SAMPLERS
from bayestopics.nonparametric.learners import LEARNERS, compile_learner
from bayestopics.runs.chain import warm

if __name__ == "__main__":
    for sampler in SAMPLERS:
        warm(sampler)
    for kind in LEARNERS.values():
        compile_learner(kind)
