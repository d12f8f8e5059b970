"""Table of the study `routes`."""

from bayestopics.studies.routes.figures import routes_table

__all__ = ["routes_table"]
