"""A table as an HTML page."""

from __future__ import annotations

import html

import pandas as pd

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
body {{ font: 14px/1.45 system-ui, sans-serif; margin: 1.5em; color: #222; }}
table {{ border-collapse: collapse; }} th, td {{ padding: .35em .7em; text-align: left; vertical-align: top; }}
th {{ position: sticky; top: 0; background: #f3f3f3; }} tr:nth-child(even) {{ background: #fafafa; }}
td.number {{ text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }}
td.long {{ min-width: 18em; }} .note {{ color: #a33; }}
</style></head><body><h1>{title}</h1><p class="note">{note}</p>
<table><thead><tr>{head}</tr></thead><tbody>
{body}
</tbody></table></body></html>
"""


def html_table(table: pd.DataFrame, title: str, note: str = "") -> str:
    """A table as an HTML page for the report; empty columns are left out."""
    table = table.loc[:, [table[column].notna().any() and (table[column] != "").any() for column in table.columns]]
    head = "".join(f"<th>{html.escape(column.replace('_', ' '))}</th>" for column in table.columns)
    rows = ["".join(_cell(value) for value in row) for row in table.itertuples(index=False)]
    body = "\n".join(f"<tr>{row}</tr>" for row in rows)
    return PAGE.format(title=html.escape(title), note=html.escape(note), head=head, body=body)


def _cell(value: object) -> str:
    if value is None or value is pd.NA or value != value:
        return "<td></td>"
    if isinstance(value, float):
        text = f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:,.4g}"
        return f'<td class="number">{text}</td>'
    if isinstance(value, int) or hasattr(value, "dtype"):
        return f'<td class="number">{value:,}</td>'
    text = str(value)
    return f"<td{' class=long' if len(text) > 40 else ''}>{html.escape(text)}</td>"
