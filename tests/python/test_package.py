"""The package itself: light to import, typed, its errors whole."""

from __future__ import annotations

import importlib
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import kcoral
from kcoral import (
    CompileError,
    CorrectnessError,
    InstructionError,
    KCoralError,
    ProgramResult,
    ProtocolError,
    RemoteExecutionError,
    TransportError,
)

PACKAGE = Path(kcoral.__file__).parent


def run_python(code: str) -> str:
    command = [
        sys.executable,
        "-c",
        f"import sys; sys.path.insert(0, {str(PACKAGE.parent)!r})\n{code}",
    ]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_import_loads_neither_httpx_nor_numpy() -> None:
    code = """
import kcoral
from kcoral import CorrectnessError, CompileError, Program
Program().upload(kind="bytes", value=b"")
print([name for name in ("httpx", "numpy", "ml_dtypes", "asyncio", "torch") if name in sys.modules])
"""
    assert run_python(code) == "[]\n"


def test_worker_without_httpx_can_use_errors_and_programs() -> None:
    code = """
sys.modules["httpx"] = sys.modules["numpy"] = None
from kcoral import CorrectnessError, Program
try:
    raise CorrectnessError("off by one")
except AssertionError as error:
    print(error)
"""
    assert run_python(code) == "off by one\n"


@pytest.mark.parametrize("name", kcoral.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(kcoral, name) is not None
    assert name in dir(kcoral)


def test_homes_and_public_names_agree() -> None:
    assert sorted([*kcoral._HOMES, "__version__"]) == kcoral.__all__


def test_other_names_are_not() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        kcoral.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_version_has_one_source() -> None:
    text = (PACKAGE / "_version.py").read_text()
    assert f'__version__ = "{kcoral.__version__}"' in text
    assert (PACKAGE / "py.typed").exists()


RESULT = ProgramResult(
    status="FAILED",
    request_id="id",
    queue_ms=0,
    elapsed_ms=0,
    lease_wait_ms=0,
    lease_held_ms=0,
    stdout="",
    stderr="",
    stdout_truncated=False,
    stderr_truncated=False,
    error=InstructionError("runtime", "ValueError: no", 2, "run", "run_2", "Traceback:\n line"),
)


@pytest.mark.parametrize(
    "error",
    [
        KCoralError(503, "busy", "all workers are busy", "id"),
        TransportError("gone", "id"),
        ProtocolError("odd", 200, "id"),
        RemoteExecutionError(RESULT),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_survive_pickling(error: KCoralError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert vars(copy) == vars(error)
    assert str(copy) == str(error)


def test_errors_say_what_to_do() -> None:
    assert "retries=" in str(KCoralError(503, "busy", "no worker in time"))
    assert "--max-request-bytes" in str(KCoralError(413, "request_too_large", "too large"))
    text = str(RemoteExecutionError(RESULT))
    for piece in ("runtime", "instructions[2]", "run_2", "ValueError: no", "Traceback:\n line"):
        assert piece in text


def test_what_one_except_clause_catches() -> None:
    for error in (TransportError, ProtocolError, RemoteExecutionError):
        assert issubclass(error, KCoralError)
    assert issubclass(CorrectnessError, AssertionError)
    for raised in (CorrectnessError, CompileError):
        assert not issubclass(raised, KCoralError)
        assert raised.__module__.partition(".")[0] == "kcoral"  # how workers know them


def test_error_members_can_be_subscripted() -> None:
    assert RESULT.error is not None
    assert RESULT.error["kind"] == RESULT.error.kind == "runtime"
    with pytest.raises(KeyError):
        RESULT.error["__str__"]


def test_result_that_did_not_fail_has_no_error_to_raise() -> None:
    members: dict[str, Any] = {**vars(RESULT), "status": "COMPLETED", "error": None}
    result = ProgramResult(**members)
    assert result.raise_for_status() is result
    with pytest.raises(ValueError, match="did not fail"):
        RemoteExecutionError(result)
    with pytest.raises(KeyError, match="nothing"):
        result["nothing"]


def test_modules_import_alone() -> None:
    modules = [f"kcoral.{path.stem}" for path in PACKAGE.glob("[a-z]*.py")]
    modules += [f"kcoral._protocol.{path.stem}" for path in PACKAGE.glob("_protocol/[a-z]*.py")]
    for module in modules:
        importlib.import_module(module)
    code = f"import importlib, subprocess\nfor name in {modules!r}:\n"
    code += "    for loaded in [m for m in sys.modules if m.startswith('kcoral')]:\n"
    code += "        del sys.modules[loaded]\n"
    code += "    importlib.import_module(name)\n"
    run_python(code)
