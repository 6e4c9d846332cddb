"""protocol.md, 2: the rules of a program. A broken one is 400 `parse` with the fault's path."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from server_process import Server
from wire import (
    call,
    execute,
    execute_text,
    function,
    module,
    ref,
    returned,
    returned_path,
    run,
    sha256,
    upload,
)

# ---- JSON

DATA = b"data"
ECHO = "def main(*args): return list(args)"


@dataclass
class BadText:
    name: str
    text: bytes
    says: str


def echo_text(argument: str) -> bytes:
    """A program that returns its one argument, which is written down as it is."""
    marker = "the argument's place"
    text = json.dumps({"instructions": call(ECHO, marker)})
    return text.replace(json.dumps(marker), argument).encode("utf-8", "surrogatepass")


BAD_TEXTS = [
    BadText("empty", b"", "nothing"),
    BadText("blank", b" \n", "nothing"),
    BadText("not JSON", b"instructions", "line 1, column 1"),
    BadText("cut off", b'{"instructions": [', "complete"),
    BadText("two values", b"{} {}", "more"),
    BadText("a trailing comma", b'{"instructions": [],}', "line 1"),
    BadText("a comment", b'{"instructions": [] /* none */}', "line 1"),
    BadText("single quotes", b"{'instructions': []}", "line 1"),
    BadText("a byte order mark", b"\xef\xbb\xbf{}", "byte order mark"),
    BadText("UTF-16", '{"instructions": []}'.encode("utf-16"), "line 1"),
    BadText("Latin-1", '{"ä": 1}'.encode("latin-1"), "UTF-8"),
    BadText("an overlong encoding", b'{"\xc0\xaf": 1}', "UTF-8"),
    BadText("an encoded surrogate", echo_text('"\ud800"'), "UTF-8"),
    BadText("a control character", b'{"a\nb": 1}', "line 1"),
    BadText("NaN", echo_text("NaN"), "line 1"),
    BadText("Infinity", echo_text("Infinity"), "line 1"),
    BadText("minus Infinity", echo_text("-Infinity"), "line 1"),
    BadText("a number beyond doubles", echo_text("1e309"), "double"),
    BadText("a negative one", echo_text("-1.5e400"), "double"),
    BadText("a leading zero", echo_text("012"), "line 1"),
    BadText("a leading plus", echo_text("+1"), "line 1"),
    BadText("a bare point", echo_text("1."), "line 1"),
    BadText("hexadecimal", echo_text("0x10"), "line 1"),
    BadText("a lone surrogate", echo_text(r'"\ud800"'), "surrogate"),
    BadText("a lone trailing one", echo_text(r'"\udc00"'), "surrogate"),
    BadText("the wrong way round", echo_text(r'"\udc00\ud800"'), "surrogate"),
    BadText("a leading one and text", echo_text(r'"\ud800x"'), "surrogate"),
    BadText("a surrogate as a key", echo_text(r'{"\udfff": 1}'), "surrogate"),
    BadText("a bad escape", echo_text(r'"\x41"'), "line 1"),
    BadText("nesting", b"[" * 100_000, "deeper"),
    BadText("a key twice", b'{"instructions": [], "instructions": []}', "twice"),
    BadText("a key twice within", echo_text('{"a": {"b": 1, "c": 2, "b": 1}}'), "twice"),
    BadText("a key twice, escaped", echo_text(r'{"a": 1, "\u0061": 2}'), "twice"),
    BadText("an array", b"[]", "program: expected an object, got an array"),
    BadText("a string", b'"program"', "program: expected an object"),
    BadText("null", b"null", "program: expected an object"),
]


@pytest.mark.parametrize("bad", BAD_TEXTS, ids=lambda bad: bad.name)
def test_what_is_no_strict_json_object_is_refused(server: Server, bad: BadText) -> None:
    message = execute_text(server, bad.text).error(400, "parse")
    assert message.startswith("program")
    assert bad.says in message


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


def test_nesting_is_bounded_at_512_levels(server: Server) -> None:
    # The program, its instructions, the instruction and its arguments are four levels.
    reply = execute_text(server, echo_text(nested(508)))
    assert reply.body.startswith(b'{"status":"COMPLETED"')  # too deep for Python's own parser
    assert "512" in execute_text(server, echo_text(nested(509))).error(400, "parse")


EXACT = [
    "0",
    "-1",
    "9007199254740993",
    "18446744073709551616",
    "-170141183460469231731687303715884105729",
    "1" + "0" * 400,
    "1" * 5000,
]


@pytest.mark.parametrize("digits", EXACT, ids=lambda digits: digits[:20])
def test_integers_of_any_size_stay_exact(server: Server, digits: str) -> None:
    reply = execute_text(server, echo_text(digits))
    assert reply.body.startswith(b'{"status":"COMPLETED"')
    assert f'{{"type":"integer","value":{digits}}}'.encode() in reply.body


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.5", 1.5),
        ("1e5", 1e5),
        ("1E+2", 100.0),
        ("-0.0", -0.0),
        ("5e-324", 5e-324),
        ("1e-400", 0.0),
        ("1.7976931348623157e308", 1.7976931348623157e308),
        ("0.1", 0.1),
        (r'"\ud83d\ude00\u0000\/\b"', "\U0001f600\0/\b"),
        ('"\U0001f600"', "\U0001f600"),
        ('{"b": [], "a": {}, "": null, "a\\nb": true}', {"b": [], "a": {}, "": None, "a\nb": True}),
    ],
)
def test_every_other_json_value_arrives_as_it_is(server: Server, text: str, value: Any) -> None:
    out = execute_text(server, echo_text(text)).results()["out"]
    assert repr(out) == repr([value])  # also the order of members and the sign of zero


# ---- Fields

GOOD: list[dict[str, Any]] = [
    {"op": "upload", "kind": "module", "id": "m", "source": ECHO},
    {"op": "upload", "kind": "bytes", "id": "b", "blob": sha256(DATA)},
    {
        "op": "upload",
        "kind": "tensor",
        "id": "t",
        "blob": sha256(DATA),
        "dtype": "int8",
        "shape": [4],
    },
    {"op": "upload", "kind": "file", "id": "p", "blob": sha256(DATA), "path": "a/b.txt"},
    {"op": "get_function", "id": "f", "module": ref("m"), "name": "main", "cpu_only": False},
    {"op": "run", "id": "r", "fn": ref("f"), "args": [ref("b")]},
    {"op": "return", "key": "value", "value": ref("r")},
    {"op": "return", "key": "file", "kind": "file", "path": ref("p")},
    {"op": "return", "key": "folder", "kind": "folder", "path": "a"},
]
# Upload of a library is refused at run time here; its fields are checked like any other's.
LIBRARY = {"op": "upload", "kind": "library", "id": "l", "blob": sha256(DATA)}
M, B, T, P, F, R, VALUE, FILE, FOLDER = range(len(GOOD))


def refused(server: Server, instructions: Any, path: str, *, options: Any = None) -> str:
    """Sends the program and checks that the message begins with the path to the fault."""
    program: dict[str, Any] = {"instructions": instructions}
    if options is not None:
        program["options"] = options
    message = execute_text(server, program, [DATA]).error(400, "parse")
    assert message.startswith(path + ":"), message
    return message


def test_the_good_program_is_good(server: Server) -> None:
    results = execute(server, GOOD, blobs=[DATA]).results()
    assert results == {"value": [DATA], "file": DATA, "folder": {"b.txt": DATA}}


OPTIONAL = {(F, "cpu_only"), (R, "args")}
FIELDS = [(index, name) for index, good in enumerate(GOOD) for name in good]


def field_ids(field: Any) -> str:
    index, name = field
    return f"{GOOD[index]['op']}-{GOOD[index].get('kind', 'value')}-{name}"


@pytest.mark.parametrize("field", FIELDS, ids=field_ids)
def test_a_field_that_is_missing_is_refused_unless_it_is_optional(
    server: Server, field: tuple[int, str]
) -> None:
    index, name = field
    instructions = copy.deepcopy(GOOD)
    del instructions[index][name]
    if field in OPTIONAL:
        execute(server, instructions, blobs=[DATA]).completed()
    elif field == (VALUE, "value"):
        # A return with neither `value` nor `kind`: either may be what is missing.
        refused(server, instructions, f"instructions[{index}]")
    else:
        program = {"instructions": instructions}
        message = execute_text(server, program, [DATA]).error(400, "parse")
        assert message.startswith(f"instructions[{index}]")
        assert name in message


@pytest.mark.parametrize("field", FIELDS, ids=field_ids)
@pytest.mark.parametrize("value", [None, 7, [{}], {"a": 1}], ids=["null", "7", "array", "object"])
def test_a_field_of_another_kind_is_refused(
    server: Server, field: tuple[int, str], value: Any
) -> None:
    index, name = field
    if name == "args" and value == [{}]:
        return  # that is an array of arguments
    instructions = copy.deepcopy(GOOD)
    instructions[index][name] = value
    path = f"instructions[{index}].{name}"
    if name == "shape" and isinstance(value, list):
        path += "[0]"
    refused(server, instructions, path)


@pytest.mark.parametrize("index", range(len(GOOD)), ids=lambda i: f"{GOOD[i]['op']}-{i}")
@pytest.mark.parametrize("name", ["unknown", "blob", "args", "options", "Id", "cpu_only", ""])
def test_an_unknown_field_is_refused(server: Server, index: int, name: str) -> None:
    if name in GOOD[index]:
        return
    instructions = copy.deepcopy(GOOD)
    instructions[index][name] = "x"
    assert f'"{name}"' in refused(server, instructions, f"instructions[{index}]")


Change = Callable[[list[dict[str, Any]]], Any]


def put(index: int, name: str, value: Any) -> Change:
    return lambda instructions: instructions[index].update({name: value})


@dataclass
class Rule:
    name: str
    change: Change
    path: str
    says: str = ""


RULES = [
    Rule(
        "an instruction that is no object",
        lambda i: i.insert(1, []),  # type: ignore[arg-type]
        "instructions[1]",
    ),
    Rule("an unknown op", put(R, "op", "walk"), f"instructions[{R}].op", "walk"),
    Rule("another case of an op", put(R, "op", "Run"), f"instructions[{R}].op", "Run"),
    Rule("an unknown upload kind", put(B, "kind", "url"), f"instructions[{B}].kind", "url"),
    Rule("an unknown return kind", put(FILE, "kind", "link"), f"instructions[{FILE}].kind", "link"),
    # Ids and keys
    Rule("an empty id", put(M, "id", ""), f"instructions[{M}].id"),
    Rule("an id twice", put(B, "id", "m"), f"instructions[{B}].id", "instructions[0]"),
    Rule("an empty key", put(VALUE, "key", ""), f"instructions[{VALUE}].key"),
    Rule("a key twice", put(FILE, "key", "value"), f"instructions[{FILE}].key", "value"),
    Rule("an empty function name", put(F, "name", ""), f"instructions[{F}].name"),
    # References
    Rule("an unknown reference", put(F, "module", ref("no")), f"instructions[{F}].module.$ref"),
    Rule("one to a later id", put(F, "module", ref("r")), f"instructions[{F}].module.$ref"),
    Rule("one to itself", put(R, "fn", ref("r")), f"instructions[{R}].fn.$ref"),
    Rule("one to a key", put(FILE, "path", ref("value")), f"instructions[{FILE}].path.$ref"),
    Rule("an empty one", put(R, "fn", ref("")), f"instructions[{R}].fn.$ref"),
    Rule("one by number", put(R, "fn", {"$ref": 4}), f"instructions[{R}].fn.$ref"),
    Rule("one with more keys", put(R, "fn", {"$ref": "f", "x": 1}), f"instructions[{R}].fn"),
    Rule("an empty object", put(R, "fn", {}), f"instructions[{R}].fn"),
    Rule("a bare id", put(VALUE, "value", "r"), f"instructions[{VALUE}].value"),
    Rule("an argument's", put(R, "args", [1, ref("no")]), f"instructions[{R}].args[1].$ref"),
    # Blobs, dtypes, shapes
    Rule("a short blob", put(B, "blob", "ab"), f"instructions[{B}].blob", "64"),
    Rule("an upper-case blob", put(B, "blob", "A" * 64), f"instructions[{B}].blob", "64"),
    Rule("a prefixed blob", put(B, "blob", "sha256:" + "a" * 57), f"instructions[{B}].blob", "64"),
    Rule("an unknown dtype", put(T, "dtype", "complex64"), f"instructions[{T}].dtype", "complex64"),
    Rule("a dtype of torch", put(T, "dtype", "torch.int8"), f"instructions[{T}].dtype"),
    Rule("a negative extent", put(T, "shape", [-1]), f"instructions[{T}].shape[0]"),
    Rule("an extent as a float", put(T, "shape", [2, 2.0]), f"instructions[{T}].shape[1]"),
    Rule("an extent as a boolean", put(T, "shape", [True, 4]), f"instructions[{T}].shape[0]"),
    Rule("an extent beyond 64 bits", put(T, "shape", [1 << 64, 0]), f"instructions[{T}].shape[0]"),
    # cpu_only
    Rule("cpu_only as a number", put(F, "cpu_only", 1), f"instructions[{F}].cpu_only"),
    Rule("cpu_only as null", put(F, "cpu_only", None), f"instructions[{F}].cpu_only"),
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_that_is_broken_is_named_with_its_place(server: Server, rule: Rule) -> None:
    instructions = copy.deepcopy(GOOD)
    rule.change(instructions)
    assert rule.says in refused(server, instructions, rule.path)


def test_a_library_upload_has_the_same_rules(server: Server) -> None:
    refused(server, [{**LIBRARY, "path": "a"}], "instructions[0]")
    refused(server, [{**LIBRARY, "blob": ""}], "instructions[0].blob")


@pytest.mark.parametrize(
    ("program", "path"),
    [
        ({}, "program"),
        ({"instructions": None}, "instructions"),
        ({"instructions": {}}, "instructions"),
        ({"instructions": []}, "instructions"),
        ({"instructions": [module("")], "option": {}}, "program"),
        ({"instructions": [module("")], "version": 1}, "program"),
        ({"instructions": [module("")], "options": None}, "options"),
        ({"instructions": [module("")], "options": []}, "options"),
    ],
    ids=str,
)
def test_the_program_has_no_other_fields(server: Server, program: Any, path: str) -> None:
    assert execute_text(server, program).error(400, "parse").startswith(path + ":")


# ---- Options

BAD_OPTIONS: list[tuple[str, Any]] = [
    *(("timeout_seconds", value) for value in (0, -1, 0.0, -0.5, True, False, "5", None, [5])),
    *(("output_limit_bytes", value) for value in (-1, 1.5, 1.0, True, False, "5", None)),
    *(("gpu_count", value) for value in (0, 9, -1, 1.0, True, False, "1", None, 1 << 70)),
]


@pytest.mark.parametrize(("name", "value"), BAD_OPTIONS)
def test_a_bad_option_is_refused(server: Server, name: str, value: Any) -> None:
    refused(server, [module("")], f"options.{name}", options={name: value})


def test_unknown_options_are_refused(server: Server) -> None:
    for name in ("timeout", "Timeout_seconds", "gpu_ids", ""):
        assert f'"{name}"' in refused(server, [module("")], "options", options={name: 1})


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"timeout_seconds": 5},
        {"timeout_seconds": 0.5e2},
        {"timeout_seconds": 1e308},
        {"timeout_seconds": 10**400},
        {"output_limit_bytes": 0},
        {"output_limit_bytes": 10**30},
        {"timeout_seconds": 900, "output_limit_bytes": 1},
    ],
    ids=lambda options: str(options)[:40],
)
def test_options_within_and_beyond_the_maximum_are_accepted(server: Server, options: Any) -> None:
    execute(server, [module("")], options=options).completed()


@pytest.mark.parametrize("count", [1, 8])
def test_gpus_on_a_cpu_server_are_beyond_its_capacity(server: Server, count: int) -> None:
    message = execute(server, [module("")], options={"gpu_count": count}).error(400, "parse")
    assert "capacity" in message and "gpu_count" in message


# ---- References that are data, arguments that are references


def test_only_a_top_level_argument_is_a_reference(server: Server) -> None:
    instructions = [
        module("NAME = 'x'\ndef main(*args): return list(args)"),
        function(),
        function("NAME", id="x"),
        run(
            *(ref("x"), [ref("x")], {"in": ref("gone")}, {"$ref": "x", "y": 1}),
            *({}, {"$ref2": "x"}, None, "x"),
        ),
        returned(),
    ]
    assert execute(server, instructions).results() == {
        "out": [
            *("x", [{"$ref": "x"}], {"in": {"$ref": "gone"}}, {"$ref": "x", "y": 1}),
            *({}, {"$ref2": "x"}, None, "x"),
        ]
    }


def test_keys_and_ids_are_namespaces_of_their_own(server: Server) -> None:
    instructions = [*call("def main(): return 1", key="m"), returned(key="r"), returned(key="f")]
    assert execute(server, instructions).results() == {"m": 1, "r": 1, "f": 1}


def test_names_may_be_any_text(server: Server) -> None:
    names = ["a b", "\n", "\0", "ä", "\U0001f600", "$ref", "x" * 1000, '"', "\\"]
    instructions = [module("def main(): return 1"), function()]
    for name in names:
        instructions += [run(id=name), returned(key=name, value=name)]
    assert execute(server, instructions).results() == dict.fromkeys(names, 1)


# ---- Paths

LONG = "c" * 255


@dataclass
class BadPath:
    path: str
    says: str


BAD_PATHS = [
    BadPath("", "empty"),
    BadPath("/etc/passwd", "relative"),
    BadPath("//a", "relative"),
    BadPath("a\0b", "NUL"),
    BadPath("a\\b", "backslash"),
    BadPath("..", ".."),
    BadPath("../a", ".."),
    BadPath("a/../b", ".."),
    BadPath("a/..", ".."),
    BadPath(".", "'.'"),
    BadPath("./", "'.'"),
    BadPath("././.", "'.'"),
    BadPath(".kcoral", ".kcoral"),
    BadPath(".kcoral/a", ".kcoral"),
    BadPath("./.kcoral/a", ".kcoral"),
    BadPath(LONG + "c", "255"),
    BadPath("a/" + "ä" * 128, "255"),
    BadPath("/".join([LONG] * 16) + "/c", "4096"),
]


@pytest.mark.parametrize("bad", BAD_PATHS, ids=lambda bad: repr(bad.path)[:30])
def test_a_bad_path_is_refused_for_uploads_and_returns(server: Server, bad: BadPath) -> None:
    uploaded = [upload("file", DATA, path=bad.path)]
    assert bad.says in refused(server, uploaded, "instructions[0].path")
    for kind in ("file", "folder"):
        back = [upload("bytes", DATA), returned_path(kind, bad.path)]
        assert bad.says in refused(server, back, "instructions[1].path")


@pytest.mark.parametrize(
    ("path", "normal"),
    [
        ("a", "a"),
        ("./a", "a"),
        ("a/", "a"),
        ("a//b/./c", "a/b/c"),
        ("...", "..."),
        ("a..b/..c", "a..b/..c"),
        (" ", " "),
        ("a/.kcoral", "a/.kcoral"),
        (".kcoral2", ".kcoral2"),
        ("\n\x7f*?", "\n\x7f*?"),
        ("ä/\U0001f600", "ä/\U0001f600"),
        (LONG, LONG),
        ("ä" * 127, "ä" * 127),
    ],
    ids=lambda path: repr(path)[:30],
)
def test_a_good_path_is_normalised_and_is_the_handles_value(
    server: Server, path: str, normal: str
) -> None:
    instructions = [
        upload("file", DATA, path=path),
        returned("path", "u"),
        returned_path("file", path, "by path"),
        returned_path("file", ref("u"), "by reference"),
        *call("def main(path): return open(path, 'rb').read()", ref("u"), key="read"),
    ]
    results = execute(server, instructions, blobs=[DATA]).results()
    assert results == {"path": normal, "by path": DATA, "by reference": DATA, "read": DATA}


def test_the_longest_path_is_one_that_the_rules_allow(server: Server) -> None:
    path = "/".join([LONG] * 16)
    assert len(path) == 4095
    # The system's own limit is for the path it is told, not for what a file's place may be.
    instructions = [
        upload("file", DATA, path=path + "/"),
        returned("path", "u"),
        returned_path("file", path, "file"),
    ]
    assert execute(server, instructions, blobs=[DATA]).results() == {"path": path, "file": DATA}


@pytest.mark.parametrize(
    "paths",
    [("a", "a"), ("a", "./a"), ("a/b", "a//b/"), ("a", "a/b"), ("a/b/c", "a/b"), ("a/b", "x", "a")],
    ids="+".join,
)
def test_two_uploads_must_not_collide(server: Server, paths: tuple[str, ...]) -> None:
    instructions = [upload("file", DATA, id=f"{i}", path=path) for i, path in enumerate(paths)]
    message = execute(server, instructions, blobs=[DATA]).error(400, "parse")
    assert message.startswith("instructions[") and ".path:" in message


def test_uploads_may_share_folders(server: Server) -> None:
    paths = ["a/b", "a/c", "a/bc/d", "ab"]
    instructions = [upload("file", DATA, id=path, path=path) for path in paths]
    instructions.append(returned_path("folder", "a"))
    reply = execute(server, instructions, blobs=[DATA])
    assert reply.results() == {"out": dict.fromkeys(["b", "bc/d", "c"], DATA)}
