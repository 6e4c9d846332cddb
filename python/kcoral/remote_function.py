"""Remote functions: Python functions that run on a server when they are asked to."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections import deque
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Iterator, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from kcoral._arguments import json_snapshot
from kcoral._function_source import module_source_of
from kcoral._progress import progress_bar
from kcoral._protocol.request import program_request
from kcoral.program import Program, Register
from kcoral.result import ProgramResult

if TYPE_CHECKING:
    from kcoral.async_client import AsyncClient
    from kcoral.client import Client

P = ParamSpec("P")
R = TypeVar("R")

RESULT_KEY = "result"

# Calls with what a run's arguments cannot say: keywords, and data that reads as a reference.
_CALL_NAME = "_kcoral_call"
_CALL_SOURCE = f"""

def {_CALL_NAME}(positional, keywords, *uploads):
    def value(slot):
        return uploads[slot["upload"]] if "upload" in slot else slot["value"]
    return {{name}}(*map(value, positional), **{{{{key: value(slot) for key, slot in keywords}}}})
"""


@dataclass(frozen=True)
class FunctionOptions:
    timeout: float | None = None
    output_limit_bytes: int | None = None
    cpu_only: bool = False
    gpu_count: int | None = None


class _FunctionBase(Generic[P, R]):
    """What a remote function is, whichever client runs it."""

    def __init__(self, function: Callable[P, R], options: FunctionOptions) -> None:
        self._source = module_source_of(function)
        self._function = function
        self._options = options
        self._signature = inspect.signature(function)
        # Bad options shall be told at the decoration, not at the first call.
        program_request([{}], {}, **self._execute_options())
        if not isinstance(options.cpu_only, bool):
            raise TypeError(f"cpu_only must be a bool, not {type(options.cpu_only).__name__}")
        functools.update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Calls the function here, in this process."""
        return self._function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._function.__qualname__}>"

    def build_program(self, *args: P.args, **kwargs: P.kwargs) -> Program:
        """The program of one call; its result has the key "result".

        Arguments are JSON values; bytes and tensors can be whole arguments. Defaults are evaluated
        here. Raises TypeError or ValueError for what cannot be sent.
        """
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        name = self._function.__name__
        program = Program()
        if not bound.kwargs and not any(_reads_as_reference(value) for value in bound.args):
            function = self._get_function(program, self._source, name)
            values = [
                _argument(program, value, label)
                for label, value in zip(_labels(bound), bound.args, strict=True)
            ]
        else:
            source = self._source + _CALL_SOURCE.format(name=name)
            function = self._get_function(program, source, _CALL_NAME)
            values = _packed(program, bound)
        program.return_(key=RESULT_KEY, value=program.run(fn=function, args=values))
        return program

    def _get_function(self, program: Program, source: str, name: str) -> Register:
        module = program.upload(kind="module", source=source)
        return program.get_function(module=module, name=name, cpu_only=self._options.cpu_only)

    def _execute_options(self) -> dict[str, Any]:
        return {
            "timeout_seconds": self._options.timeout,
            "output_limit_bytes": self._options.output_limit_bytes,
            "gpu_count": self._options.gpu_count,
        }

    def _programs(self, items: Iterable[Any]) -> Iterator[Program]:
        return (self.build_program(item) for item in items)  # type: ignore[call-arg]


def _labels(bound: inspect.BoundArguments) -> list[str]:
    """A name for each positional argument, for messages."""
    labels: list[str] = []
    for name, parameter in bound.signature.parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            labels += [f"{name}[{i}]" for i in range(len(bound.arguments[name]))]
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            labels.append(name)
    return labels


def _reads_as_reference(value: object) -> bool:
    return isinstance(value, dict) and list(value) == ["$ref"]


def _argument(program: Program, value: object, label: str) -> Any:
    """A Register for bytes and tensors, a copy of JSON values."""
    from kcoral._tensors import is_array

    if isinstance(value, (bytes, bytearray, memoryview)):
        return program.upload(kind="bytes", value=value)
    if is_array(value) and not _is_numpy_scalar(value):
        return program.upload(kind="tensor", value=value)
    if isinstance(value, Register):
        raise TypeError(f"{label} is a Register; a remote function takes values")
    return json_snapshot(value, label)


def _is_numpy_scalar(value: object) -> bool:
    return type(value).__module__ == "numpy" and not hasattr(value, "__setitem__")


def _packed(program: Program, bound: inspect.BoundArguments) -> list[Any]:
    uploads: list[Register] = []

    def slot(value: object, label: str) -> dict[str, Any]:
        argument = _argument(program, value, label)
        if not isinstance(argument, Register):
            return {"value": argument}
        uploads.append(argument)
        return {"upload": len(uploads) - 1}

    positional = [
        slot(value, label) for label, value in zip(_labels(bound), bound.args, strict=True)
    ]
    keywords = [[name, slot(value, name)] for name, value in bound.kwargs.items()]
    return [positional, keywords, *uploads]


