"""Compiles all kernels, before several processes use them at once: python -m bayestopics.runs.compile"""

from bayestopics.lda import SAMPLERS
from bayestopics.nonparametric.learners import KINDS, compile_learner
from bayestopics.runs.chain import compile_sampler

if __name__ == "__main__":
    for sampler in SAMPLERS:
        compile_sampler(sampler)
    for kind in KINDS:
        compile_learner(kind)
