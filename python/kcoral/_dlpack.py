"""Reads a DLPack capsule of host memory, whatever its element type.

NumPy's own reader knows neither bfloat16 nor float8, and not every producer has another way out.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from kcoral._dtypes import ITEM_SIZES, numpy_dtype

if TYPE_CHECKING:
    import numpy as np

# CPU; pinned by CUDA, by ROCm; managed by CUDA.
_HOST_DEVICES = {1, 3, 11, 13}

# (DLPack's type code, bits) -> the contract's name
_DTYPES = {
    (0, 8): "int8",
    (0, 16): "int16",
    (0, 32): "int32",
    (0, 64): "int64",
    (1, 8): "uint8",
    (2, 16): "float16",
    (2, 32): "float32",
    (2, 64): "float64",
    (4, 16): "bfloat16",
    (6, 8): "bool",
    (10, 8): "float8_e4m3fn",
    (12, 8): "float8_e5m2",
}


class _DataType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),  # in elements; null: C-contiguous
        ("byte_offset", ctypes.c_uint64),
    )


def is_in_host_memory(value: Any) -> bool:
    """Whether a DLPack producer's bytes can be read here."""
    return int(value.__dlpack_device__()[0]) in _HOST_DEVICES


def array_from_dlpack(value: Any) -> np.ndarray[Any, Any]:
    """A view of host memory, which it keeps alive. Raises TypeError for types without a name."""
    import numpy as np

    capsule = value.__dlpack__()
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype = ctypes.c_void_p
    get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    # Not renamed to "used_dltensor": the capsule still owns the tensor, and its end releases it.
    tensor = _Tensor.from_address(get_pointer(capsule, b"dltensor"))
    name = _DTYPES.get((tensor.dtype.code, tensor.dtype.bits))
    if name is None or tensor.dtype.lanes != 1:
        raise TypeError(
            f"a {type(value).__name__} of DLPack type code {tensor.dtype.code} with "
            f"{tensor.dtype.bits} bits and {tensor.dtype.lanes} lanes cannot be sent; "
            f"convert to one of {', '.join(ITEM_SIZES)}"
        )
    shape = tensor.shape[: tensor.ndim]
    item_size = ITEM_SIZES[name]
    if 0 in shape:
        return np.empty(shape, numpy_dtype(name))
    if tensor.strides:
        strides = [step * item_size for step in tensor.strides[: tensor.ndim]]
    else:
        strides = list(np.empty(shape, numpy_dtype(name)).strides)
    # The lowest and the highest byte; strides may be negative.
    reach = [(size - 1) * step for size, step in zip(shape, strides, strict=True)]
    low = sum(distance for distance in reach if distance < 0)
    high = sum(distance for distance in reach if distance > 0) + item_size
    memory = _Memory(capsule, tensor.data + tensor.byte_offset + low, high - low)
    array: np.ndarray[Any, Any] = np.ndarray(
        shape, numpy_dtype(name), np.asarray(memory).data, -low, strides
    )
    return array


class _Memory:
    """Lends NumPy the producer's bytes, read-only, and keeps their owner alive."""

    def __init__(self, owner: object, address: int, size: int) -> None:
        self._owner = owner
        self.__array_interface__ = {
            "version": 3,
            "shape": (size,),
            "typestr": "|u1",
            "data": (address, True),
        }
