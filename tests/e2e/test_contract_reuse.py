"""--max-requests-per-worker: what a worker that serves again undoes first, and when it gives up."""

from __future__ import annotations

import pytest
from server_process import Server, StartServer
from wire import call, execute, module

# The same for two requests when one process served both.
# Its start alone, in hundredths of a second, may be that of another worker.
IDENTITY = (
    "__import__('os').readlink('/proc/self/ns/pid') + open('/proc/self/stat').read().split()[21]"
)
WHO = f"def main(): return {IDENTITY}"


@pytest.fixture(scope="module")
def reusing(start_module_server: StartServer) -> Server:
    return start_module_server(
        *("--max-requests-per-worker", "0", "--preload", "numpy"),
        *("--worker-termination-grace-seconds", "0.2"),
    )


def who(server: Server) -> str:
    identity: str = execute(server, call(WHO)).results()["out"]
    return identity


def test_one_worker_serves_all(reusing: Server) -> None:
    assert len({who(reusing) for _ in range(5)}) == 1


def test_a_worker_serves_as_many_as_it_may(start_server: StartServer) -> None:
    started = start_server("--max-requests-per-worker", "2")
    served = [who(started) for _ in range(6)]
    assert served[0] == served[1] != served[2] == served[3] != served[4] == served[5]


def test_by_default_each_request_has_its_own(server: Server) -> None:
    assert len({who(server) for _ in range(4)}) == 4


def test_a_failure_does_not_cost_the_worker(reusing: Server) -> None:
    first = who(reusing)
    execute(reusing, call("def main(): 1 / 0")).failed("runtime")
    execute(reusing, [module("syntax error")]).failed("parse")
    execute(reusing, call("def main(): return {1}")).failed("serialization")
    execute(reusing, call("def main(): raise SystemExit")).failed("runtime")
    assert who(reusing) == first


# Each leaves something behind and shows what it would see of an earlier one.
TRACES = {
    "a variable": ("os.environ.get('TRACE')", "os.environ['TRACE'] = '1'"),
    "a variable of C": ("os.popen('echo $TRACE').read()", "os.putenv('TRACE', '1')"),
    "a variable removed": ("'HOME' in os.environ", "del os.environ['HOME']"),
    "the folder": ("os.getcwd()", "os.mkdir('x'); os.chdir('x')"),
    "the umask": ("[os.umask(0o22), os.umask(0o22)][1]", "os.umask(0o777)"),
    "a file": ("sorted(os.listdir())", "open('trace', 'w').close()"),
    "a folder without permissions": (
        "sorted(os.listdir())",
        "os.mkdir('trace'); os.mkdir('trace/in'); os.chmod('trace', 0)",
    ),
    "a link": ("sorted(os.listdir())", "os.symlink('/', 'trace')"),
    "a temporary file": (
        "len(os.listdir(tempfile.gettempdir()))",
        "tempfile.NamedTemporaryFile(delete=False)",
    ),
    "sys.path": ("list(sys.path)", "sys.path.insert(0, '/trace')"),
    "sys.path itself": ("list(sys.path)", "sys.path = ['/trace']"),
    "a finder": ("len(sys.meta_path)", "sys.meta_path.append(object())"),
    "a hook": ("len(sys.path_hooks)", "sys.path_hooks.clear()"),
    "a module": ("'trace' in sys.modules", "sys.modules['trace'] = sys"),
    "a module replaced": ("sys.modules['json'].__name__", "sys.modules['json'] = os"),
    "a module removed": ("'json' in sys.modules", "del sys.modules['json']"),
    "the import of a module": ("'colorsys' in sys.modules", "import colorsys"),
    "an attribute added": ("hasattr(json, 'trace')", "json.trace = 1"),
    "an attribute replaced": ("json.dumps([])", "json.dumps = lambda x: 'hijacked'"),
    "an attribute removed": ("hasattr(json, 'loads')", "del json.loads"),
    "a builtin added": ("hasattr(builtins, 'trace')", "builtins.trace = 1"),
    "a builtin replaced": ("len([])", "builtins.len = lambda x: 99"),
    "NumPy patched": ("float(numpy.sum([1.0]))", "numpy.sum = lambda x: 99.0"),
    "a signal handler": (
        "signal.getsignal(signal.SIGUSR1) == signal.SIG_DFL",
        "signal.signal(signal.SIGUSR1, lambda *_: None)",
    ),
    "a signal ignored": (
        "signal.getsignal(signal.SIGTERM) == signal.SIG_DFL",
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)",
    ),
    "a signal blocked": (
        "sorted(signal.pthread_sigmask(signal.SIG_BLOCK, []))",
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])",
    ),
    "a timer": (
        "signal.getitimer(signal.ITIMER_REAL)[0]",
        "signal.setitimer(signal.ITIMER_REAL, 900)",
    ),
    "a limit": (
        "resource.getrlimit(NOFILE)",
        "resource.setrlimit(NOFILE, (64, resource.getrlimit(NOFILE)[1]))",
    ),
    "affinity": (
        "sorted(os.sched_getaffinity(0))",
        "os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])",
    ),
    "stdout": ("type(sys.stdout).__name__", "sys.stdout = None"),
    "stdout's descriptor": (
        "os.write(1, b'') or 'fine'",
        "os.dup2(os.open('/dev/null', os.O_WRONLY), 1)",
    ),
    "the excepthook": ("sys.excepthook is sys.__excepthook__", "sys.excepthook = print"),
    "a trace function": ("sys.gettrace() is None", "sys.settrace(lambda *_: None)"),
    "a profile function": ("sys.getprofile() is None", "sys.setprofile(lambda *_: None)"),
    "the recursion limit": ("sys.getrecursionlimit()", "sys.setrecursionlimit(5000)"),
    "the switch interval": ("sys.getswitchinterval()", "sys.setswitchinterval(1)"),
    "the digits limit": ("sys.get_int_max_str_digits()", "sys.set_int_max_str_digits(0)"),
    "the random seed": ("'seeded' if random.random() == SEEDED else 'not'", "random.seed(5)"),
    "NumPy's seed": (
        "'seeded' if numpy.random.random() == NUMPY_SEEDED else 'not'",
        "numpy.random.seed(5)",
    ),
    "linecache": ("'trace' in linecache.cache", "linecache.cache['trace'] = (1, None, [], 'x')"),
    "warnings": ("len(warnings.filters)", "warnings.simplefilter('error')"),
    "the locale": ("locale.setlocale(locale.LC_ALL)", "locale.setlocale(locale.LC_ALL, 'C.UTF-8')"),
    "the garbage collector": ("gc.isenabled()", "gc.disable()"),
    "the debug flags of it": ("gc.get_debug()", "gc.set_debug(gc.DEBUG_SAVEALL)"),
    "the thresholds of it": ("gc.get_threshold()", "gc.set_threshold(1)"),
    "argv": ("sys.argv", "sys.argv.append('trace')"),
    "__main__": ("hasattr(sys.modules['__main__'], 'trace')", "sys.modules['__main__'].trace = 1"),
    "an open file": ("len(os.listdir('/proc/self/fd'))", "os.open('/dev/null', os.O_RDONLY)"),
    "a thread": (
        "threading.active_count()",
        "threading.Thread(target=time.sleep, args=(600,), daemon=True).start()",
    ),
    "a child": ("len(os.listdir('/proc')) and 'fine'", "subprocess.Popen(['sleep', '600'])"),
    "niceness": ("os.nice(0)", "os.nice(3)"),
}
PRELUDE = """
import atexit, builtins, decimal, gc, json, linecache, locale, logging, os, random, resource
import signal, subprocess, sys, tempfile, threading, time, warnings
import numpy
NOFILE = resource.RLIMIT_NOFILE
SEEDED = random.Random(5).random()
NUMPY_SEEDED = numpy.random.RandomState(5).random()
"""


