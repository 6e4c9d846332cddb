"""Strict JSON: UTF-8, no duplicate keys, finite numbers, integers of any size, bounded nesting.

The standard library does the work. Where it cannot - nesting beyond the interpreter's recursion
limit, integers beyond its digit limit - the slow forms at the end of this file take over.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

# Each level of a returned value takes two of JSON, and values nest 512 deep.
MAX_DEPTH = 2 * 512 + 16

_DIGITS_AT_ONCE = 4000  # below the least limit that Python has for conversions of integers


class JsonError(ValueError):
    """The text is not strict JSON."""


def parse(text: bytes | bytearray) -> Any:
    """The value that the text stands for, in Python's own types. Raises JsonError."""
    try:
        decoded = text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise JsonError(f"not UTF-8: {error.reason} at byte {error.start}") from None
    if decoded.startswith("\ufeff"):
        raise JsonError("begins with a byte order mark")
    try:
        try:
            value = _decoder.decode(decoded)
        except RecursionError:
            value = _parse_deep(decoded)
    except JsonError:
        raise
    except ValueError as error:
        raise JsonError(str(error)) from None
    if "\\u" in decoded and _has_surrogate(value):
        raise JsonError("has a lone surrogate escape")
    return value


def write(value: Any) -> bytes:
    """The text of a tree of None, bool, int, finite float, str, list and dict with string keys."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (RecursionError, ValueError):
        text = "".join(_pieces(value))
    return text.encode("utf-8")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise JsonError(f"the key {key!r} is there twice")
            seen.add(key)
    return members


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise JsonError(f"the number {text[:40]} is too large")
    return number


def _integer(text: str) -> int:
    if len(text) <= _DIGITS_AT_ONCE:
        return int(text)
    digits = text.lstrip("-")
    magnitude = _magnitude(digits)
    return -magnitude if text.startswith("-") else magnitude


def _magnitude(digits: str) -> int:
    if len(digits) <= _DIGITS_AT_ONCE:
        return int(digits)
    low = len(digits) // 2
    shift: int = 10**low
    return _magnitude(digits[:-low]) * shift + _magnitude(digits[-low:])


def _no_constant(text: str) -> float:
    raise JsonError(f"{text} is not JSON")


_decoder = json.JSONDecoder(
    object_pairs_hook=_unique,
    parse_float=_finite,
    parse_int=_integer,
    parse_constant=_no_constant,
)


def _has_surrogate(value: Any) -> bool:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            if not is_unicode(item):
                return True
        elif isinstance(item, dict):
            stack.extend(item)
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
    return False


def is_unicode(text: str) -> bool:
    """Whether the string has no lone surrogate, so that it can be UTF-8."""
    if text.isascii():
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


# --- parsing without recursion

_space = re.compile(r"[ \t\n\r]*")
_number = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_literals = {"null": None, "true": True, "false": False}


def _parse_deep(text: str) -> Any:
    """What the standard decoder does, with a stack of its own instead of the interpreter's."""
    # A container that is open: its items so far, and the key that waits for a value.
    open_lists: list[list[Any] | list[tuple[str, Any]]] = []
    keys: list[str | None] = []  # None: the container is an array
    position = _skip(text, 0)
    while True:
        # Here a value begins.
        value: Any
        if text.startswith("[", position) or text.startswith("{", position):
            if len(open_lists) == MAX_DEPTH:
                raise JsonError(f"nested more than {MAX_DEPTH} levels deep")
            is_object = text[position] == "{"
            position = _skip(text, position + 1)
            if not text.startswith("}" if is_object else "]", position):
                open_lists.append([])
                key = None
                if is_object:
                    key, position = _key(text, position)
                keys.append(key)
                continue
            position += 1
            value = {} if is_object else []
        else:
            value, position = _scalar(text, position)
        # A value ended; so may the containers around it.
        while True:
            position = _skip(text, position)
            if not open_lists:
                if position != len(text):
                    raise JsonError(f"extra data at character {position}")
                return value
            key = keys[-1]
            open_lists[-1].append(value if key is None else (key, value))
            if text.startswith(",", position):
                position = _skip(text, position + 1)
                if key is not None:
                    keys[-1], position = _key(text, position)
                break
            if not text.startswith("]" if key is None else "}", position):
                raise JsonError(f"expected ',' or an end at character {position}")
            position += 1
            keys.pop()
            items: Any = open_lists.pop()
            value = items if key is None else _unique(items)


def _skip(text: str, position: int) -> int:
    match = _space.match(text, position)
    assert match is not None
    return match.end()


def _key(text: str, position: int) -> tuple[str, int]:
    if not text.startswith('"', position):
        raise JsonError(f"expected a key at character {position}")
    key, position = scanstring(text, position + 1)
    position = _skip(text, position)
    if not text.startswith(":", position):
        raise JsonError(f"expected ':' at character {position}")
    return key, _skip(text, position + 1)


def _scalar(text: str, position: int) -> tuple[Any, int]:
    if text.startswith('"', position):
        string, end = scanstring(text, position + 1)
        return string, end
    for word, value in _literals.items():
        if text.startswith(word, position):
            return value, position + len(word)
    match = _number.match(text, position)
    if match is None:
        raise JsonError(f"expected a value at character {position}")
    is_integer = match.group(1) is None and match.group(2) is None
    return (_integer if is_integer else _finite)(match.group()), match.end()


# --- writing without recursion


def _pieces(value: Any) -> Iterator[str]:
    stack: list[Any] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, _Text):
            yield item
        elif isinstance(item, dict):
            entries: list[Any] = [_Text("{")]
            for key, member in item.items():
                comma = "," if len(entries) > 1 else ""
                entries += [_Text(f"{comma}{json.dumps(key, ensure_ascii=False)}:"), member]
            stack.extend(reversed([*entries, _Text("}")]))
        elif isinstance(item, list):
            entries = [_Text("[")]
            for element in item:
                if len(entries) > 1:
                    entries.append(_Text(","))
                entries.append(element)
            stack.extend(reversed([*entries, _Text("]")]))
        elif isinstance(item, int) and not isinstance(item, bool):
            yield _decimal(item)
        else:
            yield json.dumps(item, ensure_ascii=False, allow_nan=False)


class _Text(str):
    """A piece of JSON, not a string to be quoted."""


def _decimal(number: int) -> str:
    if abs(number) < 10**_DIGITS_AT_ONCE:
        return str(number)
    sign = "-" if number < 0 else ""
    return sign + _digits(abs(number), 1 + int(number.bit_length() * math.log10(2)))


def _digits(magnitude: int, at_most: int) -> str:
    if at_most <= _DIGITS_AT_ONCE:
        return str(magnitude)
    low = at_most // 2
    high, rest = divmod(magnitude, 10**low)
    upper = _digits(high, at_most - low)
    lower = _digits(rest, low)
    return lower if upper == "0" else upper + lower.rjust(low, "0")
