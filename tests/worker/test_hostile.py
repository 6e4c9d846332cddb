"""Programs that break things: the worker's end is told, and the next worker knows nothing of it."""

from __future__ import annotations

import os
import signal
import sys

import pytest
from programs import program

DEATHS = {
    "exit": ("import os; os._exit(7)", lambda s: os.WEXITSTATUS(s) == 7),
    "exit zero": ("import os; os._exit(0)", lambda s: os.WEXITSTATUS(s) == 0),
    "kill": ("import os; os.kill(os.getpid(), 9)", lambda s: os.WTERMSIG(s) == signal.SIGKILL),
    "terminate": ("import os; os.kill(os.getpid(), 15)", lambda s: os.WTERMSIG(s) == 15),
    "abort": ("import os; os.abort()", lambda s: os.WTERMSIG(s) == signal.SIGABRT),
    "segfault": (
        "import ctypes; ctypes.string_at(1)",
        lambda s: os.WTERMSIG(s) == signal.SIGSEGV,
    ),
    "c stack overflow": (
        "import sys; sys.setrecursionlimit(10**9)\n    class A:\n        def __repr__(self): return repr([self])\n    repr(A())",
        lambda s: os.WIFSIGNALED(s),
    ),
    "exit in a thread": (
        "import os, threading, time; threading.Thread(target=os._exit, args=(3,)).start(); time.sleep(60)",
        lambda s: os.WEXITSTATUS(s) == 3,
    ),
}

if sys.version_info >= (3, 12):
    del DEATHS["c stack overflow"]  # the interpreter guards its C stack there: a RecursionError


@pytest.mark.parametrize("death", DEATHS)
def test_a_death_keeps_what_was_returned_and_printed(worker, death):
    body, status = DEATHS[death]
    kept = program("def main():\n    print('printed'); print('no newline', end='')\n    return 1\n")
    dying = program(f"def main():\n    {body}\n")
    dying[0]["id"], dying[1]["id"], dying[1]["module"] = "m2", "f2", {"$ref": "m2"}
    outcome = worker.run(*kept, *dying[:2], {**dying[2], "id": "r2", "fn": {"$ref": "f2"}})
    assert not outcome.finished
    assert outcome.results == {"out": 1}
    assert outcome.stdout.startswith("printed\nno newline")
    assert outcome.started[-1] == 6
    assert status(worker.status)


def test_a_segfault_shows_the_python_stack(call):
    outcome = call("import ctypes\ndef main():\n    ctypes.string_at(1)\n")
    assert "Segmentation fault" in outcome.stderr
    assert "<uploaded:m>" in outcome.stderr


CHANNEL = """
import os, socket
def channel():
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                return int(name)
        except OSError:
            pass
def main():
"""

BROKEN_CHANNELS = {
    "closed": "os.close(channel())",
    "all closed": "os.closerange(0, 4096)",
    "replaced by a file": "os.dup2(os.open('f', os.O_CREAT | os.O_RDWR), channel())",
    "shut down": "s = socket.socket(fileno=channel()); s.shutdown(socket.SHUT_RDWR)",
}


@pytest.mark.parametrize("how", BROKEN_CHANNELS)
def test_without_its_channel_a_worker_ends_by_itself(call, worker, how):
    outcome = call(CHANNEL + f"    {BROKEN_CHANNELS[how]}\n")
    assert not outcome.finished
    assert worker.status is not None


def test_garbage_on_the_channel_is_for_the_server_to_refuse(call):
    with pytest.raises(ValueError):
        call(CHANNEL + "    os.write(channel(), b'\\0garbage')\n")


FORKS = {
    "a fork that returns": "import os\n    os.fork() or None\n    return 1",
    "a fork that raises": "import os\n    if os.fork() == 0: raise ValueError\n    return 1",
    "a fork that exits": "import os, sys\n    if os.fork() == 0: sys.exit()\n    return 1",
    "a fork in a thread": "import os, threading\n    t = threading.Thread(target=os.fork); t.start(); t.join()\n    return 1",
}


@pytest.mark.parametrize("how", FORKS)
def test_forked_processes_never_speak_for_the_worker(call, how):
    outcome = call(f"def main():\n    {FORKS[how]}\n", grace=10)
    assert outcome.finished
    assert outcome.error is None
    assert outcome.results == {"out": 1}
    assert outcome.started == [0, 1, 2, 3]


LEFTOVERS = {
    "a process": "subprocess.Popen(['sleep', '60'])",
    "a process that ignores SIGTERM": "subprocess.Popen(['sh', '-c', \"trap '' TERM; sleep 60\"])",
    "a daemon": "os.fork() or (os.setsid(), os.fork() and os._exit(0), time.sleep(60))",
    "a stopped process": "os.kill(subprocess.Popen(['sleep', '60']).pid, signal.SIGSTOP)",
}


