"""protocol.md, 5: an uploaded module behaves as a real one, in a normal interpreter."""

from __future__ import annotations

from typing import Any

import pytest
from server_process import Server
from wire import call, execute, function, module, ref, returned, run


def out(server: Server, source: str, *args: object) -> Any:
    return execute(server, call(source, *args)).results()["out"]


def test_it_is_a_module_in_sys_modules(server: Server) -> None:
    source = """
        import sys, types
        me = sys.modules[__name__]
        def main():
            return [
                type(me) is types.ModuleType,
                vars(me) is globals(),
                __name__ not in ('__main__', 'builtins', ''),
                __spec__.name == __name__,
                __file__,
                '__builtins__' in globals(),
                __doc__,
            ]
    """
    assert out(server, source) == [True, True, True, True, "<uploaded:m>", True, None]


def test_it_has_a_docstring_and_annotations_like_any(server: Server) -> None:
    source = '"the words"\nx: int = 1\ndef main(): return [__doc__, list(__annotations__)]'
    assert out(server, source) == ["the words", ["x"]]


def test_two_uploads_of_one_source_are_two_modules(server: Server) -> None:
    source = "import sys\nstate = []\ndef main(x): state.append(x); return [__name__, state]"
    instructions = [
        *call(source, 1),
        module(source, id="m2"),
        function(module="m2", id="f2"),
        run(2, fn="f2", id="r2"),
        returned("second", "r2"),
    ]
    results = execute(server, instructions).results()
    assert results["out"][1] == [1] and results["second"][1] == [2]
    assert results["out"][0] != results["second"][0]


def test_modules_of_one_program_can_import_each_other_by_name(server: Server) -> None:
    source = """
        import importlib
        def main(name): return importlib.import_module(name).VALUE
    """
    instructions = [
        module("VALUE = 42\ndef name(): return __name__", id="other"),
        function("name", module="other", id="name"),
        run(fn="name", id="named"),
        *call(source, ref("named")),
    ]
    assert execute(server, instructions).results() == {"out": 42}


def test_inspect_sees_the_source(server: Server) -> None:
    source = """
        import inspect, linecache, sys
        class Kind:
            def method(self):
                return 1
        def decorated(f): return f
        @decorated
        def target(a, *, b=2):
            # a comment
            return a
        def main():
            return [
                inspect.getsource(target),
                inspect.getsource(Kind.method),
                inspect.getsource(sys.modules[__name__]).count('def '),
                inspect.getsourcelines(target)[1],
                inspect.getsourcefile(target),
                linecache.getline(__file__, 2),
            ]
    """
    got = out(server, source)
    assert isinstance(got, list)
    assert got[0] == "@decorated\ndef target(a, *, b=2):\n    # a comment\n    return a\n"
    assert got[1] == "    def method(self):\n        return 1\n"
    assert got[2] == 5
    assert got[3:] == [7, "<uploaded:m>", "import inspect, linecache, sys\n"]


def test_dataclasses_with_postponed_annotations(server: Server) -> None:
    source = """
        from __future__ import annotations
        import dataclasses, typing
        @dataclasses.dataclass
        class Point:
            x: int
            shared: typing.ClassVar[int] = 3
            next: Point | None = None
        def main():
            hints = typing.get_type_hints(Point)
            return [
                [f.name for f in dataclasses.fields(Point)],
                hints['x'] is int,
                hints['next'] == typing.Optional[Point],
                repr(Point(1)),
            ]
    """
    assert out(server, source) == [["x", "next"], True, True, "Point(x=1, next=None)"]


def test_a_future_import_is_the_modules_own(server: Server) -> None:
    source = "def main(x: nothing_that_exists): pass"
    execute(server, [module(source)]).failed("parse")
    execute(server, [module("from __future__ import annotations\n" + source)]).completed()


