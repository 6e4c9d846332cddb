"""How the failures of uploaded code are classified and told."""

from __future__ import annotations

import sys
import textwrap

import pytest
from programs import program, upload

RAISED_IN_CALLS = [
    ("raise ValueError('no')", "runtime", "ValueError: no"),
    ("assert 1 == 2, 'differ'", "correctness", "AssertionError: differ"),
    ("import numpy; numpy.testing.assert_allclose(1, 2)", "correctness", "Mismatched"),
    ("import not_there", "unavailable", "No module named 'not_there'"),
    ("from kcoral import CorrectnessError; raise CorrectnessError('off')", "correctness", "off"),
    ("from kcoral import CompileError; raise CompileError('bad')", "compile", "bad"),
    ("raise ImportError('half')", "runtime", "ImportError"),
    ("import sys; sys.exit(3)", "runtime", "SystemExit: 3"),
    ("raise KeyboardInterrupt", "runtime", "KeyboardInterrupt"),
    ("import os, signal; os.kill(os.getpid(), signal.SIGINT); import time; time.sleep(5)", "runtime", "KeyboardInterrupt"),
    ("raise BaseExceptionGroup('many', [ValueError(1), KeyboardInterrupt()])", "runtime", "many"),
    ("raise type('E', (Exception,), {'__str__': lambda s: 1 / 0})()", "runtime", "<exception str() failed>"),
    ("raise type('E', (Exception,), {'__str__': lambda s: 7})()", "runtime", "<exception str() failed>"),
    ("raise type('E', (Exception,), {'__module__': property(lambda s: 1 / 0)})()", "runtime", "E"),
    ("raise ValueError('\\ud800')", "runtime", r"\ud800"),
    ("raise ValueError('\\0')", "runtime", "ValueError"),
    ("def f(): f()\n    f()", "runtime", "RecursionError"),
    ("x = []\n    for _ in range(10**5): x = [x]\n    repr(x)", "runtime", "RecursionError"),
    ("bytes(1 << 62)", "runtime", "MemoryError"),
    ("raise StopIteration", "runtime", "StopIteration"),
    ("def g():\n        yield\n        raise GeneratorExit\n    list(g())", "runtime", "GeneratorExit"),
    ("import subprocess; subprocess.run(['false'], check=True)", "runtime", "CalledProcessError"),
    ("import subprocess; subprocess.run(['sh', '-c', 'exit 1'], check=True)", "runtime", "exit status 1"),
    ("import subprocess; raise subprocess.CalledProcessError(2, ['/usr/bin/nvcc', 'k.cu'], stderr=b'k.cu(1): error')", "compile", "k.cu(1): error"),
    ("import subprocess; raise subprocess.CalledProcessError(2, 'cd x && g++-12 -O2 a.cc', output='no such file')", "compile", "no such file"),
    ("import subprocess; raise subprocess.CalledProcessError(2, ['python', 'g++'])", "runtime", "python"),
    ("import subprocess; raise subprocess.CalledProcessError(2, None)", "runtime", "CalledProcessError"),
    ("raise RuntimeError(\"Error building extension 'x'\")", "compile", "building"),
    ("raise type('CompilationError', (Exception,), {'__module__': 'triton.compiler.errors'})('at 3:4')", "compile", "at 3:4"),
    ("raise type('Sub', (type('CompilationError', (Exception,), {'__module__': 'triton.compiler.errors'}),), {})('x')", "compile", "x"),
    ("raise type('CompilationError', (Exception,), {'__module__': 'tritonic'})('x')", "runtime", "x"),
    ("class CompilationError(Exception): pass\n    raise CompilationError('mine')", "runtime", "mine"),
    ("raise type('DSLRuntimeError', (Exception,), {'__module__': 'cutlass.base_dsl.common'})('x')", "compile", "x"),
    ("raise type('DiagnosticError', (Exception,), {'__module__': 'tvm.error'})('x')", "compile", "x"),
    ("import subprocess\n    try: raise subprocess.CalledProcessError(1, ['ninja', '-v'])\n    except Exception as e: raise RuntimeError('build') from e", "compile", "build"),
    ("import subprocess\n    try: raise subprocess.CalledProcessError(1, ['ninja', '-v'])\n    except Exception: raise RuntimeError('unrelated')", "runtime", "unrelated"),
    ("e = ValueError('loop'); e.__cause__ = e; raise e", "runtime", "loop"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "kind", "message"), RAISED_IN_CALLS, ids=[row[0][:50] for row in RAISED_IN_CALLS]
)
def test_an_exception_in_a_call(call, body, kind, message):
    if "ExceptionGroup" in body:
        if sys.version_info < (3, 11):
            pytest.skip("Python 3.10 has no exception groups")
    outcome = call(f"def main():\n    {body}\n")
    assert outcome.kind == kind, outcome.error
    assert message in outcome.error["message"]
    assert outcome.error["instruction"] == 2
    assert outcome.started == [0, 1, 2]
    assert outcome.finished


