"""protocol.md, 4: how programs fail, and what stays of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from server_process import Server, StartServer
from wire import (
    Instruction,
    Reply,
    call,
    execute,
    function,
    module,
    returned,
    run,
    upload,
)


@dataclass
class Failing:
    name: str
    instructions: list[Instruction]
    kind: str
    says: str
    at: int
    # That the traceback holds these; by default it is there and names the uploaded source.
    traceback: list[str] = field(default_factory=lambda: ["<uploaded:m>", "Traceback"])


def body(source: str) -> list[Instruction]:
    return [module(source)]


FAILING = [
    # Module bodies: parse, but for a module that is not installed
    Failing("a syntax error", body("def main(:"), "parse", "SyntaxError", 0, ["<uploaded:m>"]),
    Failing(
        "bad indentation", body("if 1:\npass"), "parse", "IndentationError", 0, ["<uploaded:m>"]
    ),
    Failing("a NUL in the source", body("x = '\0'"), "parse", "null", 0, []),
    Failing("an exception at import", body("1 / 0"), "parse", "ZeroDivisionError", 0),
    Failing("a failed check at import", body("assert False, 'no'"), "parse", "no", 0),
    Failing("an ImportError", body("from os import nothing"), "parse", "nothing", 0),
    Failing("SystemExit at import", body("raise SystemExit(3)"), "parse", "SystemExit", 0),
    Failing("a missing module", body("import no_such_module"), "unavailable", "no_such_module", 0),
    # get_function
    Failing("no such name", [module("x = 1"), function("y")], "parse", "y", 1, []),
    Failing("a dotted name", [module("import os"), function("os.path")], "parse", "os.path", 1, []),
    Failing(
        "a name of no module",
        [module("x = 1"), function("x"), function("z", "f", "g")],
        "parse",
        "z",
        2,
        [],
    ),
    # run: runtime, but for the exceptions that have a kind of their own
    Failing("a call of a number", call("main = 5"), "runtime", "not callable", 2, []),
    Failing("a call of a module", [module(""), run(fn="m")], "runtime", "not callable", 1, []),
    Failing("an exception", call("def main(): {}['key']"), "runtime", "KeyError: 'key'", 2),
    Failing(
        "too many arguments", call("def main(): 0", 1), "runtime", "TypeError", 2, ["TypeError"]
    ),
    Failing("SystemExit", call("def main(): raise SystemExit(0)"), "runtime", "SystemExit", 2),
    Failing(
        "KeyboardInterrupt", call("def main(): raise KeyboardInterrupt"), "runtime", "Keyboard", 2
    ),
    Failing(
        "GeneratorExit", call("def main(): raise GeneratorExit"), "runtime", "GeneratorExit", 2
    ),
    Failing("recursion", call("def main(): main()"), "runtime", "RecursionError", 2),
    Failing("MemoryError", call("def main(): raise MemoryError"), "runtime", "MemoryError", 2),
    Failing("OSError", call("def main(): open('gone')"), "runtime", "FileNotFoundError", 2),
    Failing("ImportError", call("def main(): from os import no"), "runtime", "ImportError", 2),
    Failing("no module", call("def main(): import nothing_here"), "unavailable", "nothing_here", 2),
    Failing("assert", call("def main(): assert 1 == 2, 'differs'"), "correctness", "differs", 2),
    Failing(
        "numpy.testing",
        call("import numpy\ndef main(): numpy.testing.assert_allclose([1.0], [2.0])"),
        "correctness",
        "Mismatched",
        2,
    ),
    Failing(
        "CorrectnessError",
        call("import kcoral\ndef main(): raise kcoral.CorrectnessError('off by one')"),
        "correctness",
        "off by one",
        2,
    ),
    Failing(
        "CompileError",
        call("import kcoral\ndef main(): raise kcoral.CompileError('no such register')"),
        "compile",
        "no such register",
        2,
    ),
    Failing(
        "a compiler that fails",
        call(
            """
            import subprocess
            def main():
                open('bad.c', 'w').write('int f( {')
                subprocess.run(['gcc', '-c', 'bad.c'], check=True, capture_output=True)
            """
        ),
        "compile",
        "bad.c",
        2,
    ),
    Failing(
        "another command that fails",
        call("import subprocess\ndef main(): subprocess.run(['false'], check=True)"),
        "runtime",
        "CalledProcessError",
        2,
    ),
    Failing(
        "an exception whose words fail",
        call(
            """
            class Rude(Exception):
                def __str__(self): raise Rude()
                __repr__ = __str__
            def main(): raise Rude()
            """
        ),
        "runtime",
        "Rude",
        2,
        [],
    ),
    Failing(
        "an exception with a lone surrogate",
        call(r"def main(): raise ValueError('\ud800 is here')"),
        "runtime",
        "is here",
        2,
    ),
]


@pytest.mark.parametrize("failing", FAILING, ids=lambda failing: failing.name)
def test_a_failure_has_its_kind_its_words_and_its_place(server: Server, failing: Failing) -> None:
    reply = execute(server, failing.instructions)
    error = reply.failed(failing.kind)
    place = failing.instructions[failing.at]
    assert error["instruction_index"] == failing.at
    assert error["instruction_op"] == place["op"]
    assert error["instruction_id"] == place["id"]
    assert failing.says in error["message"]
    for text in failing.traceback:
        assert text in error["traceback"], error["traceback"]
    assert reply.document["results"] == {}


def test_a_traceback_shows_the_uploaded_lines_and_none_of_ours(server: Server) -> None:
    source = """
        def inner():
            raise ValueError('deep')  # the line itself
        def main():
            inner()
    """
    traceback = execute(server, call(source)).failed("runtime")["traceback"]
    assert traceback.startswith("Traceback (most recent call last):\n")
    assert '  File "<uploaded:m>", line 5, in main\n    inner()\n' in traceback
    assert "raise ValueError('deep')  # the line itself" in traceback
    assert traceback.endswith("ValueError: deep\n")
    assert traceback.count("File ") == 2


def test_a_traceback_keeps_its_last_8192_bytes(server: Server) -> None:
    source = "def main(): raise ValueError('ä' * 10_000 + 'the end')"
    error = execute(server, call(source)).failed("runtime")
    assert 8000 < len(error["traceback"].encode()) <= 8192
    assert error["traceback"].endswith("the end\n")


def test_a_chain_of_causes_is_told(server: Server) -> None:
    source = """
        def main():
            try:
                1 / 0
            except ZeroDivisionError as cause:
                raise LookupError('wrapped') from cause
    """
    traceback = execute(server, call(source)).failed("runtime")["traceback"]
    assert "ZeroDivisionError" in traceback and "direct cause" in traceback


# ---- What no CPU server has


@pytest.fixture(scope="module")
def plain(start_module_server: StartServer) -> Server:
    """A CPU server without host tensors."""
    return start_module_server()


def test_tensors_and_libraries_are_unavailable_on_a_cpu_server(plain: Server) -> None:
    data = b"\x7fELF"
    tensor = upload("tensor", data, dtype="uint8", shape=[4])
    for instruction in (tensor, upload("library", data)):
        instructions = [*call("def main(): print('ran'); return 1"), instruction, returned("no")]
        reply = execute(plain, instructions, blobs=[data])
        error = reply.failed("unavailable")
        assert error["instruction_index"] == 4
        assert error["instruction_op"] == "upload" and error["instruction_id"] == "u"
        assert reply.document["results"] == {"out": {"type": "integer", "value": 1}}
        assert reply.document["stdout"] == "ran\n"


def test_cpu_only_runs_without_a_guard_on_a_cpu_server(plain: Server) -> None:
    instructions = call("def main(): return 1")
    instructions[1]["cpu_only"] = True
    assert execute(plain, instructions).results() == {"out": 1}


# ---- What stays

BEFORE = """
    import ctypes, os, signal, sys, threading, time
    def early(): print('printed'); print('complained', file=sys.stderr); return b'early'
