"""The protocol, spoken by hand: request bodies of every kind, answers taken apart and checked."""

from __future__ import annotations

import hashlib
import http.client
import json
import re
import socket
import textwrap
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from server_process import PATIENCE, Server

BOUNDARY = "kcoral-tests-boundary"
JSON_TYPE = "application/json"
BYTES_TYPE = "application/octet-stream"

EXECUTION_MEMBERS = [
    *("status", "request_id", "queue_ms", "elapsed_ms", "lease_wait_ms", "lease_held_ms"),
    *("stdout", "stderr", "stdout_truncated", "stderr_truncated", "results"),
]
ERROR_MEMBERS = [
    *("kind", "message", "instruction_index", "instruction_op", "instruction_id", "traceback"),
]


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# ---- Programs

Instruction = dict[str, Any]


def ref(name: str) -> dict[str, str]:
    return {"$ref": name}


def module(source: str, id: str = "m") -> Instruction:
    return {"op": "upload", "kind": "module", "id": id, "source": textwrap.dedent(source)}


def function(name: str = "main", module: str = "m", id: str = "f") -> Instruction:
    return {"op": "get_function", "id": id, "module": ref(module), "name": name}


def run(*args: Any, fn: str = "f", id: str = "r") -> Instruction:
    return {"op": "run", "id": id, "fn": ref(fn), "args": list(args)}


def returned(key: str = "out", value: str = "r") -> Instruction:
    return {"op": "return", "key": key, "value": ref(value)}


def returned_path(kind: str, path: Any, key: str = "out") -> Instruction:
    return {"op": "return", "key": key, "kind": kind, "path": path}


def upload(kind: str, data: bytes, id: str = "u", **fields: Any) -> Instruction:
    return {"op": "upload", "kind": kind, "id": id, "blob": sha256(data), **fields}


def call(source: str, *args: Any, name: str = "main", key: str = "out") -> list[Instruction]:
    """The whole way of a function: upload its module, get it, run it, return what it gave."""
    return [module(source), function(name), run(*args), returned(key)]


# ---- Request bodies


@dataclass
class Part:
    data: bytes
    name: str = "program"
    type: str = JSON_TYPE
    # Replaces the two headers above.
    headers: Sequence[str] | None = None

    def lines(self) -> Sequence[str]:
        if self.headers is not None:
            return self.headers
        return [
            f'Content-Disposition: form-data; name="{self.name}"',
            f"Content-Type: {self.type}",
        ]


def program_part(program: Any) -> Part:
    return Part(program if isinstance(program, bytes) else json.dumps(program).encode())


def blob_part(data: bytes, digest: str | None = None) -> Part:
    return Part(data, f"blob:{digest or sha256(data)}", BYTES_TYPE)


def multipart(
    parts: Iterable[Part],
    *,
    boundary: str = BOUNDARY,
    newline: bytes = b"\r\n",
    preamble: bytes = b"",
    closing: bytes | None = None,
) -> bytes:
    delimiter = b"--" + boundary.encode()
    body = preamble
    for part in parts:
        body += delimiter + newline
        body += b"".join(line.encode() + newline for line in part.lines())
        body += newline + part.data + newline
    return body + (delimiter + b"--" + newline if closing is None else closing)


# ---- Answers


