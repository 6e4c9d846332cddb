"""Tensor uploads: whatever holds an array becomes contiguous little-endian bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kcoral._blob import Blob, blob_of_bytes
from kcoral._dlpack import array_from_dlpack, is_in_host_memory
from kcoral._dtypes import IN_ML_DTYPES, check_dtype, tensor_size

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

# Larger arrays are copied by one thread and hashed by another, a piece at a time.
PIECE_BYTES = 1 << 20


@dataclass(frozen=True)
class Tensor:
    blob: Blob
    dtype: str
    shape: list[int]


def is_array(value: object) -> bool:
    """Whether `tensor_of` takes the value without being told a dtype and a shape."""
    return not isinstance(value, type) and (
        hasattr(value, "__dlpack__") or hasattr(value, "__array_interface__")
    )


def tensor_of(value: object, dtype: object = None, shape: Sequence[int] | None = None) -> Tensor:
    """A snapshot of an array, or of raw bytes with their dtype and shape.

    For an array `dtype` and `shape` may be given only to confirm what it has. Raises TypeError for
    what cannot be sent and ValueError for what does not fit together.
    """
    name = None if dtype is None else check_dtype(_name_of_dtype(dtype))
    dimensions = None if shape is None else _check_shape(shape)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _tensor_of_bytes(value, name, dimensions)
    bits, own_name, own_shape = _array_of(value)
    if name is not None and name != own_name:
        raise ValueError(f"dtype={name!r}, but the value has {own_name}; convert the value")
    if dimensions is not None and dimensions != own_shape:
        raise ValueError(f"shape={dimensions}, but the value has {own_shape}; reshape the value")
    return Tensor(_copy_and_hash(bits), own_name, own_shape)


def _name_of_dtype(dtype: object) -> str:
    """Takes the contract's names, NumPy's and torch's types, and Python's bool, int and float."""
    if isinstance(dtype, str):
        return dtype
    if type(dtype).__module__.partition(".")[0] == "torch":
        return str(dtype).removeprefix("torch.")
    import numpy as np

    return np.dtype(dtype).name  # type: ignore[call-overload,no-any-return]


def _check_shape(shape: Sequence[int]) -> list[int]:
    dimensions = list(shape)
    for size in dimensions:
        if isinstance(size, bool) or not hasattr(size, "__index__"):
            raise TypeError(f"shape must hold integers, not {size!r}")
        if size < 0:
            raise ValueError(f"shape must not be negative: {dimensions}")
    return [int(size) for size in dimensions]


def _tensor_of_bytes(
    value: bytes | bytearray | memoryview, dtype: str | None, shape: list[int] | None
) -> Tensor:
    if dtype is None or shape is None:
        raise ValueError("raw bytes need dtype= and shape= to be a tensor")
    blob = blob_of_bytes(value, "a tensor's value")
    expected = tensor_size(dtype, shape)
    if len(blob.data) != expected:
        raise ValueError(
            f"a {dtype} tensor of shape {shape} expects {expected} bytes, "
            f"the value has {len(blob.data)}"
        )
    return Tensor(blob, dtype, shape)


def _array_of(value: object) -> tuple[Array, str, list[int]]:
    """The value's elements with their name and shape.

    The elements may have any order in memory; their type may be an integer of the same size.
    """
    import numpy as np

    if type(value).__module__.partition(".")[0] == "torch" and hasattr(value, "detach"):
        return _array_of_torch(value)
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError("a masked array cannot be sent; fill it first (.filled())")
    if isinstance(value, np.ndarray):
        array: Array = value
    elif isinstance(value, np.generic):
        array = np.asarray(value)
    elif hasattr(value, "__dlpack__") and is_in_host_memory(value):
        array = array_from_dlpack(value)
    elif hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
        raise TypeError(
            f"a {type(value).__name__} that is not in host memory cannot be sent; "
            "copy it to the host first"
        )
    elif hasattr(value, "__dlpack__") or hasattr(value, "__array_interface__"):
        # A device's array that NumPy can ask for a copy, or one of this process.
        array = np.asarray(value)
    else:
        raise TypeError(
            f"a tensor's value must be an array (NumPy, torch, DLPack) or bytes with dtype= and "
            f"shape=, not {type(value).__name__}; wrap it in np.asarray(value, dtype=...)"
        )
    name = check_dtype(array.dtype.name)
    if name not in IN_ML_DTYPES:  # those have no byte order of their own
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return array, name, list(array.shape)


def _array_of_torch(tensor: Any) -> tuple[Array, str, list[int]]:
    import torch

    name = check_dtype(str(tensor.dtype).removeprefix("torch."))
    shape = [int(size) for size in tensor.shape]
    if tensor.layout != torch.strided:
        raise TypeError(f"a {tensor.layout} tensor cannot be sent; make it dense (.to_dense())")
    host = tensor.detach().resolve_neg().cpu().contiguous()
    # As bytes: NumPy has no name for some of torch's types.
    return host.reshape(-1).view(torch.uint8).numpy(), name, shape


def _copy_and_hash(array: Array) -> Blob:
    """A contiguous copy of the elements, hashed while it is made."""
    import numpy as np

    copy = np.empty(array.shape, array.dtype)
    flat = copy.reshape(-1).view(np.uint8)
    if array.nbytes <= 2 * PIECE_BYTES or not array.flags.c_contiguous:
        np.copyto(copy, array)
        digest = hashlib.sha256(flat.data)
    else:
        digest = _hash_behind_copy(array.reshape(-1).view(np.uint8), flat)
    flat.flags.writeable = False
    return Blob(digest.hexdigest(), flat.data)


def _hash_behind_copy(source: Array, target: Array) -> hashlib._Hash:
    """Both NumPy and hashlib let go of the interpreter's lock for pieces of this size."""
    import numpy as np

    def copy(begin: int) -> None:
        end = begin + PIECE_BYTES
        np.copyto(target[begin:end], source[begin:end])

    digest = hashlib.sha256()
    with ThreadPoolExecutor(1, "kcoral-copy") as pool:
        copies: list[tuple[int, Future[None]]] = [
            (begin, pool.submit(copy, begin)) for begin in range(0, source.size, PIECE_BYTES)
        ]
        for begin, copied in copies:
            copied.result()
            digest.update(target[begin : begin + PIECE_BYTES].data)
    return digest
