"""Building programs: ids, snapshots, what is refused and leaves no trace."""

from __future__ import annotations

import collections
import hashlib
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kcoral import Program, Register
from kcoral._protocol.request import program_request


class Point(NamedTuple):
    x: int


@pytest.fixture
def program() -> Program:
    return Program()


def with_function(program: Program) -> Register:
    module = program.upload(kind="module", source="def f(*args): return args")
    return program.get_function(module=module, name="f")


def ids(program: Program) -> list[str | None]:
    return [step.get("id") for step in program.instructions]


# --- ids


def test_ids_share_one_counter(program: Program) -> None:
    function = with_function(program)
    program.run(fn=function)
    assert ids(program) == ["upload_0", "get_function_1", "run_2"]


def test_ids_skip_those_that_are_taken(program: Program) -> None:
    program.upload(kind="bytes", value=b"", id="upload_0")
    program.upload(kind="bytes", value=b"")
    program.upload(kind="bytes", value=b"", id="mine")
    program.upload(kind="bytes", value=b"")
    assert ids(program) == ["upload_0", "upload_1", "mine", "upload_2"]


@pytest.mark.parametrize("taken", ["upload_0", "x"])
def test_an_id_is_given_once(program: Program, taken: str) -> None:
    program.upload(kind="bytes", value=b"", id=taken)
    with pytest.raises(ValueError, match="taken"):
        program.upload(kind="bytes", value=b"", id=taken)
    assert len(program.instructions) == 1


@pytest.mark.parametrize(
    ("id", "error"), [("", ValueError), (1, TypeError), ("\ud800", ValueError)]
)
def test_bad_id_is_refused(program: Program, id: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="id"):
        program.upload(kind="bytes", value=b"", id=id)
    assert program.instructions == []


def test_keys_are_a_namespace_of_their_own(program: Program) -> None:
    value = program.upload(kind="bytes", value=b"", id="x")
    program.return_(key="x", value=value)
    with pytest.raises(ValueError, match="returned already"):
        program.return_file(key="x", path="x")
    with pytest.raises(ValueError, match="empty"):
        program.return_(key="", value=value)
    assert len(program.instructions) == 2


# --- snapshots


def test_arguments_are_copied(program: Program) -> None:
    argument: dict[str, Any] = {"a": [1, 2]}
    program.run(fn=with_function(program), args=[argument])
    argument["a"].append(3)
    assert program.instructions[-1]["args"] == [{"a": [1, 2]}]


def test_bytes_are_copied(program: Program) -> None:
    value = bytearray(b"before")
    program.upload(kind="bytes", value=value)
    value[:] = b"after!"
    (blob,) = program._blobs.values()
    assert bytes(blob.data) == b"before"
    assert blob.digest == hashlib.sha256(b"before").hexdigest()


def test_instructions_are_a_copy(program: Program) -> None:
    program.run(fn=with_function(program), args=[[1]])
    program.instructions[-1]["args"][0].append(2)
    assert program.instructions[-1]["args"] == [[1]]


def test_equal_bytes_are_sent_once(program: Program) -> None:
    program.upload(kind="bytes", value=b"same")
    program.upload_file(blob=b"same", path="x")
    assert len(program._blobs) == 1


# --- arguments


def test_json_arguments(program: Program) -> None:
    values: list[Any] = [None, True, 1, -(10**5000), 0.5, "é", [], (1, (2,)), {"k": {"$ref": "x"}}]
    program.run(fn=with_function(program), args=tuple(values))
    expected = [*values[:7], [1, [2]], {"k": {"$ref": "x"}}]
    assert program.instructions[-1]["args"] == expected


def test_subclasses_become_plain(program: Program) -> None:
    values: list[Any] = [collections.OrderedDict(a=1), Point(1)]
    program.run(fn=with_function(program), args=values)
    assert program.instructions[-1]["args"] == [{"a": 1}, [1]]
    assert type(program.instructions[-1]["args"][0]) is dict


def test_registers_are_references_only_as_whole_arguments(program: Program) -> None:
    function = with_function(program)
    program.run(fn=function, args=[function])
    assert program.instructions[-1]["args"] == [{"$ref": "get_function_1"}]
    with pytest.raises(TypeError, match=r"args\[0\]\['a'\]\[1\] is a Register inside"):
        program.run(fn=function, args=[{"a": [0, function]}])


