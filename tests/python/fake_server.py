"""A server that answers from a script, byte by byte if it must, and remembers what it was asked."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any

REQUEST_ID = "0f8fad5b-d9cb-469f-a165-70867728950e"
BOUNDARY = "fake-boundary"


@dataclass
class Received:
    """One request."""

    method: str
    target: str
    headers: dict[str, str]  # names in lowercase
    body: bytes

    @property
    def parts(self) -> dict[str, bytes]:
        """The body's parts by name, in their order; strict about everything the contract asks."""
        match = re.fullmatch(r"multipart/form-data; boundary=(\S+)", self.headers["content-type"])
        assert match is not None
        boundary = match.group(1).encode()
        first, *pieces, last = (b"\r\n" + self.body).split(b"\r\n--" + boundary)
        assert (first, last) == (b"", b"--\r\n")
        parts: dict[str, bytes] = {}
        for piece in pieces:
            head, _, payload = piece.partition(b"\r\n\r\n")
            lines = head.decode().split("\r\n")
            assert lines[0] == ""
            name = re.fullmatch(r'Content-Disposition: form-data; name="([^"]+)"', lines[1])
            assert name is not None
            is_program = name.group(1) == "program"
            kind = "application/json" if is_program else "application/octet-stream"
            assert lines[2:] == [f"Content-Type: {kind}"]
            if not is_program:
                assert name.group(1) == "blob:" + hashlib.sha256(payload).hexdigest()
            assert name.group(1) not in parts
            parts[name.group(1)] = payload
        assert next(iter(parts)) == "program"
        return parts

    @property
    def program(self) -> Any:
        return json.loads(self.parts["program"])

    @property
    def blobs(self) -> list[str]:
        """The digests that came with the program."""
        return [name.removeprefix("blob:") for name in self.parts if name != "program"]


# Answers a request; gives whether the connection stays open.
Answer = Callable[[Received, socket.socket], bool]


class FakeServer:
    """Listens on a free port of the loopback; each request takes the next answer of the script."""

    def __init__(
        self, *script: Answer, wrap: Callable[[socket.socket], socket.socket] | None = None
    ) -> None:
        """`wrap` puts something, like TLS, around each connection."""
        self.script = list(script)
        self._wrap = wrap
        self.received: list[Received] = []
        self.connections = 0
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._open: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> FakeServer:
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            for connection in self._open:
                shut(connection)
        for thread in self._threads:
            thread.join(10)
            assert not thread.is_alive()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                self.connections += 1
                self._open.append(connection)
                thread = threading.Thread(target=self._serve, args=(connection,))
                self._threads.append(thread)
                thread.start()

    def _serve(self, raw: socket.socket) -> None:
        try:
            connection = self._wrap(raw) if self._wrap else raw
        except OSError:  # the client broke off the handshake
            with self._lock:
                self._open.remove(raw)
            raw.close()
            return
        stream = connection.makefile("rb")
        try:
            while request := read_request(stream):
                with self._lock:
                    self.received.append(request)
                    if not self.script:
                        return
                    answer = self.script.pop(0)
                if not answer(request, connection):
                    return
        except OSError:
            pass  # the client went away
        finally:
            stream.close()
            with self._lock:
                self._open.remove(raw)
            shut(connection)
            connection.close()


def shut(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):  # it may be already
        connection.shutdown(socket.SHUT_RDWR)


def read_request(stream: Any) -> Received | None:
    line = stream.readline()
    if not line:
        return None
    method, target, _ = line.decode().split(" ")
    headers: dict[str, str] = {}
    while (header := stream.readline().rstrip(b"\r\n")) != b"":
        name, _, value = header.decode().partition(":")
        headers[name.lower()] = value.strip()
    size = int(headers.get("content-length", "0"))
    body = stream.read(size)
    if len(body) < size:
        return None
    return Received(method, target, headers, body)


# --- answers


def reply(
    body: bytes,
    *,
    status: int = 200,
    content_type: str = "application/json",
    headers: dict[str, str] | None = None,
) -> Answer:
    """A well-formed HTTP response."""

    def answer(_request: Received, connection: socket.socket) -> bool:
        connection.sendall(head(len(body), status, content_type, headers) + body)
        return True

    return answer