@dataclass
class Reply:
    status: int
    headers: list[tuple[str, str]]
    body: bytes
    method: str = "POST"
    parts: dict[str, bytes] = field(default_factory=dict)

    def header(self, name: str) -> str | None:
        values = [value for known, value in self.headers if known.lower() == name.lower()]
        assert len(values) <= 1, f"{name} is there {len(values)} times"
        return values[0] if values else None

    @property
    def document(self) -> Any:
        content_type = self.header("Content-Type")
        if content_type == JSON_TYPE:
            return json.loads(self.body)
        assert content_type is not None
        self.parts = self._take_apart(content_type)
        return json.loads(self.parts.pop("result"))

    def _take_apart(self, content_type: str) -> dict[str, bytes]:
        match = re.fullmatch(r'multipart/form-data; boundary="?([^";]+)"?', content_type)
        assert match, content_type
        delimiter = b"\r\n--" + match[1].encode()
        pieces = (b"\r\n" + self.body).split(delimiter)
        assert pieces[0] == b"", "there is a preamble"
        assert pieces[-1] in (b"--", b"--\r\n"), pieces[-1]
        parts: dict[str, bytes] = {}
        for piece in pieces[1:-1]:
            head, separator, data = piece.partition(b"\r\n\r\n")
            assert separator and head.startswith(b"\r\n")
            headers = dict(line.split(": ", 1) for line in head[2:].decode().split("\r\n"))
            disposition = re.fullmatch(
                'form-data; name="([^"]+)"', headers.pop("Content-Disposition")
            )
            assert disposition
            expected = BYTES_TYPE if parts else JSON_TYPE
            assert headers == {"Content-Type": expected}
            assert disposition[1] not in parts
            parts[disposition[1]] = data
        assert next(iter(parts)) == "result", "the result is not the first part"
        return parts

    # ---- What an answer says, once everything that is true of every such answer is checked

    def error(self, status: int, kind: str) -> str:
        """The message of an ERROR answer."""
        assert self.status == status, (self.status, self.body)
        document = self.document
        assert list(document) == ["status", "request_id", "error"]
        assert document["status"] == "ERROR"
        assert list(document["error"]) == ["kind", "message"]
        assert document["error"]["kind"] == kind, document
        self.check_request_id(document)
        assert self.header("Retry-After") == ("1" if status == 503 else None)
        message = document["error"]["message"]
        assert isinstance(message, str) and message
        return message

    def missing(self) -> list[str]:
        """The digests of a CACHE_MISS answer."""
        assert self.status == 200, (self.status, self.body)
        document = self.document
        assert list(document) == ["status", "missing_blobs", "request_id"]
        assert document["status"] == "CACHE_MISS", document
        self.check_request_id(document)
        missing: list[str] = document["missing_blobs"]
        return missing

    def execution(self) -> Any:
        """The document of a program that ran, wholly or not."""
        assert self.status == 200, (self.status, self.body)
        document = self.document
        members = list(EXECUTION_MEMBERS)
        assert document["status"] in ("COMPLETED", "FAILED"), document
        if document["status"] == "FAILED":
            members.append("error")
            assert list(document["error"]) == ERROR_MEMBERS
        assert list(document) == members
        self.check_request_id(document)
        for name in ("queue_ms", "elapsed_ms"):
            assert isinstance(document[name], (int, float)) and document[name] >= 0
        assert document["lease_wait_ms"] == document["lease_held_ms"] == 0
        self._check_parts(document["results"])
        return document

    def completed(self) -> Any:
        document = self.execution()
        assert document["status"] == "COMPLETED", document["error"]
        return document

    def failed(self, kind: str) -> Any:
        """The error of a program that failed."""
        document = self.execution()
        assert document["status"] == "FAILED", document
        assert document["error"]["kind"] == kind, document["error"]
        return document["error"]

    def results(self) -> dict[str, Any]:
        """The results of a COMPLETED program as Python values."""
        return self.values(self.completed()["results"])

    def values(self, results: dict[str, Any]) -> dict[str, Any]:
        return {key: self.value(node) for key, node in results.items()}

    def value(self, node: Any) -> Any:
        kind = node["type"]
        if kind == "null":
            return None
        if kind == "array":
            return [self.value(item) for item in node["value"]]
        if kind == "object":
            return {key: self.value(item) for key, item in node["value"].items()}
        if kind in ("bytes", "file"):
            return self.parts[node["part"]]
        if kind == "folder":
            return {path: self.value(file) for path, file in node["files"].items()}
        if kind == "tensor":
            return (node["dtype"], node["shape"], self.parts[node["part"]])
        return node["value"]

    def check_request_id(self, document: Any) -> None:
        identity = document["request_id"]
        assert self.header("X-Request-ID") == identity
        assert str(uuid.UUID(identity)) == identity

    def _check_parts(self, results: dict[str, Any]) -> None:
        nodes = [node for value in results.values() for node in binary_nodes(value)]
        assert [node["part"] for node in nodes] == [f"return:{i}" for i in range(len(nodes))]
        assert list(self.parts) == [node["part"] for node in nodes]
        for node in nodes:
            data = self.parts[node["part"]]
            assert node["sha256"] == sha256(data)
            assert node.get("size", len(data)) == len(data)
        assert (self.header("Content-Type") == JSON_TYPE) == (not nodes)


def binary_nodes(node: Any) -> Iterator[Any]:
    """Depth first, in the order of their members."""
    kind = node["type"]
    if "part" in node:
        yield node
    elif kind == "array":
        for item in node["value"]:
            yield from binary_nodes(item)
    elif kind == "object":
        for item in node["value"].values():
            yield from binary_nodes(item)
    elif kind == "folder":
        for item in node["files"].values():
            yield from binary_nodes(item)


