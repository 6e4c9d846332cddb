"""protocol.md, 4: every kind of value a program can return, and those it cannot."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from server_process import Server
from wire import call, execute, function, module, ref, returned, run, sha256


def node(reply: Any, key: str = "out") -> Any:
    """The value tree as it was sent."""
    return reply.completed()["results"][key]


def scalar(kind: str, value: Any) -> dict[str, Any]:
    return {"type": kind, "value": value}


@dataclass
class Plain:
    expression: str
    tree: Any


PLAIN = [
    Plain("None", {"type": "null"}),
    Plain("True", scalar("boolean", True)),
    Plain("False", scalar("boolean", False)),
    Plain("0", scalar("integer", 0)),
    Plain("-(2**63)", scalar("integer", -(2**63))),
    Plain("2**64", scalar("integer", 2**64)),
    Plain("-10**400", scalar("integer", -(10**400))),
    Plain("1.5", scalar("number", 1.5)),
    Plain("-0.0", scalar("number", -0.0)),
    Plain("2.0", scalar("number", 2.0)),
    Plain("1e300", scalar("number", 1e300)),
    Plain("5e-324", scalar("number", 5e-324)),
    Plain("0.1 + 0.2", scalar("number", 0.1 + 0.2)),
    Plain("''", scalar("string", "")),
    Plain(
        r"'\0\x1f\"\\/\u2028ä\U0001f600\x7f'", scalar("string", '\0\x1f"\\/\u2028ä\U0001f600\x7f')
    ),
    Plain("[]", scalar("array", [])),
    Plain("()", scalar("array", [])),
    Plain("(1, [2.0, ('x',)])", None),
    Plain("{}", scalar("object", {})),
    Plain("{'b': 1, 'a': None, '': [], 'c': {'z': 1, 'y': 2}}", None),
    # Subclasses
    Plain("type('I', (int,), {})(3)", scalar("integer", 3)),
    Plain("type('F', (float,), {})(3)", scalar("number", 3.0)),
    Plain("type('S', (str,), {})('x')", scalar("string", "x")),
    Plain("type('L', (list,), {})([1])", scalar("array", [scalar("integer", 1)])),
    Plain("type('D', (dict,), {})(a=1)", scalar("object", {"a": scalar("integer", 1)})),
    Plain("enum.IntEnum('E', 'ONE')(1)", scalar("integer", 1)),
    Plain("collections.namedtuple('T', 'a')(1)", scalar("array", [scalar("integer", 1)])),
    Plain("collections.OrderedDict(b=None, a=None)", None),
    Plain("collections.defaultdict(list, a=1)", scalar("object", {"a": scalar("integer", 1)})),
    # NumPy's scalars
    Plain("numpy.bool_(True)", scalar("boolean", True)),
    Plain("numpy.int64(-5)", scalar("integer", -5)),
    Plain("numpy.uint64(2**64 - 1)", scalar("integer", 2**64 - 1)),
    Plain("numpy.float32(0.5)", scalar("number", 0.5)),
    Plain("numpy.float64(0.1)", scalar("number", 0.1)),
    Plain("numpy.float16(2)", scalar("number", 2.0)),
]
BY_HAND: dict[str, Any] = {
    "(1, [2.0, ('x',)])": scalar(
        "array",
        [
            scalar("integer", 1),
            scalar("array", [scalar("number", 2.0), scalar("array", [scalar("string", "x")])]),
        ],
    ),
    "{'b': 1, 'a': None, '': [], 'c': {'z': 1, 'y': 2}}": scalar(
        "object",
        {
            "b": scalar("integer", 1),
            "a": {"type": "null"},
            "": scalar("array", []),
            "c": scalar("object", {"z": scalar("integer", 1), "y": scalar("integer", 2)}),
        },
    ),
    "collections.OrderedDict(b=None, a=None)": scalar(
        "object", {"b": {"type": "null"}, "a": {"type": "null"}}
    ),
}
IMPORTS = "import collections, enum, numpy, sys\n"


def exactly(tree: Any) -> str:
    """Tells 1 from 1.0 and True, and one order of members from another."""
    return repr(tree)


@pytest.mark.parametrize("plain", PLAIN, ids=lambda plain: plain.expression[:40])
def test_a_plain_value(server: Server, plain: Plain) -> None:
    expected = BY_HAND[plain.expression] if plain.tree is None else plain.tree
    reply = execute(server, call(f"{IMPORTS}def main(): return {plain.expression}"))
    assert exactly(node(reply)) == exactly(expected)


# ---- Binary values

BINARY = [
    ("b''", b""),
    ("b'\\0\\xff'", b"\0\xff"),
    ("bytearray(b'ab')", b"ab"),
    ("memoryview(b'abcdef')[1:5:2]", b"bd"),
    ("type('B', (bytes,), {})(b'sub')", b"sub"),
    ("bytes(3_000_000)", bytes(3_000_000)),
]


@pytest.mark.parametrize(("expression", "data"), BINARY, ids=[name for name, _ in BINARY])
def test_bytes(server: Server, expression: str, data: bytes) -> None:
    reply = execute(server, call(f"def main(): return {expression}"))
    assert node(reply) == {"type": "bytes", "part": "return:0", "sha256": sha256(data)}
    assert reply.parts == {"return:0": data}


ARRAYS = [
    ("numpy.zeros((), 'float64')", "float64", [], bytes(8)),
    ("numpy.array([True, False])", "bool", [2], b"\1\0"),
    ("numpy.arange(4, dtype='uint8')", "uint8", [4], b"\0\1\2\3"),
    ("numpy.array([[-1, 1]], 'int8')", "int8", [1, 2], b"\xff\1"),
    ("numpy.array([1, -2], 'int16')", "int16", [2], b"\1\0\xfe\xff"),
    ("numpy.array([1], '>i4')", "int32", [1], b"\1\0\0\0"),
    ("numpy.array([1], 'int64')", "int64", [1], b"\1" + bytes(7)),
    ("numpy.array([1], 'float16')", "float16", [1], np.float16(1).tobytes()),
    ("numpy.array([0.5, -2], '>f4')", "float32", [2], np.array([0.5, -2], "<f4").tobytes()),
    (
        "numpy.arange(6.0).reshape(2, 3).T",
        "float64",
        [3, 2],
        np.ascontiguousarray(np.arange(6.0).reshape(2, 3).T).tobytes(),
    ),
    ("numpy.arange(8, dtype='int32')[::-3]", "int32", [3], np.array([7, 4, 1], "<i4").tobytes()),
    ("numpy.zeros((0, 3), 'float32')", "float32", [0, 3], b""),
    ("numpy.asfortranarray(numpy.eye(2))", "float64", [2, 2], np.eye(2).tobytes()),
    ("numpy.broadcast_to(numpy.int8(7), (3,))", "int8", [3], b"\7\7\7"),
    ("numpy.array([1, 2], ml_dtypes.bfloat16)", "bfloat16", [2], b"\x80\x3f\x00\x40"),
    ("numpy.array([1], ml_dtypes.float8_e4m3fn)", "float8_e4m3fn", [1], b"\x38"),
    ("numpy.array([1], ml_dtypes.float8_e5m2)", "float8_e5m2", [1], b"\x3c"),
]


@pytest.mark.parametrize(
    ("expression", "dtype", "shape", "data"), ARRAYS, ids=[array[0] for array in ARRAYS]
)
def test_a_numpy_array_is_a_tensor(
    server: Server, expression: str, dtype: str, shape: list[int], data: bytes
) -> None:
    reply = execute(server, call(f"import ml_dtypes, numpy\ndef main(): return {expression}"))
    assert node(reply) == {
        "type": "tensor",
        "dtype": dtype,
        "shape": shape,
        "part": "return:0",
        "sha256": sha256(data),
    }
    assert reply.parts == {"return:0": data}


def test_parts_are_numbered_depth_first_over_the_results_in_order(server: Server) -> None:
    source = """
        def first(): return {'z': b'0', 'a': [b'1', {'m': (b'2',)}], 'b': b'3'}
        def second(): return None
        def third(): return [b'4', b'0']
    """
    instructions = [module(source)]
    for name in ("first", "second", "third"):
        instructions += [
            function(name, id=f"f {name}"),
            run(fn=f"f {name}", id=f"r {name}"),
            returned(f"{name[::-1]}", f"r {name}"),
        ]
    reply = execute(server, instructions)
    results = reply.results()
    assert list(results) == ["tsrif", "dnoces", "driht"]
    assert list(results["tsrif"]) == ["z", "a", "b"]
    # The bytes that are there twice have a part each.
    expected = [b"0", b"1", b"2", b"3", b"4", b"0"]
    assert reply.parts == {f"return:{i}": data for i, data in enumerate(expected)}


def test_one_value_may_be_returned_many_times(server: Server) -> None:
    reply = execute(server, [*call("def main(): return [b'x']"), returned("again"), returned("m")])
    assert reply.results() == {"out": [b"x"], "again": [b"x"], "m": [b"x"]}
    assert len(reply.parts) == 3


def test_shared_parts_of_a_value_are_no_cycle(server: Server) -> None:
    source = "def main():\n  a = [1]\n  return [a, a, {'a': a}]"
    assert execute(server, call(source)).results() == {"out": [[1], [1], {"a": [1]}]}


def test_a_result_that_looks_like_the_boundary_is_sent_whole(server: Server) -> None:
    reply = execute(server, call("def main(): return b'x'"))
    reply.completed()
    content_type = reply.header("Content-Type")
    assert content_type is not None
    boundary = content_type.partition("boundary=")[2].strip('"')
    source = (
        f"def main(): return [b'\\r\\n--{boundary}--\\r\\n', b'\\r\\n--{boundary}\\r\\n\\r\\n']"
    )
    data = [f"\r\n--{boundary}--\r\n".encode(), f"\r\n--{boundary}\r\n\r\n".encode()]
    assert execute(server, call(source)).results() == {"out": data}


def test_handles_of_every_upload_are_values_too(server: Server) -> None:
    assert execute(server, [module("x = 1"), returned(value="m")]).failed("serialization")
    instructions = [module("x = [1]"), function("x"), returned(value="f")]
    assert execute(server, instructions).results() == {"out": [1]}


def test_very_many_values_in_one_result(server: Server) -> None:
    reply = execute(server, call("def main(): return list(range(200_000))"))
    document = json.loads(reply.body)
    values = document["results"]["out"]["value"]
    assert len(values) == 200_000 and values[-1] == scalar("integer", 199_999)


# ---- What cannot be returned

NOT_VALUES = [
    "float('nan')",
    "float('inf')",
    "[0.0, -float('inf')]",
    "numpy.float32('nan')",
    "{1, 2}",
    "frozenset()",
    "len",
    "lambda: 0",
    "sys",
    "1j",
    "numpy.complex64(1)",
    "object()",
    "int",
    "range(3)",
    "iter([])",
    "{1: 2}",
    "{None: 2}",
    "{'a': {b'b': 1}}",
    r"'\ud800'",
    r"['ok', '\udfff']",
    r"{'\ud800': 1}",
    "numpy.array(['text'])",
    "numpy.array([1j])",
    "numpy.array([object()])",
    "numpy.array([1], 'uint16')",
    "numpy.array([1], 'datetime64[s]')",
    "Exception('x')",
    "...",
    "NotImplemented",
]


@pytest.mark.parametrize("expression", NOT_VALUES)
def test_anything_else_fails_its_return_alone(server: Server, expression: str) -> None:
    source = f"{IMPORTS}def good(): return b'kept'\ndef main(): return {expression}"
    instructions = [
        module(source),
        function("good", id="g"),
        run(fn="g", id="good"),
        function(),
        run(),
        returned("before", "good"),
        returned("fails"),
        returned("after", "good"),
    ]
    reply = execute(server, instructions)
    error = reply.failed("serialization")
    assert error["instruction_index"] == 6
    assert error["instruction_op"] == "return"
    assert error["instruction_id"] is None
    # What came before it stays, numbered without a gap; what failed is not there at all.
    assert reply.values(reply.execution()["results"]) == {"before": b"kept"}


def test_a_return_that_fails_half_way_contributes_nothing(server: Server) -> None:
    source = "def main(): return [b'1', b'2', {3}]"
    reply = execute(server, call(source))
    reply.failed("serialization")
    assert reply.document["results"] == {}
    assert reply.header("Content-Type") == "application/json"


CYCLES = [
    "a = []; a.append(a)",
    "a = {}; a['a'] = [a]",
    "a = b = []\n  for _ in range(600): b.append([]); b = b[0]",
]


@pytest.mark.parametrize("source", CYCLES)
def test_cycles_and_bottomless_values_are_refused(server: Server, source: str) -> None:
    reply = execute(server, call(f"def main():\n  {source}\n  return a"))
    assert reply.failed("serialization")["instruction_index"] == 3


def deep(levels: int) -> str:
    return f"""
        def main():
            a = b = []
            for _ in range({levels - 1}):
                b.append([])
                b = b[0]
            return a
    """


def test_values_nest_up_to_512_levels(server: Server) -> None:
    document = execute(server, call(deep(512))).body
    assert document.count(b'"array"') == 512
    execute(server, call(deep(513))).failed("serialization")


# ---- Uploaded values


def test_arguments_of_a_run_come_in_order(server: Server) -> None:
    source = "def main(*args): return list(args)"
    instructions = call(source, 1, "two", [3], {"four": 4}, None, True, 2.5)
    assert execute(server, instructions).results() == {
        "out": [1, "two", [3], {"four": 4}, None, True, 2.5]
    }


def test_a_run_may_have_no_arguments_field(server: Server) -> None:
    instructions = call("def main(): return 5")
    del instructions[2]["args"]
    assert execute(server, instructions).results() == {"out": 5}


def test_handles_are_the_objects_themselves(server: Server) -> None:
    source = """
        class Box:
            pass
        box = Box()
        def change(box): box.value = 7
        def look(box): return box.value
    """
    instructions = [
        module(source),
        function("box", id="box"),
        function("change", id="c"),
        function("look", id="l"),
        run(ref("box"), fn="c", id="changed"),
        run(ref("box"), fn="l", id="looked"),
        returned("changed", "changed"),
        returned("looked", "looked"),
    ]
    assert execute(server, instructions).results() == {"changed": None, "looked": 7}
