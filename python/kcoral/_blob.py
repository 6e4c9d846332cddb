"""Blob: bytes that never change, with their SHA-256."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Blob:
    digest: str  # 64 lowercase hexadecimal digits
    data: memoryview = field(repr=False)  # of single bytes; nobody else writes to them


def blob_of_bytes(value: object, what: str) -> Blob:
    """A snapshot of a bytes-like value; bytes themselves are not copied.

    `what` begins the TypeError for other values.
    """
    if isinstance(value, bytes):
        frozen = value
    elif isinstance(value, (bytearray, memoryview)):
        frozen = bytes(value)
    else:
        raise TypeError(
            f"{what} must be bytes, bytearray or memoryview, not {type(value).__name__}"
        )
    return Blob(hashlib.sha256(frozen).hexdigest(), memoryview(frozen))