def test_reference_shaped_argument_must_name_something(program: Program) -> None:
    function = with_function(program)
    program.run(fn=function, args=[{"$ref": "upload_0"}])
    for target in ("nothing", 1, "run_3"):
        with pytest.raises(ValueError, match="inside a list"):
            program.run(fn=function, args=[{"$ref": target}])
    assert len(program.instructions) == 3


def nested(levels: int) -> Any:
    value: Any = 0
    for _ in range(levels):
        value = [value]
    return value


def test_nesting_is_bounded(program: Program) -> None:
    function = with_function(program)
    program.run(fn=function, args=[nested(508)])
    program_request(program._instructions, {})
    with pytest.raises(ValueError, match="508 levels"):
        program.run(fn=function, args=[nested(509)])
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ValueError, match="contains itself"):
        program.run(fn=function, args=[endless])


@pytest.mark.parametrize(
    ("argument", "error", "message"),
    [
        (float("nan"), ValueError, r"args\[0\] is nan"),
        ([1, float("inf")], ValueError, r"args\[0\]\[1\] is inf"),
        ("\ud800", ValueError, "surrogate"),
        ({1: 2}, TypeError, "keys must be strings"),
        ({"\udfff": 2}, ValueError, "surrogate"),
        ({1, 2}, TypeError, "set"),
        (1j, TypeError, "complex"),
        ([b""], TypeError, "kind='bytes'"),
        (len, TypeError, "JSON values or Registers"),
    ],
    ids=str,
)
def test_what_json_cannot_say_is_refused(
    program: Program, argument: Any, error: type[Exception], message: str
) -> None:
    function = with_function(program)
    with pytest.raises(error, match=message):
        program.run(fn=function, args=[0, argument][1:])
    assert len(program.instructions) == 2


def test_args_must_be_a_sequence(program: Program) -> None:
    function = with_function(program)
    for args in ("ab", b"ab", {"a": 1}, 1):
        with pytest.raises(TypeError, match="list or tuple"):
            program.run(fn=function, args=args)  # type: ignore[arg-type]


# --- registers


def test_registers_of_other_programs_are_refused(program: Program) -> None:
    foreign = with_function(Program())
    with pytest.raises(ValueError, match="another program"):
        program.run(fn=foreign)
    with pytest.raises(ValueError, match="another program"):
        program.return_(key="x", value=foreign)
    with pytest.raises(TypeError, match="must be a Register"):
        program.return_(key="x", value="upload_0")  # type: ignore[arg-type]
    assert program.instructions == []


def test_register_says_its_id(program: Program) -> None:
    register = program.upload(kind="bytes", value=b"")
    assert register.id == "upload_0"
    assert repr(register) == "Register(id='upload_0')"


