"""Tensor uploads from everything that holds an array."""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from kcoral import Program
from kcoral._dtypes import ITEM_SIZES, numpy_dtype
from kcoral._tensors import PIECE_BYTES, tensor_of


def sent(value: Any, **options: Any) -> tuple[str, list[int], bytes]:
    """What a program says of the tensor, and its bytes."""
    program = Program()
    program.upload(kind="tensor", value=value, **options)
    (step,) = program.instructions
    (blob,) = program._blobs.values()
    assert step["blob"] == blob.digest == hashlib.sha256(blob.data).hexdigest()
    return step["dtype"], step["shape"], bytes(blob.data)


@pytest.mark.parametrize("name", ITEM_SIZES)
def test_every_dtype_of_the_contract(name: str) -> None:
    array = np.array([0, 1, 1]).astype(numpy_dtype(name))
    assert array.dtype.itemsize == ITEM_SIZES[name]
    assert sent(array) == (name, [3], array.tobytes())


@pytest.mark.parametrize("order", ["<", ">", "="])
def test_byte_order_becomes_little_endian(order: Any) -> None:
    array = np.array([1, 258], dtype=np.dtype("i4").newbyteorder(order))
    assert sent(array) == ("int32", [2], b"\1\0\0\0\2\1\0\0")


CUBE = np.arange(24, dtype="<i2").reshape(2, 3, 4)


@pytest.mark.parametrize(
    "array",
    [
        CUBE,
        CUBE.T,
        CUBE[::-1, :, ::2],
        CUBE[:, 1],
        np.asfortranarray(CUBE),
        np.broadcast_to(CUBE[0, 0], (5, 4)),
        CUBE[:, :0],
        CUBE.astype(">i2")[:, ::-1],
    ],
    ids=["C", "T", "steps", "slice", "F", "broadcast", "empty", "big-endian"],
)
def test_strides_become_contiguous(array: Any) -> None:
    expected = np.ascontiguousarray(array).astype("<i2").tobytes()
    assert sent(array) == ("int16", list(array.shape), expected)


@pytest.mark.parametrize("value", [np.array(3, "<i2"), np.int16(3)], ids=["array", "scalar"])
def test_no_dimensions_stay_none(value: Any) -> None:
    assert sent(value) == ("int16", [], b"\3\0")


@pytest.mark.parametrize("extra", [-1, 0, 1])
@pytest.mark.parametrize("pieces", [1, 2, 3, 5])
def test_large_arrays_are_hashed_while_they_are_copied(pieces: int, extra: int) -> None:
    data = np.random.default_rng(pieces).bytes(pieces * PIECE_BYTES + extra)
    array = np.frombuffer(data, "u1")
    assert sent(array)[2] == data


def test_array_is_copied() -> None:
    array = np.zeros(3, "<i2")
    program = Program()
    program.upload(kind="tensor", value=array)
    array[:] = 1
    (blob,) = program._blobs.values()
    assert bytes(blob.data) == bytes(6)
    assert blob.data.readonly


def test_raw_bytes_need_dtype_and_shape() -> None:
    assert sent(b"\1\2\3\4", dtype="int16", shape=(2, 1)) == ("int16", [2, 1], b"\1\2\3\4")
    assert sent(bytearray(b"\1"), dtype="bool", shape=[]) == ("bool", [], b"\1")
    assert sent(memoryview(b""), dtype="float64", shape=[0, 3]) == ("float64", [0, 3], b"")
    for missing in ({}, {"dtype": "int8"}, {"shape": [1]}):
        with pytest.raises(ValueError, match="dtype= and shape="):
            sent(b"\1", **missing)


def test_raw_bytes_must_have_the_length() -> None:
    with pytest.raises(ValueError, match=r"shape \[3\] expects 6 bytes, the value has 4"):
        sent(b"\1\2\3\4", dtype="int16", shape=[3])


@pytest.mark.parametrize(
    ("shape", "error"),
    [([-1], ValueError), ([1.0], TypeError), ([True], TypeError), (["1"], TypeError)],
    ids=str,
)
def test_bad_shape_is_refused(shape: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="shape"):
        sent(b"\1", dtype="int8", shape=shape)


