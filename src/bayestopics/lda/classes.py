"""Sums of products over classes of topics: topic t is in class t % CLASSES.

So the sums of all classes are one vector, to which the processor adds CLASSES products at a time. Loops of numba do not
keep such a vector in registers; hence LLVM's instructions.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

CLASSES = 32  # about the square root of 1000 topics; two or four registers of single-precision numbers
LAST_CLASS = CLASSES - 1  # t & LAST_CLASS is t % CLASSES, in less time

phase: Any = intrinsic  # its type would count the typing context as an argument of each call


@phase
def add_classes(typing_context: Any, weight: Any, row: Any, sums: Any) -> Any:
    """sums[c] = sum of weight[t] * row[t] over the topics t of class c; the length of a row is a multiple of CLASSES"""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.VectorType(context.get_value_type(row.dtype), CLASSES)
        arrays = [
            context.make_array(given)(context, builder, value)
            for given, value in zip(signature.args, arguments, strict=True)
        ]
        size = context.get_abi_sizeof(context.get_value_type(row.dtype))

        def load(array: Any, first: Any) -> Any:
            value = builder.load(builder.bitcast(builder.gep(array.data, [first]), kind.as_pointer()))
            value.align = size
            return value

        total = cgutils.alloca_once_value(builder, ir.Constant(kind, [0.0] * CLASSES))
        length = cgutils.unpack_tuple(builder, arrays[1].shape)[0]
        step = ir.Constant(length.type, CLASSES)
        with cgutils.for_range(builder, builder.udiv(length, step)) as loop:
            first = builder.mul(loop.index, step)
            product = builder.fmul(load(arrays[0], first), load(arrays[1], first), flags=("contract",))
            builder.store(builder.fadd(builder.load(total), product, flags=("contract",)), total)
        doubles = ir.VectorType(ir.DoubleType(), CLASSES)
        result = builder.load(total)
        result = result if kind == doubles else builder.fpext(result, doubles)
        builder.store(result, builder.bitcast(arrays[2].data, doubles.as_pointer())).align = 8
        return context.get_dummy_value()

    return types.void(weight, row, sums), generate