# ---- Exchanges


def request(
    server: Server,
    method: str,
    target: str,
    body: bytes | None = None,
    headers: Sequence[tuple[str, str]] = (),
) -> Reply:
    """One request on a connection of its own. Adds Host and, for a body, its length; no more."""
    connection = http.client.HTTPConnection(server.host, server.port, timeout=PATIENCE)
    try:
        return exchange(connection, method, target, body, headers)
    finally:
        connection.close()


def exchange(
    connection: http.client.HTTPConnection,
    method: str,
    target: str,
    body: bytes | None = None,
    headers: Sequence[tuple[str, str]] = (),
) -> Reply:
    connection.putrequest(method, target, skip_accept_encoding=True)
    for name, value in headers:
        connection.putheader(name, value)
    if body is not None:
        connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body)
    return read_reply(connection.getresponse(), method)


def read_reply(response: http.client.HTTPResponse, method: str) -> Reply:
    return Reply(response.status, response.getheaders(), response.read(), method)


def form_type(boundary: str = BOUNDARY) -> tuple[str, str]:
    return ("Content-Type", f"multipart/form-data; boundary={boundary}")


def post(server: Server, body: bytes, content_type: str | None = None, headers: Any = ()) -> Reply:
    if content_type is None:
        content_type = form_type()[1]
    return request(server, "POST", "/execute", body, [("Content-Type", content_type), *headers])


def execute_text(
    server: Server, program: Any, blobs: Iterable[bytes] = (), headers: Any = ()
) -> Reply:
    """Sends a program part as it is, bytes or anything JSON can hold."""
    parts = [program_part(program), *map(blob_part, blobs)]
    return post(server, multipart(parts), headers=headers)


def execute(
    server: Server,
    instructions: Sequence[Instruction],
    *,
    blobs: Iterable[bytes] = (),
    options: Any = None,
    headers: Any = (),
) -> Reply:
    program: dict[str, Any] = {"instructions": list(instructions)}
    if options is not None:
        program["options"] = options
    return execute_text(server, program, blobs, headers)


class PendingRequest:
    """A request whose answer is not waited for yet, on a connection of its own."""

    def __init__(self, server: Server, instructions: Sequence[Instruction], **options: Any) -> None:
        program: dict[str, Any] = {"instructions": list(instructions)}
        if options:
            program["options"] = options
        body = multipart([program_part(program)])
        self.connection = http.client.HTTPConnection(server.host, server.port, timeout=PATIENCE)
        self.connection.putrequest("POST", "/execute", skip_accept_encoding=True)
        self.connection.putheader(*form_type())
        self.connection.putheader("Content-Length", str(len(body)))
        self.connection.endheaders(body)

    def reply(self) -> Reply:
        try:
            return read_reply(self.connection.getresponse(), "POST")
        finally:
            self.connection.close()

    def disconnect(self) -> None:
        self.connection.close()


def raw_connection(server: Server) -> socket.socket:
    return socket.create_connection((server.host, server.port), timeout=PATIENCE)


def raw_exchange(server: Server, data: bytes) -> Reply:
    """Sends bytes as they are and reads one answer."""
    with raw_connection(server) as connection:
        connection.sendall(data)
        return read_raw_reply(connection)


def read_raw_reply(connection: socket.socket, method: str = "POST") -> Reply:
    response = http.client.HTTPResponse(connection, method=method)
    try:
        response.begin()
        return read_reply(response, method)
    finally:
        response.close()


# ---- Programs that wait until a test lets them go on


class Gate:
    """A program that says it has begun and goes on when `open` is called."""

    def __init__(self, server: Server, then: str = "return 'through'") -> None:
        self.server = server
        self.name = uuid.uuid4().hex
        self.source = f"""
            import os, time

            def main():
                open("begun-{self.name}", "w").close()
                while not os.path.exists("gate"):
                    time.sleep(0.01)
                {then}
        """

    def instructions(self) -> list[Instruction]:
        return call(self.source)

    def start(self, **options: Any) -> PendingRequest:
        """Sends the program and returns when it runs."""
        pending = self.send(**options)
        self.wait_begun()
        return pending

    def send(self, **options: Any) -> PendingRequest:
        return PendingRequest(self.server, self.instructions(), **options)

    def wait_begun(self) -> None:
        self._begun = self.server.wait_for_file(f"begun-{self.name}")

    def open(self) -> None:
        (self._begun.parent / "gate").touch()
