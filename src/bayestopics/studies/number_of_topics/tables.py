"""Tables of the study `number_of_topics`."""

from bayestopics.studies.number_of_topics.figures import (
    constants_table,
    evidence_table,
    ladders_table,
    lengths_table,
    times_table,
    walks_table,
)

__all__ = ["constants_table", "evidence_table", "ladders_table", "lengths_table", "times_table", "walks_table"]