RAISED_IN_MODULES = [
    ("def", "parse", "SyntaxError"),
    ("x = '\0'", "parse", "null bytes"),
    ("  x = 1", "parse", "IndentationError"),
    ("raise ValueError('no')", "parse", "ValueError: no"),
    ("assert False, 'no'", "parse", "AssertionError: no"),
    ("import not_there", "unavailable", "not_there"),
    ("import sys; sys.exit()", "parse", "SystemExit"),
    ("raise KeyboardInterrupt", "parse", "KeyboardInterrupt"),
    ("1 / 0", "parse", "ZeroDivisionError"),
]


@pytest.mark.parametrize(("source", "kind", "message"), RAISED_IN_MODULES)
def test_an_exception_in_a_module(worker, source, kind, message):
    outcome = worker.run({"op": "upload", "kind": "module", "id": "m", "source": source})
    assert outcome.kind == kind
    assert message in outcome.error["message"]
    assert outcome.error["instruction"] == 0


def test_a_syntax_error_shows_where(worker):
    source = "x = 1\ny = = 2\n"
    outcome = worker.run({"op": "upload", "kind": "module", "id": "m", "source": source})
    assert 'File "<uploaded:m>", line 2' in outcome.error["traceback"]
    assert "y = = 2" in outcome.error["traceback"]


def test_a_module_without_the_name_is_a_parse_error(call):
    outcome = call("def other(): pass")
    assert outcome.kind == "parse"
    assert "main" in outcome.error["message"]
    assert outcome.error["instruction"] == 1


def test_an_exception_while_looking_a_name_up_is_a_runtime_error(call):
    outcome = call("def __getattr__(name):\n    return 1 / 0\n")
    assert outcome.kind == "runtime"
    assert outcome.error["instruction"] == 1


def test_a_handle_that_is_not_callable(call):
    outcome = call("main = 7")
    assert outcome.kind == "runtime"
    assert "int" in outcome.error["message"]
    assert outcome.error["instruction"] == 2


def test_a_long_traceback_keeps_its_end_at_a_character_border(call):
    source = "def main(n):\n    raise ValueError('ü' * 20000 + 'end')\n"
    outcome = call(source, 1)
    traceback = outcome.error["traceback"]
    size = len(traceback.encode())
    assert 8190 <= size <= 8192
    assert traceback.endswith("end\n")
    assert len(outcome.error["message"].encode()) <= 8195


def test_earlier_returns_stay_when_a_later_one_fails(worker):
    instructions = program("def main():\n    return b'kept'\n")
    failing = program("def main():\n    return object()\n")
    for instruction in failing:
        instruction.update(
            {"id": instruction["id"] + "2"} if "id" in instruction else {"key": "no"}
        )
    failing[1]["module"], failing[2]["fn"], failing[3]["value"] = [
        {"$ref": id} for id in ("m2", "f2", "r2")
    ]
    outcome = worker.run(*instructions, *failing)
    assert outcome.results == {"out": b"kept"}
    assert outcome.kind == "serialization"
    assert outcome.error["instruction"] == 7


def test_a_broken_traceback_module_costs_only_the_traceback(call):
    outcome = call("import traceback\ndef main():\n    del traceback.format_exception\n    1 / 0\n")
    assert outcome.kind == "runtime"
    assert "division" in outcome.error["message"]
    assert outcome.error["traceback"] == ""


TENSOR = {"dtype": "float32", "shape": [1]}


def test_tensors_and_libraries_are_unavailable_without_a_gpu(zygote):
    tensor = upload(b"\0\0\0\0", "tensor", "t", **TENSOR)
    library = upload(b"\x7fELF", "library", "l")
    for instruction, blob in ((tensor, b"\0\0\0\0"), (library, b"\x7fELF")):
        outcome = zygote.fork().run(instruction, blobs=(blob,))
        assert outcome.kind == "unavailable"
        assert outcome.error["instruction"] == 0


HOST_TENSORS = [
    ("float32", [2, 2], bytes(16)),
    ("int64", [], b"\5" + bytes(7)),
    ("bfloat16", [2], b"\x80\x3f\0\0"),
    ("float8_e4m3fn", [1], b"\x38"),
    ("bool", [2], b"\1\0"),
    ("uint8", [0, 3], b""),
]


@pytest.mark.parametrize(("dtype", "shape", "data"), HOST_TENSORS)
def test_host_tensors_are_writable_arrays(worker, dtype, shape, data):
    source = textwrap.dedent("""
        def main(x):
            assert x.flags.writeable
            return [str(x.dtype), list(x.shape), type(x).__name__, x]
    """)
    instructions = program(source, {"$ref": "t"})
    tensor = upload(data, "tensor", "t", dtype=dtype, shape=shape)
    outcome = worker.run(tensor, *instructions, blobs=(data,), host_tensors=True)
    assert outcome.error is None
    got_dtype, got_shape, kind, back = outcome.results["out"]
    assert (got_dtype, got_shape, kind) == (dtype, shape, "ndarray")
    assert (back.dtype, list(back.shape), back.data) == (dtype, shape, data)