"""


def dying(action: str) -> list[Instruction]:
    source = f"{BEFORE}\n    def main():\n        print('last words'); {action}\n"
    return [
        module(source),
        function("early", id="e"),
        run(fn="e", id="early"),
        returned("first", "early"),
        function(),
        run(),
        returned("never"),
    ]


def check_partial(reply: Reply, index: int = 5) -> Any:
    error = reply.failed("runtime")
    assert error["instruction_index"] == index
    assert error["instruction_op"] == "run" and error["instruction_id"] == "r"
    document = reply.execution()
    assert reply.values(document["results"]) == {"first": b"early"}
    assert document["stdout"].startswith("printed\nlast words\n")
    assert document["stderr"].startswith("complained\n")
    return error


def test_a_failure_keeps_what_came_before(server: Server) -> None:
    check_partial(execute(server, dying("1 / 0")))


DEATHS = {
    "os._exit(0)": "os._exit(0)",
    "os._exit(7)": "os._exit(7)",
    "SIGKILL": "os.kill(os.getpid(), signal.SIGKILL)",
    "SIGTERM": "os.kill(os.getpid(), signal.SIGTERM); time.sleep(60)",
    "SIGSEGV": "ctypes.string_at(8)",
    "abort": "os.abort()",
    "SIGFPE": "os.kill(os.getpid(), signal.SIGFPE)",
    "SIGXCPU": "os.kill(os.getpid(), signal.SIGXCPU); time.sleep(60)",
    "a thread's exit": "threading.Thread(target=os._exit, args=(1,)).start(); time.sleep(60)",
    "its channel closed": "os.closerange(3, 1000); time.sleep(60)",
    "its group killed": "os.killpg(os.getpgrp(), signal.SIGKILL)",
    "everything killed": "os.kill(-1, signal.SIGKILL); os.abort()",
}
SAYS = {
    "os._exit(7)": "7",
    "SIGKILL": "SIGKILL",
    "SIGTERM": "SIGTERM",
    "SIGSEGV": "SIGSEGV",
    "abort": "SIGABRT",
}


@pytest.fixture(scope="module")
def sandboxed(start_module_server: StartServer) -> Server:
    """A server for programs that attack whatever they see."""
    started = start_module_server("--num-workers", "2")
    return started


@pytest.mark.parametrize("name", DEATHS)
def test_a_worker_that_dies_leaves_what_it_had(sandboxed: Server, name: str) -> None:
    if name == "everything killed" and "sandbox=none" in sandboxed.log:
        pytest.skip("there is no sandbox to keep this program from the tests themselves")
    error = check_partial(execute(sandboxed, dying(DEATHS[name])))
    assert SAYS.get(name, "") in error["message"]
    assert execute(sandboxed, call("def main(): return 'fine'")).results() == {"out": "fine"}


def test_a_worker_that_dies_between_instructions_keeps_its_returns(server: Server) -> None:
    source = """
        import os, threading, time
        def main():
            threading.Thread(target=lambda: (time.sleep(0.2), os._exit(1))).start()
            return b'x' * 1000
        def wait(): time.sleep(60)
    """
    instructions = [*call(source), function("wait", id="w"), run(fn="w", id="waited")]
    reply = execute(server, instructions)
    assert reply.failed("runtime")["instruction_index"] == 5
    assert reply.values(reply.execution()["results"]) == {"out": b"x" * 1000}


def test_a_deadly_module_body(server: Server) -> None:
    reply = execute(server, [module("import os; os._exit(0)")])
    error = reply.failed("runtime")
    assert (error["instruction_index"], error["instruction_op"], error["instruction_id"]) == (
        *(0, "upload", "m"),
    )


def test_a_failed_program_may_still_have_returned_much(server: Server) -> None:
    source = "def main(i): return [b'%d' % i] * 3\ndef fail(): raise ValueError"
    instructions = [module(source), function(), function("fail", id="fail")]
    for i in range(50):
        instructions += [run(i, id=f"r{i}"), returned(f"k{i}", f"r{i}")]
    reply = execute(server, [*instructions, run(fn="fail", id="f2")])
    reply.failed("runtime")
    results = reply.values(reply.execution()["results"])
    assert results == {f"k{i}": [b"%d" % i] * 3 for i in range(50)}


# ---- Left-over processes

LEFTOVERS = {
    "a child": "subprocess.Popen(['sleep', '600'])",
    "a deaf child": "subprocess.Popen(['sh', '-c', 'trap \"\" TERM HUP; sleep 600; sleep 600'])",
    "a child in a session of its own": "subprocess.Popen(['sleep', '600'], start_new_session=True)",
    "an orphan": "os.fork() or (os.fork() and os._exit(0)) or time.sleep(600)",
    "a stopped child": "os.kill(subprocess.Popen(['sleep', '600']).pid, signal.SIGSTOP)",
}


@pytest.fixture(scope="module")
def impatient(start_module_server: StartServer) -> Server:
    return start_module_server("--worker-termination-grace-seconds", "0.2")


@pytest.mark.parametrize("leftover", LEFTOVERS.values(), ids=LEFTOVERS.keys())
def test_processes_that_are_left_running_fail_the_program(impatient: Server, leftover: str) -> None:
    source = f"""
        import os, signal, subprocess, time
        def main():
            {leftover}
            return b'result'
    """
    reply = execute(impatient, call(source))
    assert "background processes" in reply.failed("runtime")["message"]
    assert reply.values(reply.execution()["results"]) == {"out": b"result"}
    impatient.wait_for_load(in_progress=0)


def test_processes_that_end_within_the_grace_are_no_leftovers(server: Server) -> None:
    source = """
        import subprocess
        def main(): subprocess.Popen(['sleep', '0.3']); return 1
    """
    assert execute(server, call(source)).results() == {"out": 1}


def test_zombies_and_finished_children_are_no_leftovers(impatient: Server) -> None:
    source = """
        import os, subprocess
        def main():
            subprocess.run(['true'])
            if os.fork() == 0:
                os._exit(0)
            return 1
    """
    assert execute(impatient, call(source)).results() == {"out": 1}


def test_a_program_that_failed_anyway_keeps_its_own_error(impatient: Server) -> None:
    source = """
        import subprocess
        def main():
            subprocess.Popen(['sleep', '600'])
            raise ValueError('mine')
    """
    assert "mine" in execute(impatient, call(source)).failed("runtime")["message"]


def test_a_fork_that_comes_back_is_not_the_program(server: Server) -> None:
    source = """
        import os
        def main():
            child = os.fork()
            if child == 0:
                return 'the child came back'
            os.waitpid(child, 0)
            return 'the parent'
    """
    assert execute(server, call(source)).results() == {"out": "the parent"}


# ---- Results that are too large


def test_results_beyond_the_limit_are_500(start_server: StartServer) -> None:
    started = start_server("--max-response-bytes", "100000")
    source = "def main(size): return bytes(size)\ndef text(n): return ['x'] * n"

    def sized(*sizes: int) -> Reply:
        instructions = [module(source), function()]
        for i, size in enumerate(sizes):
            instructions += [run(size, id=f"r{i}"), returned(f"k{i}", f"r{i}")]
        return execute(started, instructions)

    sized(99_000).completed()
    sized(50_000, 49_000).completed()
    sized(100_001).error(500, "response_too_large")
    sized(50_000, 50_001).error(500, "response_too_large")
    instructions = [module(source), function("text"), run(100_000), returned(value="r")]
    execute(started, instructions).error(500, "response_too_large")
    instructions = [module(source), function(), run(10, id="r"), returned(value="r")]
    assert execute(started, instructions).results() == {"out": bytes(10)}
