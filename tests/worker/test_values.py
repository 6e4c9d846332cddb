"""What returns make of Python objects, and arguments of JSON."""

from __future__ import annotations

import math

import pytest
from programs import program
from seats import MIB, Tensor

# Expressions and what arrives; types matter as much as values.
VALUES = [
    ("None", None),
    ("True", True),
    ("0", 0),
    ("-1", -1),
    ("2**63 - 1", 2**63 - 1),
    ("-2**63", -(2**63)),
    ("2**63", 2**63),
    ("-10**5000", -(10**5000)),
    ("1.0", 1.0),
    ("-0.0", -0.0),
    ("1e300", 1e300),
    ("5e-324", 5e-324),
    ("0.1 + 0.2", 0.1 + 0.2),
    ("''", ""),
    (r"'\x00\x1f\"\\\n\u2028\U0001F600'", '\x00\x1f"\\\n\u2028\U0001f600'),
    ("b''", b""),
    ("b'\\x00\\xff'", b"\x00\xff"),
    ("bytearray(b'ab')", b"ab"),
    ("memoryview(b'abcdef')[::2]", b"ace"),
    ("memoryview(b'abcd').cast('H')", b"abcd"),
    ("[]", []),
    ("(1, [2, (3,)])", [1, [2, [3]]]),
    ("{}", {}),
    ("{'b': 1, 'a': {'': None}}", {"b": 1, "a": {"": None}}),
    ("[b'1', {'x': b'2', 'y': [b'3']}]", [b"1", {"x": b"2", "y": [b"3"]}]),
    ("__import__('enum').IntEnum('E', 'A B').B", 2),
    ("type('F', (float,), {})(2.5)", 2.5),
    ("type('S', (str,), {'__str__': lambda s: 'no'})('yes')", "yes"),
    ("type('D', (dict,), {})(a=1)", {"a": 1}),
    ("__import__('collections').namedtuple('P', 'x y')(1, 2)", [1, 2]),
    ("__import__('collections').Counter('aab')", {"a": 2, "b": 1}),
]

NUMPY_VALUES = [
    ("np.bool_(True)", True),
    ("np.int8(-3)", -3),
    ("np.uint64(2**64 - 1)", 2**64 - 1),
    ("np.float16(0.5)", 0.5),
    ("np.float64(0.25)", 0.25),
    ("ml_dtypes.bfloat16(1.5)", 1.5),
    ("np.str_('text')", "text"),
    ("np.zeros((2, 0), 'f4')", Tensor("float32", (2, 0), b"")),
    ("np.array(7, 'i4')", Tensor("int32", (), b"\x07\0\0\0")),
    ("np.array([1, 2], '>i2')", Tensor("int16", (2,), b"\1\0\2\0")),
    ("np.arange(6, dtype='u1').reshape(2, 3).T", Tensor("uint8", (3, 2), b"\0\3\1\4\2\5")),
    ("np.arange(6, dtype='u1')[::-2]", Tensor("uint8", (3,), b"\5\3\1")),
    ("np.array([True, False])", Tensor("bool", (2,), b"\1\0")),
    ("np.array([1.0], ml_dtypes.bfloat16)", Tensor("bfloat16", (1,), b"\x80\x3f")),
    ("np.array(1.0, ml_dtypes.float8_e4m3fn)", Tensor("float8_e4m3fn", (), b"\x38")),
    ("np.array([1.0], ml_dtypes.float8_e5m2)", Tensor("float8_e5m2", (1,), b"\x3c")),
    ("np.array([1.0], 'f2')", Tensor("float16", (1,), b"\0\x3c")),
    ("np.array([-1], 'i8')", Tensor("int64", (1,), b"\xff" * 8)),
    ("np.array([1.0])", Tensor("float64", (1,), b"\0\0\0\0\0\0\xf0\x3f")),
    ("np.array([-1], 'i1')", Tensor("int8", (1,), b"\xff")),
    ("np.broadcast_to(np.uint8(3), (2, 2))", Tensor("uint8", (2, 2), b"\3\3\3\3")),
]

REFUSED = [
    ("float('nan')", "NaN"),
    ("[1.0, float('-inf')]", "value[1]"),
    ("{1, 2}", "set"),
    ("{1: 2}", "int"),
    ("{'a': {2: 3}}", "['a']"),
    ("1j", "complex"),
    ("main", "function"),
    ("__import__('sys')", "module"),
    ("object()", "object"),
    (r"'\ud800'", "surrogate"),
    (r"{'\udfff': 1}", "surrogate"),
    ("np.float32('nan')", "NaN"),
    ("np.array([1j])", "complex128"),
    ("np.array(['a'])", "str"),
    ("np.array([object()])", "object"),
    ("np.array([1], 'u2')", "uint16"),
    ("np.zeros(1, [('a', 'i4')])", "void"),
    ("np.datetime64('2020')", "datetime64"),
    ("type('D', (dict,), {'items': lambda s: 1 / 0})(a=1)", "ZeroDivisionError"),
    ("type('D', (dict,), {'items': lambda s: [1]})(a=1)", "pairs"),
    ("(lambda m: (m.release(), m)[1])(memoryview(b''))", "memory view"),
]


