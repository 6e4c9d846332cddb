"""Remote functions: which can be sent, what is sent, and what comes of a call or of many."""

from __future__ import annotations

import asyncio
import functools
import math
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any

import fake_server as fake
import numpy as np
import pytest
from fake_server import FakeServer

from kcoral import AsyncClient, Client, Program, RemoteExecutionError

LIMIT = 10
NOWHERE = Client("http://127.0.0.1:1")


@pytest.fixture(scope="module", autouse=True)
def _close() -> Iterator[None]:
    yield
    NOWHERE.close()


def run_locally(program: Program) -> Any:
    """What a worker would make of a program of a remote function."""
    values: dict[str, Any] = {}
    for step in program.instructions:
        if step["op"] == "upload" and step["kind"] == "module":
            module = types.ModuleType(step["id"])
            exec(compile(step["source"], "<uploaded>", "exec"), module.__dict__)
            values[step["id"]] = module
        elif step["op"] == "upload":
            data = program._blobs[step["blob"]].data
            is_tensor = step["kind"] == "tensor"
            values[step["id"]] = (
                np.frombuffer(data, step["dtype"]).reshape(step["shape"])
                if is_tensor
                else bytes(data)
            )
        elif step["op"] == "get_function":
            values[step["id"]] = getattr(values[step["module"]["$ref"]], step["name"])
        elif step["op"] == "run":
            arguments = [
                values[argument["$ref"]]
                if isinstance(argument, dict) and list(argument) == ["$ref"]
                else argument
                for argument in step["args"]
            ]
            values[step["id"]] = values[step["fn"]["$ref"]](*arguments)
        else:
            assert step["key"] == "result"
            return values[step["value"]["$ref"]]
    raise AssertionError("the program returns nothing")


# --- functions that can be sent


@NOWHERE.function
def plain(x: Any, y: Any = 2) -> Any:
    return [x, y]


@NOWHERE.function(timeout=5, cpu_only=True)
def with_everything(
    first: undefined.Type,  # type: ignore[name-defined]  # noqa: F821
    /,
    second: int = LIMIT,
    *rest: Any,
    third: dict[str, int] = {  # noqa: B006
        "a": 1,
        "b": 2,
    },
    fourth: Any = (lambda: LIMIT)(),  # noqa: B008
    **others: Any,
) -> Any:
    """A docstring."""
    import math

    class Inner:
        limit = 3
        copy = limit

    def helper(n: int) -> int:
        return n and helper(n - 1)  # recursion inside

    text = """
no indentation here"""
    return [first, second, rest, third, fourth, others, math.pi, Inner.copy, helper(2), text]


@NOWHERE.function
def recursive(n: int) -> int:
    return 1 if n == 0 else n * recursive(n - 1)


def test_call_is_local() -> None:
    assert plain(1) == [1, 2]
    assert plain.__name__ == "plain"  # type: ignore[attr-defined]
    assert recursive(4) == 24


@pytest.mark.parametrize(
    "arguments",
    [
        (1,),
        ([1.5, None], "é"),
        (b"bytes", bytearray(b"more")),
        ({"$ref": "upload_0"}, {"$ref": 1, "x": 2}),
        ({"k": {"$ref": "y"}}, 1),
    ],
    ids=str,
)
def test_remote_call_means_the_local_one(arguments: tuple[Any, ...]) -> None:
    assert run_locally(plain.build_program(*arguments)) == plain(*arguments)


def test_every_kind_of_parameter_travels() -> None:
    arguments: list[Any] = [1, b"two", 3, {"$ref": "4"}]
    keywords: dict[str, Any] = {"third": {"$ref": "x"}, "fifth": b"5", "sixth": [6]}
    program = with_everything.build_program(*arguments, **keywords)
    assert run_locally(program) == with_everything(*arguments, **keywords)
    assert run_locally(with_everything.build_program(1)) == with_everything(1)
    assert program.instructions[1]["cpu_only"] is True


def test_recursion_works_there_too() -> None:
    assert run_locally(recursive.build_program(5)) == 120


def test_arrays_travel_as_whole_arguments() -> None:
    array = np.arange(3, dtype="<f4")
    first, second = run_locally(plain.build_program(array, y=array[::2]))
    assert first.tolist() == [0, 1, 2]
    assert second.tolist() == [0, 2]
    with pytest.raises(TypeError, match=r"x\[0\] is an array"):
        plain.build_program([array])
    with pytest.raises(TypeError, match=r"\.item\(\)"):
        plain.build_program(np.float32(1))


