"""What a reused worker undoes after a program, and when it retires instead."""

from __future__ import annotations

import textwrap

import pytest
from programs import program

# A change a program makes, and an expression of the next program that is true once it is undone.
UNDONE = {
    "environment": ("os.environ['LEAK'] = '1'", "'LEAK' not in os.environ"),
    "environment behind Python's back": ("os.putenv('LEAK', '1')", "b'LEAK' not in subprocess.run('env', stdout=-1).stdout"),
    "removed environment": ("os.environ.clear()", "'HOME' in os.environ and os.getenv('PATH')"),
    "replaced environment": ("os.environ = {}", "'HOME' in os.environ"),
    "working directory": ("os.chdir('/')", "os.getcwd() == os.environ['HOME']"),
    "umask": ("os.umask(0)", "os.umask(0o22) == 0o22"),
    "signal handler": ("signal.signal(signal.SIGTERM, lambda *a: None)", "signal.getsignal(signal.SIGTERM) == signal.SIG_DFL"),
    "ignored signal": ("signal.signal(signal.SIGINT, signal.SIG_IGN)", "signal.getsignal(signal.SIGINT) is signal.default_int_handler"),
    "signal mask": ("signal.pthread_sigmask(0, [signal.SIGUSR1])", "signal.pthread_sigmask(0, []) == set()"),
    "timer": ("signal.alarm(1)", "signal.alarm(0) == 0"),
    "resource limit": ("resource.setrlimit(resource.RLIMIT_NOFILE, (64, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))", "resource.getrlimit(resource.RLIMIT_NOFILE)[0] != 64"),
    "sys.path": ("sys.path.append('/leak')", "'/leak' not in sys.path"),
    "replaced sys.path": ("sys.path = ['/leak']", "'/leak' not in sys.path and '' in sys.path"),
    "meta path": ("sys.meta_path.insert(0, None)", "None not in sys.meta_path"),
    "streams": ("sys.stdout = io.StringIO()", "sys.stdout is sys.__stdout__"),
    "closed descriptor": ("os.close(1)", "os.write(1, b'') == 0"),
    "redirected descriptor": ("f = os.open('/dev/null', os.O_WRONLY); os.dup2(f, 1); os.close(f)", "print('here') is None"),
    "builtins": ("builtins.open = None", "callable(open)"),
    "added builtin": ("builtins.leak = 1", "not hasattr(builtins, 'leak')"),
    "module attribute": ("json.loads = None; json.leak = 1", "callable(json.loads) and not hasattr(json, 'leak')"),
    "deleted attribute": ("del numpy.array", "callable(numpy.array)"),
    "imported module": ("import this", "'this' not in sys.modules"),
    "replaced module": ("sys.modules['json'] = None", "json.loads('1') == 1"),
    "removed module": ("del sys.modules['json']", "sys.modules['json'].loads is json.loads"),
    "cleared sys.modules": ("sys.modules.clear()", "'numpy' in sys.modules"),
    "uploaded module": ("global name; name = __name__", "not [m for m in sys.modules if m.startswith('kcoral_uploaded') and m != __name__]"),
    "workspace": ("open('leak', 'w'); os.makedirs('a/b'); os.chmod('a', 0)", "not [n for n in os.listdir() if n != '.kcoral']"),
    "temporary files": ("tempfile.mkstemp()[0]; os.closerange(3, 50)", "os.listdir(tempfile.gettempdir()) == []"),
    "numpy generator": ("numpy.random.seed(1)", "not numpy.isclose(numpy.random.random(), 0.417022004702574)"),
    "random generator": ("random.seed(1)", "random.random() != 0.13436424411240122"),
    "trace function": ("sys.settrace(lambda *a: None)", "sys.gettrace() is None"),
    "recursion limit": ("sys.setrecursionlimit(77)", "sys.getrecursionlimit() == 1000"),
    "warning filters": ("warnings.simplefilter('error')", "warnings.warn('w') is None"),
    "locale": ("locale.setlocale(locale.LC_ALL, 'C')", "locale.setlocale(locale.LC_ALL) != 'C'"),
    "garbage collection": ("gc.disable(); gc.set_threshold(1)", "gc.isenabled() and gc.get_threshold()[0] > 1"),
    "line cache": ("linecache.cache['leak'] = (1, None, [], 'leak')", "'leak' not in linecache.cache"),
    "finished process": ("subprocess.run(['true'])", "True"),
    "finished thread": ("t = threading.Thread(target=print); t.start(); t.join()", "True"),
    "closed file": ("open('/dev/null').close()", "True"),
}  # fmt: skip

IMPORTS = (
    "import builtins, gc, io, json, linecache, locale, numpy, os, random, resource, signal\n"
    "import subprocess, sys, tempfile, threading, warnings\n"
)


@pytest.mark.parametrize("change", UNDONE)
def test_undone(worker, change):
    body, expression = UNDONE[change]
    # The modules are there before the worker remembers what it goes back to.
    first = worker.run(*program(f"{IMPORTS}def main():\n    {body}\n    return 1\n"), reusable=True)
    assert first.error is None, first.error
    assert first.retire == ""
    worker.wait_ready()
    second = worker.run(*program(f"{IMPORTS}def main():\n    return bool({expression})\n"))
    assert second.error is None, second.error
    assert second.results == {"out": True}


RETIRES = {
    "a thread": (
        "threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()",
        "thread",
    ),
    "a descriptor": ("global f; f = os.dup(0)", "descriptor"),
    "a lowered hard limit": ("resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); os.nice(1)", ""),
    "niceness": ("os.nice(1)", "niceness"),
}


@pytest.mark.parametrize("what", RETIRES)
def test_what_cannot_be_undone_retires_the_worker(worker, what):
    body, reason = RETIRES[what]
    source = f"import os, resource, threading, time\ndef main():\n    {body}\n    return 1\n"
    outcome = worker.run(*program(source), reusable=True)
    assert outcome.results == {"out": 1}
    assert outcome.error is None
    assert outcome.retire.startswith("sandbox_cleanup: ")
    assert reason in outcome.retire


def test_a_worker_serves_many_programs_alike(worker):
    source = textwrap.dedent("""
        import dataclasses
        @dataclasses.dataclass
        class Thing:
            x: int
        def main(x):
            print("seen", x)
            return Thing(x).x
    """)
    for i in range(30):
        worker.wait_ready()
        outcome = worker.run(*program(source, i), reusable=True)
        assert (outcome.results, outcome.error, outcome.retire) == ({"out": i}, None, "")


def test_a_failed_program_does_not_end_a_reusable_worker(worker):
    for body in ("1 / 0", "raise SystemExit", "return object()", "import nothing_here"):
        worker.wait_ready()
        outcome = worker.run(*program(f"def main():\n    {body}\n"), reusable=True)
        assert outcome.error is not None
        assert outcome.retire == ""
    worker.wait_ready()
    assert worker.run(*program("def main():\n    return 1\n")).results == {"out": 1}


def test_handles_do_not_outlive_their_program(worker):
    source = """
import weakref, numpy
class Big: pass
def main():
    big = Big()
    numpy.leak = weakref.ref(big)
    return 1
"""
    worker.run(*program(source), reusable=True)
    worker.wait_ready()
    source = "import gc\ndef main():\n    return len([o for o in gc.get_objects() if type(o).__name__ == 'Big'])\n"
    assert worker.run(*program(source)).results == {"out": 0}