def head(
    length: int | None,
    status: int = 200,
    content_type: str = "application/json",
    headers: dict[str, str] | None = None,
) -> bytes:
    lines = {"X-Request-ID": REQUEST_ID, "Content-Type": content_type}
    if length is not None:
        lines["Content-Length"] = str(length)
    lines.update(headers or {})
    text = f"HTTP/1.1 {status} Whatever\r\n"
    text += "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value)
    return text.encode() + b"\r\n"


def raw(data: bytes) -> Answer:
    """Exactly these bytes, and then the end of the connection."""

    def answer(_request: Received, connection: socket.socket) -> bool:
        connection.sendall(data)
        return False

    return answer


def reset(data: bytes) -> Answer:
    """Exactly these bytes, and then a connection reset."""

    def answer(_request: Received, connection: socket.socket) -> bool:
        connection.sendall(data)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
        return False

    return answer


def stall(data: bytes, until: threading.Event) -> Answer:
    """Exactly these bytes, and then nothing until the event is set."""

    def answer(_request: Received, connection: socket.socket) -> bool:
        connection.sendall(data)
        until.wait(60)
        return False

    return answer


# --- documents


def json_reply(document: Any, status: int = 200, headers: dict[str, str] | None = None) -> Answer:
    return reply(json.dumps(document).encode(), status=status, headers=headers)


def execution(results: Any, **members: Any) -> dict[str, Any]:
    error = members.pop("error", None)
    document: dict[str, Any] = {
        "status": "COMPLETED" if error is None else "FAILED",
        "request_id": REQUEST_ID,
        "queue_ms": 1.5,
        "elapsed_ms": 20,
        "lease_wait_ms": 0,
        "lease_held_ms": 0,
        "stdout": "",
        "stderr": "",
        "stdout_truncated": False,
        "stderr_truncated": False,
        **members,
        "results": results,
    }
    return document if error is None else {**document, "error": error}


def value(plain: Any) -> Any:
    """The typed form of a JSON value."""
    if plain is None:
        return {"type": "null"}
    if isinstance(plain, list):
        return {"type": "array", "value": [value(element) for element in plain]}
    if isinstance(plain, dict):
        members = {name: value(member) for name, member in plain.items()}
        return {"type": "object", "value": members}
    names = {bool: "boolean", int: "integer", float: "number", str: "string"}
    return {"type": names[type(plain)], "value": plain}


def completed(**results: Any) -> Answer:
    """COMPLETED with JSON values."""
    return json_reply(execution({key: value(plain) for key, plain in results.items()}))


def multipart(document: Any, payloads: list[bytes]) -> bytes:
    parts = [("result", "application/json", json.dumps(document).encode())]
    parts += [(f"return:{i}", "application/octet-stream", p) for i, p in enumerate(payloads)]
    body = b""
    for name, content_type, payload in parts:
        disposition = f'Content-Disposition: form-data; name="{name}"'
        text = f"--{BOUNDARY}\r\n{disposition}\r\nContent-Type: {content_type}\r\n\r\n"
        body += text.encode() + payload + b"\r\n"
    return body + f"--{BOUNDARY}--\r\n".encode()


MULTIPART = f"multipart/form-data; boundary={BOUNDARY}"


def returns_bytes(payload: bytes, key: str = "output") -> bytes:
    """The multipart body of an execution that returned these bytes."""
    node = {"type": "bytes", "part": "return:0", "sha256": hashlib.sha256(payload).hexdigest()}
    return multipart(execution({key: node}), [payload])


def cache_miss(*digests: str, node: str | None = None) -> Answer:
    document = {"status": "CACHE_MISS", "missing_blobs": list(digests), "request_id": REQUEST_ID}
    return json_reply(document, headers={"X-KCoral-Node": node} if node else None)


def error(status: int, kind: str, message: str = "so it is") -> Answer:
    document = {
        "status": "ERROR",
        "request_id": REQUEST_ID,
        "error": {"kind": kind, "message": message},
    }
    return json_reply(document, status, {"Retry-After": "1"} if status == 503 else None)
