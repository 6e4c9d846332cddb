"""What can go wrong: on the way to a server, in its answer, and in uploaded code."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kcoral.result import ProgramResult


# What a person can do about the server's errors.
_ADVICE = {
    "parse": "the server refused the request as malformed; nothing ran",
    "request_too_large": "send less, or start the server with a larger --max-request-bytes",
    "busy": "nothing ran; try later, or let the client try again (retries=)",
    "timeout": "ask for more with timeout_seconds=, up to the server's --max-timeout-seconds",
    "engine": "the server's own fault; its log tells more",
    "response_too_large": "return less, or start the server with a larger --max-response-bytes",
    "server_transport": "the program may have run; the router does not send it twice",
}


class KCoralError(Exception):
    """A request got no result. Raised itself when the server answered with an error.

    `status_code` is the HTTP status, None without a response. `kind` is the server's word for what
    happened: "parse", "request_too_large", "busy", "timeout", "engine", "response_too_large",
    "server_transport"; "transport" and "protocol" are the client's own. `request_id` names the HTTP
    request in the server's log, as far as it is known.
    """

    def __init__(
        self, status_code: int | None, kind: str, message: str, request_id: str | None = None
    ) -> None:
        super().__init__(status_code, kind, message, request_id)
        self.status_code = status_code
        self.kind = kind
        self.message = message
        self.request_id = request_id

    def __str__(self) -> str:
        parts = [self.message]
        if self.kind in _ADVICE:
            parts.append(f"- {_ADVICE[self.kind]}")
        if self.status_code is not None:
            parts.append(f"[HTTP {self.status_code}, {self.kind}]")
        else:
            parts.append(f"[{self.kind}]")
        if self.request_id:
            parts.append(f"(request {self.request_id})")
        return " ".join(parts)


class TransportError(KCoralError):
    """No whole response came. Unless the connection was refused, the program may have run."""

    def __init__(self, message: str, request_id: str | None = None) -> None:
        super().__init__(None, "transport", message, request_id)

    def __reduce__(self) -> tuple[type[TransportError], tuple[str, str | None]]:
        return type(self), (self.message, self.request_id)


class ProtocolError(KCoralError):
    """The response is not what the contract promises; nothing of it was kept."""

    def __init__(
        self, message: str, status_code: int | None = None, request_id: str | None = None
    ) -> None:
        super().__init__(status_code, "protocol", message, request_id)

    def __reduce__(self) -> tuple[type[ProtocolError], tuple[str, int | None, str | None]]:
        return type(self), (self.message, self.status_code, self.request_id)


class RemoteExecutionError(KCoralError):
    """The program failed while it ran. `result` holds what it returned and printed before that.

    `kind` is that of `result.error`.
    """

    def __init__(self, result: ProgramResult) -> None:
        error = result.error
        if error is None:
            raise ValueError("the program did not fail")
        super().__init__(200, error.kind, error.message, result.request_id)
        self.result = result

    def __str__(self) -> str:
        assert self.result.error is not None
        return f"{self.result.error} (request {self.request_id})"

    def __reduce__(self) -> tuple[type[RemoteExecutionError], tuple[ProgramResult]]:
        return type(self), (self.result,)


class CorrectnessError(AssertionError):
    """Raised by uploaded code: a result is wrong. The program fails with kind "correctness"."""


class CompileError(RuntimeError):
    """Raised by uploaded code: a compiler failed. The program fails with kind "compile"."""