def test_pickling_works(server: Server) -> None:
    source = """
        import copy, enum, pickle
        class Thing:
            def __init__(self, x): self.x = x
        class Colour(enum.Enum):
            RED = 1
        def helper(): return 5
        def main():
            thing, colour, f = pickle.loads(pickle.dumps([Thing(3), Colour.RED, helper]))
            return [thing.x, colour is Colour.RED, f is helper, copy.deepcopy(thing).x]
    """
    assert out(server, source) == [3, True, True, 3]


def test_multiprocessing_works_by_fork(server: Server) -> None:
    source = """
        import multiprocessing
        def square(x): return x * x
        def main():
            with multiprocessing.get_context('fork').Pool(2) as pool:
                squares = pool.map(square, range(5))
                pool.close()
                pool.join()
            return squares
    """
    assert out(server, source) == [0, 1, 4, 9, 16]


def test_threads_and_asyncio_work(server: Server) -> None:
    source = """
        import asyncio, concurrent.futures, subprocess, sys, threading
        async def later(x):
            await asyncio.sleep(0.001)
            child = await asyncio.create_subprocess_exec(
                sys.executable, '-c', f'print({x} + 1)', stdout=subprocess.PIPE)
            return int((await child.communicate())[0])
        def main():
            with concurrent.futures.ThreadPoolExecutor(4) as pool:
                sums = list(pool.map(sum, [[1], [2, 3]]))
            return [sums, asyncio.run(later(1)),
                    threading.current_thread() is threading.main_thread()]
    """
    assert out(server, source) == [[1, 5], 2, True]


def test_signals_reach_the_program_as_usual(server: Server) -> None:
    source = """
        import os, signal, time
        def main():
            seen = []
            signal.signal(signal.SIGALRM, lambda *_: seen.append('alarm'))
            signal.signal(signal.SIGTERM, lambda *_: seen.append('term'))
            signal.setitimer(signal.ITIMER_REAL, 0.01)
            while not seen: time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGTERM)
            default = signal.getsignal(signal.SIGINT) is signal.default_int_handler
            return [seen, default, signal.getsignal(signal.SIGCHLD) == signal.SIG_DFL]
    """
    assert out(server, source) == [["alarm", "term"], True, True]


def test_kcoral_can_be_imported(server: Server) -> None:
    source = """
        import kcoral
        from kcoral import Client, Program
        def main(): return [kcoral.__version__, Program.__name__]
    """
    version = out(server, source)
    assert isinstance(version, list) and version[1] == "Program"


def test_code_may_edit_the_import_system(server: Server) -> None:
    source = """
        import importlib.abc, importlib.machinery, os, sys, types
        class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
            def find_spec(self, name, path, target=None):
                if name == 'made_up':
                    return importlib.machinery.ModuleSpec(name, self)
            def exec_module(self, module): module.value = 'found'
        sys.meta_path.insert(0, Finder())
        sys.modules['faked'] = types.SimpleNamespace(value='faked')
        os.mkdir('lib')
        open('lib/on_path.py', 'w').write('value = "on path"')
        sys.path.insert(0, 'lib')
        import faked, made_up, on_path
        def main(): return [made_up.value, faked.value, on_path.value]
    """
    assert out(server, source) == ["found", "faked", "on path"]


def test_modules_that_a_program_writes_can_be_imported(server: Server) -> None:
    source = """
        def main():
            open('written.py', 'w').write('value = 1')
            import written
            return written.value
    """
    assert out(server, source) == 1


def test_a_module_may_replace_itself(server: Server) -> None:
    source = """
        import sys, types
        sys.modules[__name__] = types.SimpleNamespace(main=lambda: 'replaced')
    """
    assert out(server, source) == "replaced"


def test_a_module_may_have_getattr(server: Server) -> None:
    source = """
        def __getattr__(name):
            if name == 'main':
                return lambda: 'lazy'
            raise AttributeError(name)
    """
    assert out(server, source) == "lazy"