@pytest.mark.parametrize("trace", TRACES.values(), ids=TRACES.keys())
def test_what_a_program_left_the_next_does_not_see(reusing: Server, trace: tuple[str, str]) -> None:
    look, leave = trace
    source = f"{PRELUDE}\ndef main():\n  seen = {look}\n  {leave}\n  return repr(seen)"
    first = execute(reusing, call(source)).execution()["results"]["out"]
    second = execute(reusing, call(source)).execution()["results"]["out"]
    assert second == first


def test_what_cannot_be_undone_costs_the_worker(reusing: Server) -> None:
    for leave in (
        "threading.Thread(target=time.sleep, args=(600,), daemon=True).start()",
        "resource.setrlimit(NOFILE, (64, 64))",
    ):
        before = who(reusing)
        execute(reusing, call(f"{PRELUDE}\ndef main(): {leave}")).completed()
        assert who(reusing) != before


def test_uploaded_modules_are_gone_and_their_names_are_not_used_again(reusing: Server) -> None:
    source = (
        "import sys\ndef main(): return [__name__, [n for n in sys.modules if 'uploaded' in n]]"
    )
    runs = [execute(reusing, call(source)).results()["out"] for _ in range(3)]
    assert len({name for name, _ in runs}) == 3
    for name, modules in runs:
        assert modules == [name]


def test_output_of_one_request_is_not_the_nexts(reusing: Server) -> None:
    source = """
        import ctypes, os, sys
        def main(text):
            print(text)
            ctypes.CDLL(None).printf(text.encode())
            sys.stdout.write(text)
    """
    for text in ("one", "two", "three"):
        document = execute(reusing, call(source, text)).completed()
        assert text in document["stdout"]
        for other in {"one", "two", "three"} - {text}:
            assert other not in document["stdout"]


def test_generators_go_on_and_do_not_repeat(reusing: Server) -> None:
    source = """
        import random, numpy
        def main(): return [random.random(), float(numpy.random.random())]
    """
    runs = [execute(reusing, call(source)).results()["out"] for _ in range(4)]
    for numbers in zip(*runs, strict=True):
        assert len(set(numbers)) == 4
