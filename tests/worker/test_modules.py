"""Uploaded modules behave as real ones."""

from __future__ import annotations

import textwrap

import pytest
from programs import program

BEHAVIOURS = {
    "it has a name of its own in sys.modules": """
        import sys
        def main():
            return [sys.modules[__name__].main is main, __name__ != "__main__", __name__.isidentifier()]
    """,
    "its file name leads to its source": """
        import linecache
        def main():
            return [__file__.startswith("<uploaded:"), linecache.getline(__file__, 3).strip() == "def main():"]
    """,
    "inspect finds the source of functions and classes": """
        import inspect
        class Thing:
            value = 1
        def main():
            return ["value = 1" in inspect.getsource(Thing), "getsource(main)" in inspect.getsource(main)]
    """,
    "dataclasses take postponed annotations": """
        from __future__ import annotations
        import dataclasses
        import typing
        @dataclasses.dataclass
        class Point:
            x: int
            other: typing.Optional[Point] = None
            kind: typing.ClassVar[str] = "point"
        def main():
            hints = typing.get_type_hints(Point)
            return [Point(1) == Point(1), hints["x"] is int, len(dataclasses.fields(Point)) == 2]
    """,
    "its objects pickle": """
        import pickle
        class Thing:
            def __init__(self):
                self.x = 1
        def main():
            return [pickle.loads(pickle.dumps(Thing())).x == 1, pickle.loads(pickle.dumps(main)) is main]
    """,
    "builtins are there": """
        def main():
            return [eval("len([1])") == 1, __builtins__ is not None]
    """,
    "it may replace itself as an imported module may": """
        import sys
        class Other:
            @staticmethod
            def main():
                return [True]
        sys.modules[__name__] = Other
    """,
    "lines end as they like": "def main():\\r\\n    x = [True]\\r    return x\\n",
    "kcoral can be imported": """
        import kcoral
        def main():
            return [isinstance(kcoral.__version__, str)]
    """,
    "names of modules may be reached by __getattr__": """
        def __getattr__(name):
            if name == "main":
                return lambda: [True]
            raise AttributeError(name)
    """,
    "a thread may run in it": """
        import threading
        def main():
            seen = []
            thread = threading.Thread(target=lambda: seen.append(True))
            thread.start()
            thread.join()
            return seen
    """,
    "processes can be started and waited for": """
        import multiprocessing, subprocess, sys
        def double(x):
            return 2 * x
        def main():
            with multiprocessing.get_context("fork").Pool(2) as pool:
                doubled = pool.map(double, [1, 2])
            said = subprocess.run([sys.executable, "-c", "print(7)"], capture_output=True).stdout
            return [doubled == [2, 4], said.strip() == b"7"]
    """,
    "asyncio runs": """
        import asyncio
        async def work():
            await asyncio.sleep(0)
            return [True]
        def main():
            return asyncio.run(work())
    """,
    "__main__ is empty and there are no arguments": """
        import sys
        def main():
            main = sys.modules["__main__"]
            return [not hasattr(main, "__file__"), sys.argv == [""]]
    """,
}


def dedent(source: str) -> str:
    return textwrap.dedent(source).replace("\\r", "\r").replace("\\n", "\n")


@pytest.mark.parametrize("behaviour", BEHAVIOURS)
def test_behaviour(call, behaviour):
    outcome = call(dedent(BEHAVIOURS[behaviour]))
    assert outcome.error is None
    assert outcome.results["out"]
    assert all(outcome.results["out"])


def test_modules_know_each_other_by_reference_only(worker):
    one = {"op": "upload", "kind": "module", "id": "one", "source": "x = 1"}
    two = {"op": "upload", "kind": "module", "id": "two", "source": "def main(m): return m.x"}
    function = {"op": "get_function", "id": "f", "module": {"$ref": "two"}, "name": "main"}
    run = {"op": "run", "id": "r", "fn": {"$ref": "f"}, "args": [{"$ref": "one"}]}
    back = {"op": "return", "key": "out", "value": {"$ref": "r"}}
    assert worker.run(one, two, function, run, back).results == {"out": 1}


def test_a_traceback_shows_uploaded_lines_and_nothing_of_ours(call):
    outcome = call("def inner():\n    return 1 / 0  # here\n\ndef main():\n    inner()\n")
    assert outcome.kind == "runtime"
    assert outcome.error["message"] == "ZeroDivisionError: division by zero"
    lines = outcome.error["traceback"].splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert '  File "<uploaded:m>", line 5, in main' in lines
    assert "    return 1 / 0  # here" in lines
    assert lines[1] == '  File "<uploaded:m>", line 5, in main'
    assert lines[-1] == "ZeroDivisionError: division by zero"


@pytest.mark.parametrize("id", ["plain", "sp ace", "new\nline", "nul\0", "<odd>", "ü.b"])
def test_any_id_makes_a_module(worker, id):
    instructions = program("def main():\n    return __file__\n")
    instructions[0]["id"] = id
    instructions[1]["module"] = {"$ref": id}
    assert worker.run(*instructions).results["out"].startswith("<uploaded:")
