"""KCoral: run programs on a GPU server.

    from kcoral import Client, Program

Everything public is here. Names load when they are first used: uploaded code may import kcoral in a
worker that has neither httpx nor numpy, and pays for nothing that it does not touch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from kcoral._version import __version__

if TYPE_CHECKING:
    from kcoral.async_client import AsyncClient
    from kcoral.client import Client
    from kcoral.errors import (
        CompileError,
        CorrectnessError,
        KCoralError,
        ProtocolError,
        RemoteExecutionError,
        TransportError,
    )
    from kcoral.program import Program, Register
    from kcoral.remote_function import AsyncRemoteFunction, RemoteFunction
    from kcoral.result import InstructionError, ProgramResult
    from kcoral.returned_files import ReturnedFile, ReturnedFolder

_HOMES = {
    "AsyncClient": "async_client",
    "AsyncRemoteFunction": "remote_function",
    "Client": "client",
    "CompileError": "errors",
    "CorrectnessError": "errors",
    "InstructionError": "result",
    "KCoralError": "errors",
    "Program": "program",
    "ProgramResult": "result",
    "ProtocolError": "errors",
    "Register": "program",
    "RemoteExecutionError": "errors",
    "RemoteFunction": "remote_function",
    "ReturnedFile": "returned_files",
    "ReturnedFolder": "returned_files",
    "TransportError": "errors",
}

__all__ = [
    "AsyncClient",
    "AsyncRemoteFunction",
    "Client",
    "CompileError",
    "CorrectnessError",
    "InstructionError",
    "KCoralError",
    "Program",
    "ProgramResult",
    "ProtocolError",
    "Register",
    "RemoteExecutionError",
    "RemoteFunction",
    "ReturnedFile",
    "ReturnedFolder",
    "TransportError",
    "__version__",
]


if not TYPE_CHECKING:  # to a type checker, names that are not imported above do not exist

    def __getattr__(name):
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module 'kcoral' has no attribute {name!r}")
        value = getattr(importlib.import_module(f"kcoral.{home}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
