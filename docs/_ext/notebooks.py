"""The tutorial, a notebook with its outputs, as a page of the documentation."""

from __future__ import annotations

import base64
import json
from pathlib import Path


def parts(root: Path) -> dict[str, str | bytes]:
    """tutorial.md, and its figures."""
    notebook = json.loads((root / "docs/tutorial.ipynb").read_text(encoding="utf-8"))
    made: dict[str, str | bytes] = {}
    lines = []
    for cell in notebook["cells"][1:]:  # the first is the title, which the page has
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            lines.append(source)
            continue
        lines.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            data = output.get("data", {})
            if "image/png" in data:
                name = f"tutorial-{len(made)}.png"
                made[name] = base64.b64decode(data["image/png"])
                lines.append(f"![what the code above draws](/_generated/{name})")
            else:
                lines.append("```text\n" + "".join(output.get("text", data.get("text/plain", ""))).rstrip() + "\n```")
    return made | {"tutorial.md": "\n\n".join(lines) + "\n"}
