"""Servers for the tests of this folder: one they share, and others with options of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from server_process import Server, StartServer, become_subreaper


@pytest.fixture(scope="session", autouse=True)
def _subreaper() -> None:
    become_subreaper()


@pytest.fixture(scope="session")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    started = Server(
        "--num-workers", "2", "--host-tensors", directory=tmp_path_factory.mktemp("shared-server")
    )
    yield started
    started.stop()


@pytest.fixture
def server(shared_server: Server) -> Iterator[Server]:
    """A server with two workers, fresh for each request, that other tests use before and after."""
    yield shared_server
    assert shared_server.process.poll() is None, f"the server died:\n{shared_server.log}"


@pytest.fixture(scope="module")
def start_module_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartServer]:
    """Starts servers that live as long as the tests of one file."""
    yield from _factory(lambda: tmp_path_factory.mktemp("server"))


@pytest.fixture
def start_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartServer]:
    """Starts servers for one test: start_server("--num-workers", "3")."""
    yield from _factory(lambda: tmp_path_factory.mktemp("server"))


def _factory(make_directory: Callable[[], object]) -> Iterator[StartServer]:
    started: list[Server] = []

    def start(*options: str, **keywords: object) -> Server:
        if "--preload" not in options:
            options = ("--preload", "json", *options)  # starts faster than with NumPy
        server = Server(*options, directory=make_directory(), **keywords)  # type: ignore[arg-type]
        started.append(server)
        return server

    yield start
    failures = []
    for server in started:
        try:
            server.stop()
        except AssertionError as failure:  # noqa: PERF203
            failures.append(str(failure))
    assert failures == []
