"""Publishes again what the workflow has made, at every scale: `make publish`. What is in the store is left alone."""

import sys
from pathlib import Path

from bayestopics.runs.publish import RESULTS, publish_again
from bayestopics.runs.store import tracking_uri

lists = sorted([*RESULTS.glob("*/published.json"), *RESULTS.glob("*/*/published.json")])
for path in lists:
    if problem := publish_again(Path(path)):
        sys.exit(problem)
print(f"{len(lists)} lists of runs are published to {tracking_uri(RESULTS)}")
