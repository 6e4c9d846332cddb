"""Strict JSON, whichever way it is read or written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kcoral._protocol import json_text
from kcoral._protocol.json_text import JsonError

Parse = Callable[[bytes], Any]


def parse_deep(text: bytes) -> Any:
    return json_text._parse_deep(text.decode())


@pytest.fixture(params=[json_text.parse, parse_deep], ids=["library", "own"])
def parse(request: pytest.FixtureRequest) -> Parse:
    function: Parse = request.param
    return function


BIG = 10**6000 + 7


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("null", None),
        (" true ", True),
        ("false", False),
        ("-0", 0),
        ("12", 12),
        ("-0.5e-3", -0.0005),
        ("1E2", 100.0),
        ('"a\\u00e9\\ud83d\\ude00\\n"', "aé\U0001f600\n"),
        ("[]", []),
        ("{ }", {}),
        ('[1, [2, {"a": [ ] , "b":{}}], "x"]', [1, [2, {"a": [], "b": {}}], "x"]),
        ('{"a":1,"b":[{"c":null}]}', {"a": 1, "b": [{"c": None}]}),
        ("1" + "0" * 5999 + "7", BIG),
        ("-1" + "0" * 5999 + "7", -BIG),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else "",
)
def test_values(parse: Parse, text: str, value: Any) -> None:
    got = parse(text.encode())
    assert got == value
    assert type(got) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "nul", "tru", "+1", "01", "1.", ".5", "1e", "--1", "NaN", "Infinity", "-Infinity",
        "1e400", "-1e400", "'a'", '"a', '"\\x"', '"a\nb"', "[1,]", "[,1]", "[1 2]", "[", "]", "[1}",
        '{"a"}', '{"a":}', '{"a":1,}', "{1:2}", '{"a":1 "b":2}', '{"a":1]', '{"a":1,"a":1}',
        "1 2", "[] []", "{,}",
    ],
    ids=lambda text: text or "empty",
)  # fmt: skip
def test_what_is_not_json(parse: Parse, text: str) -> None:
    with pytest.raises(ValueError):
        parse(text.encode())


@pytest.mark.parametrize(
    "text",
    [b"\xef\xbb\xbf1", b'"\xff"', b'"\\ud800"', b'{"\\udc00":1}', b'[["\\ud800x"]]'],
    ids=["bom", "bytes", "surrogate", "key", "nested"],
)
def test_what_is_not_unicode(text: bytes) -> None:
    with pytest.raises(JsonError):
        json_text.parse(text)


def test_nesting_is_bounded_and_no_recursion_is_needed() -> None:
    deepest = b"[" * json_text.MAX_DEPTH + b"]" * json_text.MAX_DEPTH
    value = parse_deep(deepest)
    for _ in range(json_text.MAX_DEPTH - 1):
        (value,) = value
    assert value == []
    json_text.parse(deepest)
    with pytest.raises(JsonError, match="levels"):
        parse_deep(b"[" + deepest + b"]")


@pytest.mark.parametrize(
    "value",
    [
        None,
        [True, False, 0, -1, 0.1, 1e300, 'é\n"\\', {}, [], {"a": [{}], "b": 1}],
        [BIG, {"x": -BIG}, 10**4000, 10**4000 - 1, 10**8000],
    ],
    ids=["null", "everything", "big"],
)
def test_writing_and_reading_back(value: Any) -> None:
    assert json_text.parse(json_text.write(value)) == value
    pieces = "".join(json_text._pieces(value)).encode()
    assert json_text.parse(pieces) == value
    if BIG not in (value or []):
        assert pieces == json_text.write(value)


def test_writing_deep_values_needs_no_recursion() -> None:
    value: Any = 0
    for _ in range(3000):
        value = [value]
    assert json_text.write(value) == b"[" * 3000 + b"0" + b"]" * 3000


def test_not_a_number_is_not_written() -> None:
    with pytest.raises(ValueError):
        json_text.write([float("nan")])