def _value_of(result: ProgramResult) -> Any:
    return result.raise_for_status().results[RESULT_KEY]


class RemoteFunction(_FunctionBase[P, R]):
    """A function that Client.function decorated.

    Called, it runs here; `remote` runs it on the server. It must be self-contained: what it uses it
    imports, defines or is given.
    """

    def __init__(self, client: Client, function: Callable[P, R], options: FunctionOptions) -> None:
        super().__init__(function, options)
        self._client = client

    def remote(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Runs it on the server and gives its value; arrays come back as NumPy arrays.

        Raises RemoteExecutionError if it failed there, and what Client.execute raises.
        """
        value: R = _value_of(self.execute(*args, **kwargs))
        return value

    def execute(self, *args: P.args, **kwargs: P.kwargs) -> ProgramResult:
        """Runs it on the server and gives the whole result, failed or not."""
        return self._run(self.build_program(*args, **kwargs))

    def map(
        self, items: Iterable[Any], concurrency: int = 8, *, return_exceptions: bool = False
    ) -> Generator[R, None, None]:
        """Runs it on each item, at most `concurrency` at once; yields values in the items' order.

        Items are taken as they are needed. The first failure is raised in its place and nothing
        more is started; with `return_exceptions` exceptions are yielded like values.
        """
        _check_concurrency(concurrency)
        return self._map(items, concurrency, return_exceptions)

    def _map(
        self, items: Iterable[Any], concurrency: int, keep_errors: bool
    ) -> Generator[R, None, None]:
        def call(program: Program) -> Any:
            try:
                return _value_of(self._run(program))
            finally:
                bar.update(1)

        running: deque[Future[Any]] = deque()
        with progress_bar(
            _length_of(items), self._function.__name__, show=self._client._progress
        ) as bar:
            pool = ThreadPoolExecutor(concurrency, "kcoral-map")
            try:
                for program in self._programs(items):
                    running.append(pool.submit(call, program))
                    if len(running) >= concurrency:
                        yield _outcome(running.popleft(), keep_errors)
                while running:
                    yield _outcome(running.popleft(), keep_errors)
            finally:
                # After a failure, too, wait for those that run: there is no way to call them back.
                pool.shutdown(wait=True, cancel_futures=True)

    def _run(self, program: Program) -> ProgramResult:
        return self._client.execute(program, **self._execute_options())


class AsyncRemoteFunction(_FunctionBase[P, R]):
    """A function that AsyncClient.function decorated; RemoteFunction with coroutines."""

    def __init__(
        self, client: AsyncClient, function: Callable[P, R], options: FunctionOptions
    ) -> None:
        super().__init__(function, options)
        self._client = client

    async def remote(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """See RemoteFunction.remote."""
        value: R = _value_of(await self.execute(*args, **kwargs))
        return value

    async def execute(self, *args: P.args, **kwargs: P.kwargs) -> ProgramResult:
        """See RemoteFunction.execute."""
        return await self._run(self.build_program(*args, **kwargs))

    def map(
        self, items: Iterable[Any], concurrency: int = 8, *, return_exceptions: bool = False
    ) -> AsyncGenerator[R, None]:
        """See RemoteFunction.map; for `async for`. Leaving the loop early cancels what runs."""
        _check_concurrency(concurrency)
        return self._map(items, concurrency, return_exceptions)

    async def _map(
        self, items: Iterable[Any], concurrency: int, keep_errors: bool
    ) -> AsyncGenerator[R, None]:
        async def call(program: Program) -> Any:
            try:
                return _value_of(await self._run(program))
            finally:
                bar.update(1)

        running: deque[asyncio.Task[Any]] = deque()
        with progress_bar(
            _length_of(items), self._function.__name__, show=self._client._progress
        ) as bar:
            try:
                for program in self._programs(items):
                    running.append(asyncio.create_task(call(program)))
                    if len(running) >= concurrency:
                        await asyncio.wait([running[0]])
                        yield _outcome(running.popleft(), keep_errors)
                while running:
                    await asyncio.wait([running[0]])
                    yield _outcome(running.popleft(), keep_errors)
            finally:
                for task in running:
                    task.cancel()
                await asyncio.gather(*running, return_exceptions=True)

    async def _run(self, program: Program) -> ProgramResult:
        return await self._client.execute(program, **self._execute_options())


def _check_concurrency(concurrency: object) -> None:
    if isinstance(concurrency, bool) or not isinstance(concurrency, int) or concurrency < 1:
        raise ValueError(f"concurrency must be an integer from 1 on, not {concurrency!r}")


def _length_of(items: Iterable[Any]) -> int | None:
    return len(items) if isinstance(items, Sized) else None


def _outcome(done: Future[Any] | asyncio.Task[Any], keep_errors: bool) -> Any:
    try:
        return done.result()
    except Exception as error:
        if keep_errors:
            return error
        raise