@pytest.mark.parametrize("what", LEFTOVERS)
def test_processes_left_behind_are_killed_and_told(worker, what):
    source = (
        f"import os, signal, subprocess, time\ndef main():\n    {LEFTOVERS[what]}\n    return 1\n"
    )
    outcome = worker.run(*program(source), reusable=True)
    assert outcome.kind == "runtime"
    assert "background processes" in outcome.error["message"]
    assert outcome.error["instruction"] == 3
    assert outcome.results == {"out": 1}
    source = (
        "import os\ndef main():\n    return len([p for p in os.listdir('/proc') if p.isdigit()])\n"
    )
    worker.wait_ready()
    outcome = worker.run(*program(source))
    assert outcome.error is None


def test_processes_that_end_within_the_grace_are_fine(call):
    source = (
        "import subprocess\ndef main():\n    subprocess.Popen(['sleep', '0.2'])\n    return 1\n"
    )
    outcome = call(source, grace=20)
    assert outcome.error is None


def test_processes_that_libraries_keep_are_no_left_overs(call):
    source = """
from multiprocessing import shared_memory
def main():
    memory = shared_memory.SharedMemory(create=True, size=10)
    memory.close()
    memory.unlink()
    return 1
"""
    outcome = call(source)
    assert outcome.error is None


SURVIVABLE = {
    "closing the standard streams": "import os; os.close(0); os.close(1); os.close(2)",
    "closing Python's streams": "import sys; sys.stdout.close(); sys.stderr.close()",
    "streams that are none": "import sys; sys.stdout = sys.stderr = None",
    "streams that raise": "import sys; sys.stdout = sys.stderr = 7",
    "breaking print": "import builtins; builtins.print = None",
    "breaking builtins": "import builtins; builtins.__dict__.clear()",
    "clearing sys.modules": "import sys; sys.modules.clear()",
    "breaking the import system": "import sys; sys.meta_path.clear(); sys.path.clear()",
    "breaking __import__": "import builtins; builtins.__import__ = None",
    "breaking numpy": "import numpy; numpy.ndarray = 7; numpy.generic = None",
    "breaking kcoral": "import kcoral; kcoral.__dict__.clear()",
    "breaking os": "import os; os.environ = None; os.environb = None",
    "deleting the workspace": "import shutil, os; shutil.rmtree(os.getcwd(), ignore_errors=True)",
    "chmod 000": "import os; os.chmod('.', 0)",
    "chdir": "import os; os.chdir('/')",
    "atexit that hangs": "import atexit, time; atexit.register(time.sleep, 3600)",
    "a thread that never ends": "import threading, time; threading.Thread(target=time.sleep, args=(3600,)).start()",
    "a finaliser that raises": "global bomb; bomb = type('B', (), {'__del__': lambda s: 1 / 0})()",
    "a trace function that raises": "import sys; sys.settrace(lambda *a: 1 / 0)",
    "ignoring signals": "import signal; [signal.signal(s, signal.SIG_IGN) for s in (2, 15)]",
    "blocking signals": "import signal; signal.pthread_sigmask(0, range(1, 64))",
    "garbage collection off": "import gc; gc.disable(); gc.freeze()",
    "descriptors used up": "import os, resource; resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))",
    "a tiny stack of Python": "import sys; sys.setrecursionlimit(60)",
    "output that is no UTF-8": "import os; os.write(1, b'\\xff\\xfe')",
}


@pytest.mark.parametrize("what", SURVIVABLE)
def test_a_worker_survives(call, what):
    source = f"def main():\n    {SURVIVABLE[what]}\n    return 1\n"
    outcome = call(source)
    assert outcome.finished, outcome
    assert outcome.error is None
    assert outcome.results == {"out": 1}


def test_a_flood_of_output_does_not_block(call):
    source = "import os\ndef main():\n    for _ in range(64): os.write(1, bytes(1 << 20))\n    return 1\n"
    assert call(source).results == {"out": 1}


def test_the_next_worker_is_untouched(zygote):
    source = "import builtins, random\nbuiltins.leak = 1\ndef main():\n    return random.random()\n"
    first = zygote.fork().run(*program(source))
    source = "import builtins, random\ndef main():\n    return [hasattr(builtins, 'leak'), random.random()]\n"
    second = zygote.fork().run(*program(source))
    assert second.results["out"][0] is False
    assert second.results["out"][1] != first.results["out"]
