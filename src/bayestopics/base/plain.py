"""Plain JSON: without NaN, Infinity or numpy's types, and in one canonical form where it is hashed."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np


def canonical(value: Any) -> str:
    """JSON with sorted keys and no spaces: equal values, equal text."""
    return json.dumps(without_nan(value), sort_keys=True, separators=(",", ":"), allow_nan=False)


def without_nan(value: Any) -> Any:
    """JSON has no NaN or Infinity: null stands for them. numpy's numbers become Python's."""
    if isinstance(value, Mapping):
        return {str(key): without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(item) for item in value]
    if isinstance(value, np.ndarray):
        return without_nan(value.tolist())
    if isinstance(value, np.generic):
        return without_nan(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
