"""Reads the members of JSON objects strictly: exactly those expected, each of its type."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any, NoReturn

from kcoral.errors import ProtocolError

_DIGEST = re.compile(r"[0-9a-f]{64}")


def fail(where: str, fault: str) -> NoReturn:
    raise ProtocolError(f"the server's response is not what the contract promises: {where} {fault}")


def check_members(value: Any, where: str, names: Iterable[str]) -> dict[str, Any]:
    """The value, which must be an object with exactly these members."""
    if not isinstance(value, dict):
        fail(where, "is not an object")
    expected = set(names)
    if value.keys() != expected:
        missing = ", ".join(sorted(expected - value.keys()))
        extra = ", ".join(sorted(value.keys() - expected))[:200]
        fail(where, f"lacks {missing}" if missing else f"has the unexpected {extra}")
    return value


def string(value: Any, where: str) -> str:
    if not isinstance(value, str):
        fail(where, "is not a string")
    return value


def name(value: Any, where: str) -> str:
    if not string(value, where):
        fail(where, "is empty")
    return str(value)


def optional_string(value: Any, where: str) -> str | None:
    return None if value is None else string(value, where)


def boolean(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        fail(where, "is not a boolean")
    return value


def count(value: Any, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        fail(where, "is not an integer from 0 on")
    return value


def number(value: Any, where: str) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        fail(where, "is not a number")
    try:
        converted = float(value)
    except OverflowError:
        fail(where, "is too large")
    return converted


def milliseconds(value: Any, where: str) -> float:
    time = number(value, where)
    if not math.isfinite(time) or time < 0:
        fail(where, "is not a time")
    return time


def array(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        fail(where, "is not an array")
    return value


def digest(value: Any, where: str) -> str:
    if not isinstance(value, str) or not _DIGEST.fullmatch(value):
        fail(where, "is not a SHA-256 in lowercase hexadecimal digits")
    return value
