"""Client: executes programs on a server and waits for them."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import ParamSpec, TypeVar, overload

import httpx

from kcoral import _http
from kcoral._progress import progress_bar
from kcoral._protocol.exchange import Attempt, Exchange
from kcoral._protocol.health import Health, decode_health
from kcoral._protocol.request import program_request
from kcoral.program import Program
from kcoral.remote_function import FunctionOptions, RemoteFunction
from kcoral.result import ProgramResult

P = ParamSpec("P")
R = TypeVar("R")


class Client:
    """A connection to a server or router, for any number of threads at once.

    `base_url` may have a path prefix. `headers` go with every request; `token` is sent as
    `Authorization: Bearer`. `verify` is httpx's: True, False, a file of certificates or an
    SSLContext. `retries` is how often an execution is tried again when that is safe: the server
    answered "busy", or no connection could be made. `progress` shows a bar for big uploads and for
    `map`, if tqdm is installed.
    """

    def __init__(
        self,
        base_url: str,
        *,
        headers: Mapping[str, str] | None = None,
        connect_timeout_seconds: float | None = 10.0,
        token: str | None = None,
        verify: bool | str | ssl.SSLContext = True,
        retries: int = 0,
        progress: bool = True,
    ) -> None:
        self.base_url = _http.check_base_url(base_url)
        self._retries = _http.check_retries(retries)
        self._progress = progress
        options = _http.http_options(self.base_url, headers, connect_timeout_seconds, token, verify)
        transport = options.transport and httpx.HTTPTransport(**options.transport)
        self._http = httpx.Client(**options.client, transport=transport or None)

    def execute(
        self,
        program: Program,
        *,
        timeout_seconds: float | None = None,
        gpu_count: int | None = None,
        output_limit_bytes: int | None = None,
        retries: int | None = None,
    ) -> ProgramResult:
        """Runs a program and waits for its end.

        `timeout_seconds` limits the time on the worker, without waits for it and for a GPU.
        `gpu_count` asks for that many GPUs at once (1 to 8). `output_limit_bytes` is how much of
        stdout and of stderr is kept; 0 captures nothing.

        A program that failed while it ran gives a result with `error`, see
        `ProgramResult.raise_for_status`. Raises KCoralError when the server refused or could not
        finish it, TransportError without a whole response, ProtocolError for a wrong one, TypeError
        or ValueError for bad options.
        """
        request = program_request(
            program._instructions[:],
            dict(program._blobs),
            timeout_seconds=timeout_seconds,
            gpu_count=gpu_count,
            output_limit_bytes=output_limit_bytes,
        )
        exchange = Exchange(
            request, self._retries if retries is None else _http.check_retries(retries)
        )
        while exchange.result is None:
            attempt = exchange.next_attempt()
            if exchange.pause_seconds:
                time.sleep(exchange.pause_seconds)
            try:
                self._send(exchange, attempt)
            except httpx.HTTPError as error:
                _http.fail_or_retry(exchange, error, self.base_url, attempt.request_id)
        return exchange.result

    def _send(self, exchange: Exchange, attempt: Attempt) -> None:
        with self._http.stream(
            "POST",
            f"{self.base_url}/execute",
            headers=attempt.headers,
            content=self._chunks(attempt),
        ) as response:
            _http.expect_body(response)
            reader = exchange.response(_http.head_of(response))
            for data in response.iter_raw():
                reader.feed(data)
        exchange.end_response()

    def _chunks(self, attempt: Attempt) -> Iterator[bytes]:
        size = attempt.body.content_length
        show = self._progress and size >= _http.BIG_UPLOAD_BYTES
        with progress_bar(size, "upload", show=show, in_bytes=True) as bar:
            for chunk in attempt.body.chunks(_http.CHUNK_BYTES):
                yield chunk
                bar.update(len(chunk))

    def health(self) -> Health:
        """The server's state; its `status` is "unavailable" on a router without a ready node."""
        try:
            response = self._http.get(f"{self.base_url}/health", timeout=_http.HEALTH_SECONDS)
        except httpx.HTTPError as error:
            raise _http.error_of(error, self.base_url, None) from error
        return decode_health(_http.head_of(response), response.content)

    def target(self) -> dict[str, str]:
        """What to compile for: {"arch": "sm_90a"}, or {} on a CPU server."""
        return self.health()["target"]

    @overload
    def function(self, function: Callable[P, R], /) -> RemoteFunction[P, R]: ...

    @overload
    def function(
        self,
        function: None = None,
        /,
        *,
        timeout: float | None = None,
        output_limit_bytes: int | None = None,
        cpu_only: bool = False,
        gpu_count: int | None = None,
    ) -> Callable[[Callable[P, R]], RemoteFunction[P, R]]: ...

    def function(
        self,
        function: Callable[P, R] | None = None,
        /,
        *,
        timeout: float | None = None,
        output_limit_bytes: int | None = None,
        cpu_only: bool = False,
        gpu_count: int | None = None,
    ) -> RemoteFunction[P, R] | Callable[[Callable[P, R]], RemoteFunction[P, R]]:
        """Decorates a self-contained function to run on the server, see RemoteFunction.

        `timeout` is in seconds. Raises TypeError or ValueError for functions that cannot be sent.
        """
        options = FunctionOptions(timeout, output_limit_bytes, cpu_only, gpu_count)

        def decorate(function: Callable[P, R]) -> RemoteFunction[P, R]:
            return RemoteFunction(self, function, options)

        return decorate if function is None else decorate(function)

    def close(self) -> None:
        """Closes the connections; nothing can be executed any more."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
