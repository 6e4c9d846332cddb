"""What both clients share around httpx: the address, headers, TLS, and what its errors mean."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.request import getproxies

import httpx

from kcoral._protocol.exchange import Exchange
from kcoral._protocol.response import ResponseHead
from kcoral._version import __version__
from kcoral.errors import KCoralError, ProtocolError, TransportError

# Of a body that is under way. Before a response there is no limit: a program may wait for hours in
# the server's queue, and it is the server that ends that.
STALLED_SECONDS = 120.0
HEALTH_SECONDS = 10.0
CHUNK_BYTES = 256 << 10
BIG_UPLOAD_BYTES = 16 << 20  # from here on there is a progress bar


def check_base_url(base_url: str) -> str:
    """The URL without a slash at its end. Raises ValueError for what is not one of a server."""
    try:
        url = httpx.URL(base_url)
    except (httpx.InvalidURL, TypeError) as error:
        raise ValueError(f"base_url {base_url!r} is not a URL: {error}") from None
    if url.scheme not in ("http", "https") or not url.host:
        raise ValueError(
            f"base_url must be like 'http://localhost:8000' or 'https://host/prefix', "
            f"not {base_url!r}"
        )
    if url.query or url.fragment:
        raise ValueError(f"base_url must have no query and no fragment: {base_url!r}")
    return str(url).rstrip("/")


def check_retries(retries: object) -> int:
    if isinstance(retries, bool) or not isinstance(retries, int):
        raise TypeError(f"retries must be an integer, not {type(retries).__name__}")
    if retries < 0:
        raise ValueError(f"retries must not be negative: {retries}")
    return retries


@dataclass(frozen=True)
class HttpOptions:
    """Arguments that httpx's two clients, and its two transports, take alike."""

    client: dict[str, Any]
    transport: dict[str, Any] | None  # None: httpx's own, which knows the environment's proxies


def http_options(
    base_url: str,
    headers: Mapping[str, str] | None,
    connect_timeout_seconds: float | None,
    token: str | None,
    verify: bool | str | ssl.SSLContext,
) -> HttpOptions:
    every = {"User-Agent": f"kcoral/{__version__}", "Accept-Encoding": "identity"}
    every.update(headers or {})
    if token is not None:
        every["Authorization"] = f"Bearer {token}"
    timeout = httpx.Timeout(
        connect=connect_timeout_seconds, read=None, write=STALLED_SECONDS, pool=None
    )
    client: dict[str, Any] = {"headers": every, "timeout": timeout, "follow_redirects": False}
    connections = {
        "limits": httpx.Limits(max_connections=None, max_keepalive_connections=128),
        "verify": ssl.create_default_context(cafile=verify) if isinstance(verify, str) else verify,
    }
    if getproxies():
        return HttpOptions({**client, **connections}, None)
    if base_url.startswith("http:"):
        # No TLS will ever be spoken: spare the 20-90 ms that loading certificates takes.
        connections["verify"] = False
    # For the client, too: it would load them for the transport that it does not make.
    client["verify"] = False
    return HttpOptions(client, {**connections, "socket_options": _socket_options()})


def _socket_options() -> list[tuple[int, int, int]]:
    """Notice a peer that vanished while its response is waited for: ask after a quiet minute."""
    options = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    # The first is macOS's name for the second.
    for name, value in (
        ("TCP_KEEPALIVE", 60),
        ("TCP_KEEPIDLE", 60),
        ("TCP_KEEPINTVL", 15),
        ("TCP_KEEPCNT", 4),
    ):
        if hasattr(socket, name):
            options.append((socket.IPPROTO_TCP, getattr(socket, name), value))
    return options


def head_of(response: httpx.Response) -> ResponseHead:
    headers = response.headers
    length = headers.get("Content-Length", "")
    return ResponseHead(
        status=response.status_code,
        content_type=headers.get("Content-Type", ""),
        content_encoding=headers.get("Content-Encoding", ""),
        content_length=int(length) if length.isascii() and length.isdigit() else None,
        request_id=headers.get("X-Request-ID"),
        node=headers.get("X-KCoral-Node"),
    )


def expect_body(response: httpx.Response) -> None:
    """The head is there: from now on silence means that something broke."""
    response.request.extensions["timeout"]["read"] = STALLED_SECONDS


def fail_or_retry(
    exchange: Exchange, error: httpx.HTTPError, base_url: str, request_id: str
) -> None:
    """Raises what the failure of an attempt means, unless the exchange may try again."""
    meaning = error_of(error, base_url, request_id)
    if not isinstance(meaning, TransportError) or not _sent_nothing(error):
        raise meaning from error
    try:
        exchange.unreachable(meaning)
    except TransportError:
        raise meaning from error


def _sent_nothing(error: httpx.HTTPError) -> bool:
    """Whether the error came before a connection, and may be gone the next time."""
    if not isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout)):
        return False
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return False
        cause = cause.__cause__ or cause.__context__
    return True


def error_of(error: httpx.HTTPError, base_url: str, request_id: str | None) -> KCoralError:
    """What a failure of httpx means to the caller."""
    detail = str(error).rstrip(".") or type(error).__name__
    if isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout)):
        return TransportError(
            f"cannot connect to {base_url}: {detail}. Nothing was sent. "
            "Is a server running there (`kcoral server`), and is the address right?",
            request_id,
        )
    if isinstance(error, (httpx.LocalProtocolError, httpx.ProxyError)):
        return TransportError(f"the request to {base_url} cannot be sent: {detail}", request_id)
    if isinstance(error, (httpx.RemoteProtocolError, httpx.DecodingError)) and not _is_early_end(
        error
    ):
        return ProtocolError(
            f"{base_url} does not speak proper HTTP: {detail}", request_id=request_id
        )
    if isinstance(error, httpx.TimeoutException):
        detail = f"nothing moved for {STALLED_SECONDS:.0f} s"
    return TransportError(
        f"the connection to {base_url} broke before the response was complete: {detail}. "
        "The program may have run; the server's log knows the request",
        request_id,
    )


def _is_early_end(error: httpx.HTTPError) -> bool:
    """httpx has one exception for a peer that talks nonsense and for one that hangs up."""
    return "disconnected" in str(error) or "peer closed connection" in str(error)