def test_simple_calls_make_simple_programs() -> None:
    ops = [step["op"] for step in plain.build_program(1, y=3).instructions]
    assert ops == ["upload", "get_function", "run", "return"]
    assert plain.build_program(1).instructions[1]["name"] == "plain"
    assert plain.build_program(1).instructions[2]["args"] == [1, 2]


def test_wrong_arguments_are_told_here() -> None:
    with pytest.raises(TypeError, match="missing a required argument: 'x'"):
        plain.build_program()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="set"):
        plain.build_program({1})


def test_lines_below_the_head_keep_their_distance() -> None:
    source = with_everything.build_program(1).instructions[0]["source"]
    lines = source.split("\n")
    definition = next(i for i, line in enumerate(lines) if line.startswith("def with_everything"))
    inner = next(i for i, line in enumerate(lines) if "class Inner" in line)
    code = with_everything.__wrapped__.__code__  # type: ignore[attr-defined]
    inner_code = next(c for c in code.co_consts if getattr(c, "co_name", "") == "Inner")
    decorators = 1
    assert inner - definition == inner_code.co_firstlineno - code.co_firstlineno - decorators
    assert "# recursion inside" in source


def test_indented_definitions_are_sent_as_they_are() -> None:
    if LIMIT:

        @NOWHERE.function
        def inner(x: int) -> str:
            return f"""{x}
  text"""

    assert run_locally(inner.build_program(1)) == "1\n  text"


def test_undecorated_functions_can_be_wrapped() -> None:
    def inner(x: int) -> int:
        return x + 1

    assert run_locally(NOWHERE.function(inner).build_program(1)) == 2


# --- functions that cannot


def test_closure_is_refused_by_the_name_of_its_variable() -> None:
    outer = 1
    with pytest.raises(ValueError, match="closure over 'outer'"):

        @NOWHERE.function
        def inner() -> int:
            return outer


def test_global_is_refused_by_its_name() -> None:
    with pytest.raises(ValueError, match=r"global 'LIMIT'.*pass it as an argument"):

        @NOWHERE.function
        def constant() -> int:
            return LIMIT

    with pytest.raises(ValueError, match=r"global 'math'.*import it inside module\(\)"):

        @NOWHERE.function
        def module() -> float:
            return math.pi

    with pytest.raises(ValueError, match="'LIMIT', 'math'"):

        @NOWHERE.function
        def hidden() -> Any:
            class Inner:
                value = tuple(LIMIT for _ in range(3))

            return lambda: math.pi

    with pytest.raises(ValueError, match="global 'counter'"):

        @NOWHERE.function
        def writes() -> None:
            global counter
            counter = 1  # type: ignore[name-defined]


def other(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def test_other_decorators_are_refused() -> None:
    with pytest.raises(ValueError, match=r"several decorators.*@other"):

        @NOWHERE.function
        @other
        def below() -> None: ...

    with pytest.raises(TypeError, match="only a function"):
        NOWHERE.function(functools.cache(lambda: 1))

    @functools.wraps(other)
    def wrapper(function: Callable[..., Any]) -> None: ...

    with pytest.raises(ValueError, match="wrapped by another decorator"):
        NOWHERE.function(wrapper)


def test_what_is_no_ordinary_function_is_refused() -> None:
    async def coroutine() -> None: ...

    def generator() -> Iterator[int]:
        yield 1

    async def async_generator() -> Any:
        yield 1

    for function, kind in (
        (coroutine, "async"),
        (generator, "a generator"),
        (async_generator, "an async generator"),
        (lambda: 1, "lambda"),
        (len, "builtin"),
        (int, "type"),
    ):
        with pytest.raises(TypeError, match=kind):
            NOWHERE.function(function)


def test_function_without_source_is_refused_with_advice() -> None:
    namespace: dict[str, Any] = {}
    exec("def ghost(): return 1", namespace)
    with pytest.raises(ValueError, match="notebook cell"):
        NOWHERE.function(namespace["ghost"])


def test_notebook_cells_have_their_source() -> None:
    import linecache

    name, text = "<ipython-input-1-abc>", "def cell(x):\n    return x * 2\n"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(text, name, "exec"), namespace)
    assert run_locally(NOWHERE.function(namespace["cell"]).build_program(2)) == 4


@pytest.mark.parametrize(
    "options", [{"timeout": 0}, {"gpu_count": 9}, {"cpu_only": 1}, {"output_limit_bytes": -1}]
)
def test_bad_options_are_told_at_the_decoration(options: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError)):
        NOWHERE.function(**options)(run_locally)


# --- calls


