"""Fixtures: one zygote for the tests of one pytest process."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from programs import program  # noqa: E402
from seats import Outcome, Worker, Zygote  # noqa: E402

sys.setrecursionlimit(5000)  # values nest 512 deep, their JSON twice as deep
if hasattr(sys, "set_int_max_str_digits"):
    sys.set_int_max_str_digits(0)  # tests print and parse integers beyond the interpreter's limit


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    started = Zygote("--preload", "numpy,ml_dtypes")
    yield started
    started.stop()


@pytest.fixture
def worker(zygote: Zygote) -> Iterator[Worker]:
    forked = zygote.fork()
    yield forked
    forked.kill()


@pytest.fixture
def call(worker: Worker) -> Callable[..., Outcome]:
    """Runs main(*args) of a module and returns what it gives as `out`."""

    def run(source: str, *arguments: object, **options: object) -> Outcome:
        return worker.run(*program(source, *arguments), **options)

    return run
