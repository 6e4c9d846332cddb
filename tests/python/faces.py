"""Both clients behind one face: a test that takes `connect` runs with each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from kcoral import AsyncClient, Client, Program, ProgramResult


class SyncFace:
    """A Client for one call after another."""

    def __init__(self, url: str, **options: Any) -> None:
        self.url = url
        self.options = options

    def execute(self, program: Program, **options: Any) -> ProgramResult:
        with Client(self.url, **self.options) as client:
            return client.execute(program, **options)

    def health(self) -> Any:
        with Client(self.url, **self.options) as client:
            return client.health()

    def target(self) -> Any:
        with Client(self.url, **self.options) as client:
            return client.target()


class AsyncFace(SyncFace):
    """The same with an AsyncClient."""

    def _run(self, method: str, *arguments: Any, **options: Any) -> Any:
        async def run() -> Any:
            async with AsyncClient(self.url, **self.options) as client:
                return await getattr(client, method)(*arguments, **options)

        return asyncio.run(run())

    def execute(self, program: Program, **options: Any) -> ProgramResult:
        result = self._run("execute", program, **options)
        assert isinstance(result, ProgramResult)
        return result

    def health(self) -> Any:
        return self._run("health")

    def target(self) -> Any:
        return self._run("target")


Connect = Callable[..., SyncFace]