FAILURE = {
    "kind": "runtime",
    "message": "ValueError: no",
    "instruction_index": 2,
    "instruction_op": "run",
    "instruction_id": "run_2",
    "traceback": "",
}
FAILED = fake.json_reply(fake.execution({}, error=FAILURE))


def double_first_argument(request: fake.Received, connection: Any) -> bool:
    """Plays `lambda x: 2 * x`; fails for -1."""
    (x,) = request.program["instructions"][2]["args"]
    answer = FAILED if x == -1 else fake.completed(result=2 * x)
    return answer(request, connection)


def test_remote_gives_the_value_and_execute_the_result() -> None:
    with FakeServer(*[double_first_argument] * 3) as server, Client(server.url) as client:

        @client.function(timeout=7, gpu_count=None)
        def double(x: int) -> int:
            return 2 * x

        assert double.remote(4) == 8
        assert double.execute(5).results == {"result": 10}
        with pytest.raises(RemoteExecutionError, match="ValueError: no"):
            double.remote(-1)
    assert server.received[0].program["options"] == {"timeout_seconds": 7}


def test_async_remote_gives_the_value_and_execute_the_result() -> None:
    async def run() -> None:
        async with AsyncClient(server.url) as client:

            @client.function(cpu_only=True)
            def double(x: int) -> int:
                return 2 * x

            assert double(3) == 6
            assert await double.remote(4) == 8
            assert (await double.execute(5)).results == {"result": 10}
            with pytest.raises(RemoteExecutionError):
                await double.remote(-1)

    with FakeServer(*[double_first_argument] * 3) as server:
        asyncio.run(run())


class Meeting:
    """An answer that waits until so many requests are there at once, and notes the most."""

    def __init__(self, parties: int) -> None:
        self.barrier = threading.Barrier(parties)
        self.lock = threading.Lock()
        self.now = self.most = 0

    def __call__(self, request: fake.Received, connection: Any) -> bool:
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        self.barrier.wait(30)
        with self.lock:
            self.now -= 1
        return double_first_argument(request, connection)


def test_map_keeps_the_order_and_runs_at_once_what_it_may() -> None:
    meeting = Meeting(4)
    with FakeServer(*[meeting] * 12) as server, Client(server.url) as client:

        @client.function
        def double(x: int) -> int:
            return 2 * x

        assert list(double.map(range(12), concurrency=4)) == [2 * x for x in range(12)]
    assert meeting.most == 4


def test_async_map_keeps_the_order_and_runs_hundreds_at_once() -> None:
    meeting = Meeting(200)

    async def run() -> list[int]:
        async with AsyncClient(server.url) as client:

            @client.function
            def double(x: int) -> int:
                return 2 * x

            return [value async for value in double.map(range(200), concurrency=200)]

    with FakeServer(*[meeting] * 200) as server:
        assert asyncio.run(run()) == [2 * x for x in range(200)]
    assert meeting.most == 200


def test_map_raises_in_place_or_yields_exceptions() -> None:
    with FakeServer(*[double_first_argument] * 20) as server, Client(server.url) as client:

        @client.function
        def double(x: int) -> int:
            return 2 * x

        values: list[Any] = []
        with pytest.raises(RemoteExecutionError):
            values.extend(double.map([1, -1, 3], concurrency=1))
        assert values == [2]
        values = list(double.map([1, -1, 3], return_exceptions=True))
        assert values[0::2] == [2, 6]
        assert isinstance(values[1], RemoteExecutionError)
        with pytest.raises(ValueError, match="concurrency"):
            double.map([], concurrency=0)


def test_map_takes_items_only_as_it_needs_them() -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for i in range(100):
            taken.append(i)
            yield i

    with FakeServer(*[double_first_argument] * 100) as server, Client(server.url) as client:

        @client.function
        def double(x: int) -> int:
            return 2 * x

        values = double.map(items(), concurrency=3)
        assert next(values) == 0
        assert len(taken) == 3
        values.close()
        assert len(server.received) <= 3


def test_leaving_an_async_map_cancels_what_runs() -> None:
    over = threading.Event()

    async def run() -> None:
        async with AsyncClient(server.url) as client:

            @client.function
            def double(x: int) -> int:
                return 2 * x

            values = double.map(range(5), concurrency=2)
            assert await anext(values) == 0
            await values.aclose()

    def answer_only_0(request: fake.Received, connection: Any) -> bool:
        is_0 = request.program["instructions"][2]["args"] == [0]
        return (double_first_argument if is_0 else fake.stall(b"", over))(request, connection)

    with FakeServer(*[answer_only_0] * 5) as server:
        try:
            asyncio.run(asyncio.wait_for(run(), 30))
        finally:
            over.set()