def test_dtype_and_shape_confirm_what_an_array_has() -> None:
    array = np.zeros((2, 2), "<f4")
    for dtype in ("float32", np.float32, np.dtype(">f4")):
        assert sent(array, dtype=dtype, shape=(2, 2))[0] == "float32"
    with pytest.raises(ValueError, match="convert"):
        sent(array, dtype="float16")
    with pytest.raises(ValueError, match="reshape"):
        sent(array, shape=[4])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.zeros(1, "u2"), "uint16.*convert"),
        (np.zeros(1, "c8"), "complex64"),
        (np.zeros(1, "M8[s]"), "datetime64"),
        (np.array([None]), "object"),
        (np.array(["a"]), "str"),
        (np.zeros(1, ml_dtypes.float8_e4m3b11fnuz), "float8_e4m3b11fnuz"),
        (np.ma.masked_array([1]), "filled"),
        ([1, 2], r"np\.asarray"),
        (1.5, r"np\.asarray"),
        ("text", r"np\.asarray"),
    ],
    ids=str,
)
def test_what_is_no_tensor_is_refused_with_advice(value: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        sent(value)


class OnlyDlpack:
    """An array that can be had through DLPack alone, with a capsule made by hand."""

    def __init__(
        self,
        data: bytes,
        code: int,
        bits: int,
        shape: list[int],
        strides: list[int] | None = None,
        offset: int = 0,
        device: int = 1,
    ) -> None:
        self.device = device
        self.buffer = ctypes.create_string_buffer(data, len(data))
        shape_array = (ctypes.c_int64 * len(shape))(*shape)
        strides_array = (ctypes.c_int64 * len(shape))(*strides) if strides is not None else None
        self.kept = (shape_array, strides_array)
        self.tensor = _ManagedTensor(
            ctypes.addressof(self.buffer), device, 0, len(shape), code, bits, 1,
            ctypes.addressof(shape_array),
            ctypes.addressof(strides_array) if strides_array is not None else None, offset,
        )  # fmt: skip

    def __dlpack_device__(self) -> tuple[int, int]:
        return (self.device, 0)

    def __dlpack__(self) -> Any:
        new = ctypes.pythonapi.PyCapsule_New
        new.restype = ctypes.py_object
        new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.tensor), b"dltensor", None)


class _ManagedTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (OnlyDlpack(b"\x80\x3f\x00\xc0", 4, 16, [2]), ("bfloat16", [2], b"\x80\x3f\x00\xc0")),
        (OnlyDlpack(b"\x38", 10, 8, []), ("float8_e4m3fn", [], b"\x38")),
        (OnlyDlpack(b"\x3c", 12, 8, [1]), ("float8_e5m2", [1], b"\x3c")),
        (OnlyDlpack(b"\1\0", 6, 8, [2]), ("bool", [2], b"\1\0")),
        (OnlyDlpack(bytes(range(6)), 1, 8, [2, 3]), ("uint8", [2, 3], bytes(range(6)))),
        (OnlyDlpack(bytes(range(6)), 1, 8, [3, 2], [1, 3]), ("uint8", [3, 2], b"\0\3\1\4\2\5")),
        (OnlyDlpack(bytes(range(6)), 1, 8, [2], [-2], 4), ("uint8", [2], b"\4\2")),
        (OnlyDlpack(bytes(range(6)), 1, 8, [2], [0], 5), ("uint8", [2], b"\5\5")),
        (OnlyDlpack(b"", 2, 32, [0, 3]), ("float32", [0, 3], b"")),
    ],
    ids=[
        "bfloat16", "e4m3", "e5m2", "bool", "contiguous", "transposed", "backwards",
        "broadcast", "empty",
    ],
)  # fmt: skip
def test_dlpack_of_any_type(array: OnlyDlpack, expected: tuple[str, list[int], bytes]) -> None:
    assert sent(array) == expected


def test_dlpack_that_cannot_be_sent() -> None:
    with pytest.raises(TypeError, match="host memory"):
        sent(OnlyDlpack(b"", 2, 32, [0], device=2))
    with pytest.raises(TypeError, match="type code 5"):
        sent(OnlyDlpack(bytes(8), 5, 64, [1]))


def test_device_array_is_asked_for_a_host_copy() -> None:
    class OnDevice(OnlyDlpack):
        def __array__(self, *_: Any, **__: Any) -> Any:
            return np.array([1, 2], "<i2")

    assert sent(OnDevice(b"", 0, 16, [2], device=2)) == ("int16", [2], b"\1\0\2\0")


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_torch_tensors() -> None:
    import torch

    base = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    assert sent(base.T) == ("float32", [3, 2], base.T.contiguous().numpy().tobytes())
    assert sent(base.requires_grad_()) == ("float32", [2, 3], base.detach().numpy().tobytes())
    ones = torch.tensor([1, -2]).to(torch.bfloat16)
    assert sent(ones, dtype=torch.bfloat16) == ("bfloat16", [2], b"\x80\x3f\x00\xc0")
    assert sent(torch.tensor(True)) == ("bool", [], b"\1")
    assert sent(torch.empty(0, 3)) == ("float32", [0, 3], b"")
    with pytest.raises(TypeError, match="complex64"):
        sent(torch.zeros(1, dtype=torch.complex64))
    with pytest.raises(TypeError, match="dense"):
        sent(torch.eye(2).to_sparse())


def test_shape_stays_when_an_array_has_64_bit_lengths() -> None:
    tensor = tensor_of(np.zeros((0, 1 << 40), "u1"))
    assert tensor.shape == [0, 1 << 40]