def returning(expression: str) -> str:
    return f"import numpy as np, ml_dtypes\ndef main():\n    return {expression}\n"


@pytest.mark.parametrize(
    ("expression", "expected"), VALUES + NUMPY_VALUES, ids=[v[0] for v in VALUES + NUMPY_VALUES]
)
def test_a_value_arrives_with_its_type(call, expression, expected):
    outcome = call(returning(expression))
    assert outcome.error is None
    got = outcome.results["out"]
    assert got == expected
    assert type(got) is type(expected)
    if isinstance(expected, float):
        assert math.copysign(1, got) == math.copysign(1, expected)


@pytest.mark.parametrize(("expression", "reason"), REFUSED, ids=[v[0] for v in REFUSED])
def test_what_has_no_value_is_refused_by_name(call, expression, reason):
    outcome = call(returning(expression))
    assert outcome.kind == "serialization"
    assert reason in outcome.error["message"]
    assert outcome.error["instruction"] == 3
    assert outcome.results == {}


@pytest.mark.parametrize(("depth", "fails"), [(512, False), (513, True)])
@pytest.mark.parametrize("container", ["[x]", "(x,)", "{'k': x}"])
def test_values_nest_up_to_512_levels(call, depth, fails, container):
    outcome = call(
        f"def main():\n    x = 1\n    for _ in range({depth}):\n        x = {container}\n    return x\n"
    )
    assert (outcome.kind == "serialization") is fails
    if fails:
        assert "512" in outcome.error["message"]


def test_a_cycle_is_named(call):
    outcome = call("def main():\n    x = {}\n    x['self'] = [x]\n    return x\n")
    assert outcome.kind == "serialization"
    assert "contains itself" in outcome.error["message"]


def test_a_million_elements_pass(call):
    outcome = call("def main():\n    return list(range(10**6))\n")
    assert outcome.results["out"] == list(range(10**6))


def test_the_payload_limit_holds_on_both_sides(zygote):
    source = "def main(n):\n    return bytes(n)\n"
    for size, kind in ((100, None), (101, "response_too_large")):
        outcome = zygote.fork().run(*program(source, size), max_result_bytes=100)
        assert outcome.kind == kind


def test_the_payload_limit_counts_all_returns_together(worker):
    instructions = program("def main():\n    return bytes(60)\n")
    again = {"op": "return", "key": "again", "value": {"$ref": "r"}}
    outcome = worker.run(*instructions, again, max_result_bytes=110)
    assert outcome.kind == "response_too_large"
    assert outcome.results == {"out": bytes(60)}


def test_a_text_beyond_the_limit_is_refused_before_it_grows(call):
    source = "def main():\n    x = 1\n    for _ in range(60):\n        x = [x, x]\n    return x\n"
    assert call(source, max_result_bytes=MIB).kind == "response_too_large"


ARGUMENTS = [
    None,
    True,
    -3,
    10**40,
    1.5,
    "text \u00e9\U0001f600",
    [1, [2, {"$ref": "literal"}]],
    {"a": {"b": None}, "$ref": 1},
]


def test_arguments_keep_their_types(call):
    source = "def main(*a):\n    return [[type(x).__name__, x] for x in a]\n"
    outcome = call(source, *ARGUMENTS)
    assert outcome.results["out"] == [[type(x).__name__, x] for x in ARGUMENTS]


def test_huge_integers_go_there_and_back(call):
    number = 10**6000 - 1
    outcome = call("def main(x):\n    return [x, x + 1 == 10**6000]\n", number)
    assert outcome.results["out"] == [number, True]


def test_the_digit_limit_of_the_interpreter_stays_as_it_was(call):
    source = "import sys\ndef main(x):\n    return sys.get_int_max_str_digits()\n"
    assert call(source, 10**6000).results["out"] == 4300


def test_parts_are_numbered_within_each_return(worker):
    instructions = program("def main():\n    return [b'one', b'two']\n")
    again = {"op": "return", "key": "again", "value": {"$ref": "r"}}
    outcome = worker.run(*instructions, again)
    assert outcome.results == {"out": [b"one", b"two"], "again": [b"one", b"two"]}
