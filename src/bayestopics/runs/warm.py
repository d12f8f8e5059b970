"""Compile the samplers into the cache, before processes that use them run side by side: -m bayestopics.runs.warm"""

from bayestopics.lda import SAMPLERS
from bayestopics.runs.chain import warm

if __name__ == "__main__":
    for sampler in SAMPLERS:
        warm(sampler)
