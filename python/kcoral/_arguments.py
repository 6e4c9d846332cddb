"""Snapshots of JSON values: what a program keeps of an argument that the caller may change."""

from __future__ import annotations

import math
from typing import Any

from kcoral._protocol.json_text import is_unicode

# A program nests 512 levels: itself, its instructions, one of them and its arguments are four.
MAX_ARGUMENT_DEPTH = 512 - 4

# Where in an argument: the path to the container and the place in it.
_Path = tuple[Any, Any]


def json_snapshot(value: object, what: str) -> Any:
    """A deep copy made of None, bool, int, float, str, list and dict alone.

    Tuples become lists. Raises TypeError for other types, ValueError for what JSON cannot say; the
    message begins with `what` and the path to the fault.
    """
    root: list[Any] = [None]
    # What is still to be copied: the value, where its copy goes, the path to it, its depth.
    stack: list[tuple[object, Any, Any, _Path, int]] = [(value, root, 0, (None, what), 0)]
    while stack:
        item, container, place, path, depth = stack.pop()
        copy: Any
        if isinstance(item, (list, tuple, dict)):
            if depth == MAX_ARGUMENT_DEPTH:
                raise ValueError(
                    f"{what} is nested more than {MAX_ARGUMENT_DEPTH} levels deep, "
                    "or contains itself"
                )
            if isinstance(item, dict):
                # All keys at once, to keep their order.
                copy = dict.fromkeys(_key(key, path) for key in item)
                inner = list(item.items())
            else:
                copy = [None] * len(item)
                inner = list(enumerate(item))
            for key, member in inner:
                stack.append((member, copy, key, (path, key), depth + 1))
        else:
            copy = _scalar(item, path)
        container[place] = copy
    return root[0]


def _text_of(path: _Path) -> str:
    parent, last = path
    return last if parent is None else f"{_text_of(parent)}[{last!r}]"


def _key(key: object, path: _Path) -> str:
    if not isinstance(key, str):
        raise TypeError(f"{_text_of(path)} has the key {key!r}; keys must be strings")
    return _text(key, path)


def _text(text: str, path: _Path) -> str:
    if not is_unicode(text):
        raise ValueError(f"{_text_of(path)} has a lone surrogate, which UTF-8 cannot say")
    return str.__str__(text)


def _scalar(item: object, path: _Path) -> Any:
    if item is None or isinstance(item, bool):
        return item
    if isinstance(item, str):
        return _text(item, path)
    if isinstance(item, int):
        return int.__index__(item)
    if isinstance(item, float):
        if not math.isfinite(item):
            raise ValueError(f"{_text_of(path)} is {item}, which JSON cannot say")
        return float.__float__(item)
    raise TypeError(f"{_text_of(path)} is {_description(item)}")


def _description(item: object) -> str:
    name = type(item).__name__
    if type(item).__name__ == "Register":
        return "a Register inside another value; only a whole argument can be one"
    if isinstance(item, (bytes, bytearray, memoryview)):
        return f"{name}; upload it (kind='bytes') and pass its Register as a whole argument"
    if type(item).__module__.partition(".")[0] == "numpy" and getattr(item, "ndim", None) == 0:
        return f"a NumPy {name}; pass .item() of it"
    if hasattr(item, "__dlpack__") or hasattr(item, "__array_interface__"):
        return (
            f"an array ({name}); upload it (kind='tensor') and pass its Register as a whole "
            "argument"
        )
    return f"a {name}; arguments are JSON values or Registers"