# --- uploads


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"kind": "module"}, TypeError, "needs source="),
        ({"kind": "module", "source": b""}, TypeError, "string"),
        ({"kind": "module", "source": "", "value": b""}, TypeError, "no value="),
        ({"kind": "bytes"}, TypeError, "needs value="),
        ({"kind": "bytes", "value": "text"}, TypeError, "bytes"),
        ({"kind": "bytes", "value": b"", "dtype": "int8"}, TypeError, "no dtype="),
        ({"kind": "library", "value": 1}, TypeError, "bytes"),
        ({"kind": "file", "value": b""}, ValueError, "upload_file"),
        ({"kind": 1}, ValueError, "kind"),
    ],
    ids=str,
)
def test_arguments_must_suit_the_kind(
    program: Program, arguments: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        program.upload(**arguments)
    assert program.instructions == []


def test_empty_source_is_a_module(program: Program) -> None:
    program.upload(kind="module", source="")
    assert program.instructions[0]["source"] == ""


def test_cpu_only_is_sent_only_when_asked(program: Program) -> None:
    module = program.upload(kind="module", source="")
    program.get_function(module=module, name="f")
    program.get_function(module=module, name="f", cpu_only=True)
    assert "cpu_only" not in program.instructions[1]
    assert program.instructions[2]["cpu_only"] is True
    with pytest.raises(TypeError, match="cpu_only"):
        program.get_function(module=module, name="f", cpu_only=1)  # type: ignore[arg-type]


# --- paths


@pytest.mark.parametrize(
    ("path", "normal"),
    [
        ("a", "a"),
        ("./a//b/.", "a/b"),
        ("a/", "a"),
        ("a/.kcoral", "a/.kcoral"),
        ("é" * 127, "é" * 127),
        ("/".join(["d" * 255] * 16), "/".join(["d" * 255] * 16)),
        ("...", "..."),
    ],
    ids=["plain", "dots", "slash", "inner", "255 bytes", "4095 bytes", "three dots"],
)
def test_path_is_normalised(program: Program, path: str, normal: str) -> None:
    register = program.upload_file(blob=b"", path=path)
    assert program.instructions[0]["path"] == normal
    program.return_file(key="x", path=path)
    assert program.instructions[1]["path"] == normal
    program.return_folder(key="y", path=register)
    assert program.instructions[2]["path"] == {"$ref": "upload_0"}


@pytest.mark.parametrize(
    "path",
    [
        "",
        ".",
        "./",
        "/a",
        "..",
        "a/../b",
        "a\\b",
        "a\0",
        ".kcoral",
        "./.kcoral/x",
        "é" * 128,
        "/".join(["d" * 255] * 16) + "/xx",
        "\ud800",
    ],
    ids=ascii,
)
def test_bad_path_is_refused(program: Program, path: str) -> None:
    with pytest.raises(ValueError, match="path"):
        program.upload_file(blob=b"", path=path)
    with pytest.raises(ValueError, match="path"):
        program.return_file(key="x", path=path)
    assert program.instructions == []


def test_files_and_folders_do_not_collide(program: Program) -> None:
    program.upload_file(blob=b"", path="a/b/c")
    for path in ("a/b/c", "a/./b/c", "a", "a/b", "a/b/c/d"):
        with pytest.raises(ValueError, match="upload"):
            program.upload_file(blob=b"", path=path)
    program.upload_file(blob=b"", path="a/b/d")
    assert len(program.instructions) == 2


def test_file_comes_from_bytes_or_a_path(program: Program, tmp_path: Path) -> None:
    (tmp_path / "local").write_bytes(b"content")
    program.upload_file(blob=tmp_path / "local", path="one")
    program.upload_file(blob=memoryview(b"content"), path="two")
    assert [bytes(blob.data) for blob in program._blobs.values()] == [b"content"]
    with pytest.raises(TypeError, match=r"pathlib\.Path"):
        program.upload_file(blob="local", path="three")
    with pytest.raises(FileNotFoundError):
        program.upload_file(blob=tmp_path / "none", path="three")
    with pytest.raises(ValueError, match="regular file"):
        program.upload_file(blob=Path("/dev/null"), path="three")
    assert len(program.instructions) == 2


# --- folders


def test_folder_is_sent_file_by_file(program: Program, tmp_path: Path) -> None:
    (tmp_path / "sub" / "empty").mkdir(parents=True)
    (tmp_path / "b.txt").write_bytes(b"b")
    (tmp_path / "sub" / "a.txt").write_bytes(b"a")
    registers = program.upload_folder(tmp_path, path="in")
    assert [step["path"] for step in program.instructions] == ["in/b.txt", "in/sub/a.txt"]
    assert [register.id for register in registers] == ["upload_0", "upload_1"]


def test_folder_can_be_the_workspace(program: Program, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"")
    program.upload_folder(str(tmp_path), path=".")
    assert program.instructions[0]["path"] == "x"


def test_folder_that_cannot_be_sent_changes_nothing(program: Program, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no files"):
        program.upload_folder(tmp_path, path="in")
    with pytest.raises(NotADirectoryError):
        program.upload_folder(tmp_path / "none", path="in")
    (tmp_path / "a").write_bytes(b"")
    (tmp_path / "z").symlink_to("a")
    with pytest.raises(ValueError, match="symbolic link"):
        program.upload_folder(tmp_path, path="in")
    (tmp_path / "z").unlink()
    program.upload_file(blob=b"", path="in/a/b")
    with pytest.raises(ValueError, match="folder of another"):
        program.upload_folder(tmp_path, path="in")
    assert len(program.instructions) == 1