def test_callables_of_all_kinds_can_be_run(server: Server) -> None:
    source = """
        import functools, math
        class Class:
            def __init__(self): self.x = 1
            def __call__(self): return 'called'
            @staticmethod
            def static(): return 'static'
        instance = Class()
        bound = instance.__call__
        static = Class.static
        partial = functools.partial(max, 3)
        root = math.sqrt
        lam = lambda: 'lambda'
    """
    instructions = [module(source)]
    expected = {
        "instance": ((), "called"),
        "bound": ((), "called"),
        "static": ((), "static"),
        "partial": ((5,), 5),
        "root": ((4,), 2.0),
        "lam": ((), "lambda"),
    }
    for name, (args, _) in expected.items():
        instructions += [
            function(name, id=name),
            run(*args, fn=name, id=f"r {name}"),
            returned(name, f"r {name}"),
        ]
    results = execute(server, instructions).results()
    assert results == {name: value for name, (_, value) in expected.items()}


def test_a_name_can_be_any_attribute(server: Server) -> None:
    source = "globals()['an odd name!'] = lambda: 'odd'\nglobals()['ä'] = lambda: 'umlaut'"
    instructions = [
        *call(source, name="an odd name!"),
        function("ä", id="f2"),
        run(fn="f2", id="r2"),
        returned("second", "r2"),
    ]
    assert execute(server, instructions).results() == {"out": "odd", "second": "umlaut"}


def test_the_interpreter_looks_like_a_normal_one(server: Server) -> None:
    source = """
        import builtins, os, sys, threading
        def main():
            return [
                sys.argv,
                sys.modules['__main__'].__name__,
                sys.path[0],
                os.environ['HOME'] == os.getcwd() == os.path.realpath('.'),
                threading.active_count(),
                sys.flags.interactive,
                sys.getrecursionlimit(),
                sys.stdin.read(),
                sorted(set(os.listdir('/proc/self/fd')) - {'0', '1', '2'}).__len__() <= 4,
            ]
    """
    assert out(server, source) == [[""], "__main__", "", True, 1, 0, 1000, "", True]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
def test_line_ends_of_all_kinds(server: Server, newline: str) -> None:
    source = newline.join(
        ["def main():", "    x = '''a", "b'''", "    return [x, main.__code__.co_firstlineno]"]
    )
    assert execute(server, call(source)).results() == {"out": ["a\nb", 1]}


@pytest.mark.parametrize(
    "source",
    ["", "\n", "# only a comment", "pass", "# -*- coding: latin-1 -*-\nx = 'ä'"],
    ids=repr,
)
def test_sources_of_all_kinds_load(server: Server, source: str) -> None:
    execute(server, [module(source)]).completed()


def test_a_source_is_utf8_whatever_its_cookie_says(server: Server) -> None:
    source = "# -*- coding: latin-1 -*-\ndef main(): return 'ä'"
    assert out(server, source) == "ä"


def test_requests_share_no_state(server: Server) -> None:
    source = """
        import os, random, sys
        def main():
            seen = [hasattr(sys, 'kcoral_was_here'), 'KCORAL_WAS_HERE' in os.environ]
            sys.kcoral_was_here = True
            os.environ['KCORAL_WAS_HERE'] = '1'
            return [seen, random.random()]
    """
    runs = [out(server, source) for _ in range(4)]
    assert [seen for seen, _ in runs] == [[False, False]] * 4
    assert len({number for _, number in runs}) == 4


def test_generators_of_forked_workers_differ(server: Server) -> None:
    source = """
        import os, random, uuid
        import numpy
        def main():
            return [random.getrandbits(64), int(numpy.random.randint(1 << 62)),
                    int(numpy.random.default_rng().integers(1 << 62)), os.urandom(8).hex(),
                    str(uuid.uuid4())]
    """
    runs = [out(server, source) for _ in range(4)]
    for numbers in zip(*runs, strict=True):
        assert len(set(numbers)) == 4


def test_secrets_of_the_server_are_not_in_a_workers_environment(server: Server) -> None:
    source = "import os\ndef main(): return sorted(os.environ)"
    names = out(server, source)
    assert isinstance(names, list)
    assert not [name for name in names if name.startswith(("KCORAL_SERVER", "PYTEST", "AWS_"))]
