"""Table of the study `first_look`."""

from bayestopics.studies.first_look.figures import summary as summary_table

__all__ = ["summary_table"]
