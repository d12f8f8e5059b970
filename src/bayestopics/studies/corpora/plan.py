"""Study `corpora`: one run measures one corpus."""

from __future__ import annotations

from bayestopics.studies.plan import Figure, Plan, Run, Settings, Table

FIGURE = """
The sizes of all corpora here (dots) and in the papers (rings), at scale {scale}. A ring around a dot means that both
agree. Corpora that stand in for a larger one are smaller on purpose.
"""
TABLE = """
Documents, terms and tokens of every corpus beside the papers' numbers (claims H7 and B2), and which corpora are not
available.
"""


def plan(settings: Settings) -> Plan:
    held_out = settings.shared["heldout_documents"]
    runs = {
        name: Run(
            {
                "kind": "sizes",
                "corpus": name,
                "splits": settings.shared["splits"],
                "heldout_documents": held_out.get(name),
            }
        )
        for name in settings.available
    }
    names = {"names": list(settings.here["corpora"])}  # a corpus that is not available gets a row too
    title = f"Corpora at scale {settings.scale}"
    caption = FIGURE.format(scale=settings.scale)
    return Plan(
        "Corpora",
        runs,
        figures={"sizes": Figure("draw_sizes", tuple(runs), caption, "sizes of all corpora", names)},
        tables={"sizes": Table("sizes_table", tuple(runs), title, TABLE, names)},
    )
