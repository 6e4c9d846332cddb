"""The element types of tensors: the contract's names, their sizes, their NumPy types."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

# The contract's name -> bytes an element.
ITEM_SIZES = {
    "bool": 1,
    "uint8": 1,
    "int8": 1,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
    "int16": 2,
    "float16": 2,
    "bfloat16": 2,
    "int32": 4,
    "float32": 4,
    "int64": 8,
    "float64": 8,
}

IN_ML_DTYPES = {"bfloat16", "float8_e4m3fn", "float8_e5m2"}


def tensor_size(dtype: str, shape: Sequence[int]) -> int:
    """Bytes that a tensor takes."""
    return ITEM_SIZES[dtype] * math.prod(shape)


def numpy_dtype(name: str) -> np.dtype[Any]:
    """The little-endian NumPy type of one of the contract's names."""
    import numpy as np

    if name in IN_ML_DTYPES:
        import ml_dtypes

        name = getattr(ml_dtypes, name)
    little_endian: np.dtype[Any] = np.dtype(name).newbyteorder("<")
    return little_endian


def check_dtype(name: str) -> str:
    """The name itself, or a TypeError that tells which there are."""
    if name not in ITEM_SIZES:
        raise TypeError(
            f"tensors of dtype {name} cannot be sent; convert to one of {', '.join(ITEM_SIZES)}"
        )
    return name
