"""Additions by several threads to the same array: none is lost, and whole numbers have the same sum in any order."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

phase: Any = intrinsic  # its type would count the typing context as an argument of each call


@phase
def atomic_add(typing_context: Any, array: Any, row: Any, column: Any, value: Any) -> Any:
    """array[row, column] += value, as one step; the indices are not negative"""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        given = context.make_array(kind)(context, builder, arguments[0])
        place = cgutils.get_item_pointer(context, builder, kind, given, arguments[1:3])
        builder.atomic_rmw("add", place, arguments[3], "monotonic")
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64, array.dtype), generate
