"""Tables of the study `blocking`."""

from bayestopics.studies.blocking.figures import summary as summary_table
from bayestopics.studies.blocking.figures import times_table

__all__ = ["summary_table", "times_table"]
