"""Limits that a sound file stays below, so that a small file that is damaged or malicious cannot fill the memory.

Each limit is a size that is always allowed, or a multiple of what the file really contains, whichever is larger. The
environment variable BAYESTOPICS_NO_LIMITS=1 removes them all.
"""

from __future__ import annotations

import os

from bayestopics.base.problems import InputError

SWITCH = "BAYESTOPICS_NO_LIMITS"
# of a compressed file: counts and texts shrink to a tenth or a twentieth, and deflate ends at about a thousandth
FREE_BYTES, MOST_INFLATION = 4 * 2**20, 100


def insist(value: int, most: int, fault: str) -> None:
    """Refuse a value above its limit, unless the user has removed the limits."""
    if value > most and os.environ.get(SWITCH, "0") in ("", "0"):
        raise InputError(f"{fault}; if that is meant, set the environment variable {SWITCH}=1")


def insist_on_inflation(place: object, inflated: int, packed: int) -> None:
    """Refuse a compressed file that becomes many times larger when it is unpacked."""
    most = max(FREE_BYTES, MOST_INFLATION * packed)
    insist(inflated, most, f"{place}: unpacks to more than {most:,} bytes, as only a damaged or malicious file does")
