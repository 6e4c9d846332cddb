"""protocol.md, 1: routes, methods, /health, headers."""

from __future__ import annotations

import http.client
import re
import socket
import uuid

import pytest
from server_process import PATIENCE, Server, StartServer
from wire import (
    JSON_TYPE,
    Gate,
    Reply,
    blob_part,
    call,
    exchange,
    execute,
    form_type,
    module,
    multipart,
    program_part,
    raw_connection,
    raw_exchange,
    read_raw_reply,
    request,
    upload,
)

TRIVIAL = [module("pass")]

# ---- Routes and methods


@pytest.mark.parametrize(
    "path",
    ["/", "/nothing", "/health/", "/Health", "/execute/", "/execute/1", "/internal", "/%68ealth"],
)
def test_an_unknown_route_is_404_with_a_json_body(server: Server, path: str) -> None:
    for method in ("GET", "POST"):
        assert path in request(server, method, path).error(404, "parse")


@pytest.mark.parametrize(
    ("path", "method", "allowed"),
    [
        *(("/health", method, {"GET", "HEAD"}) for method in ("POST", "PUT", "DELETE", "OPTIONS")),
        *(("/execute", method, {"POST"}) for method in ("GET", "HEAD", "PUT", "PATCH", "DELETE")),
        ("/internal/worker-status", "POST", {"GET", "HEAD"}),
        ("/health", "get", {"GET", "HEAD"}),
        ("/execute", "BREW", {"POST"}),
    ],
)
def test_a_wrong_method_is_405_and_names_the_right_ones(
    server: Server, path: str, method: str, allowed: set[str]
) -> None:
    reply = request(server, method, path)
    assert reply.status == 405
    allow = reply.header("Allow")
    assert allow is not None and set(allow.split(", ")) == allowed
    if method == "HEAD":
        assert reply.body == b""
    else:
        reply.error(405, "parse")


def test_head_of_health_is_its_head_alone(server: Server) -> None:
    connection = http.client.HTTPConnection(server.host, server.port, timeout=PATIENCE)
    head = exchange(connection, "HEAD", "/health")
    full = exchange(connection, "GET", "/health")  # on the same connection: no body was sent
    connection.close()
    assert head.status == 200 and head.body == b""
    assert head.header("Content-Type") == JSON_TYPE
    assert head.header("Content-Length") == full.header("Content-Length")


@pytest.mark.parametrize("target", ["/health?a=1", "/health?verbose", "/execute?a=1"])
def test_query_fields_are_refused(server: Server, target: str) -> None:
    method = "GET" if target.startswith("/health") else "POST"
    body = multipart([program_part({"instructions": TRIVIAL})]) if method == "POST" else None
    reply = request(server, method, target, body, [form_type()])
    assert "query" in reply.error(400, "parse")


def test_a_connection_serves_many_requests(server: Server) -> None:
    body = multipart([program_part({"instructions": TRIVIAL})])
    connection = http.client.HTTPConnection(server.host, server.port, timeout=PATIENCE)
    for _ in range(3):
        exchange(connection, "POST", "/execute", body, [form_type()]).completed()
        assert exchange(connection, "POST", "/execute", b"", [form_type()]).status == 400
        assert exchange(connection, "GET", "/health").status == 200
        assert exchange(connection, "GET", "/nothing").status == 404
    connection.close()


# ---- /health


def test_health_has_exactly_its_keys(server: Server) -> None:
    reply = request(server, "GET", "/health")
    assert reply.status == 200
    assert reply.header("Content-Type") == JSON_TYPE
    health = reply.document
    assert list(health) == [
        *("status", "instance_id", "started_at", "gpu_count", "load", "target", "versions")
    ]
    assert health["status"] == "ok"
    assert str(uuid.UUID(health["instance_id"])) == health["instance_id"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", health["started_at"])
    assert health["gpu_count"] == 0 and isinstance(health["gpu_count"], int)
    assert list(health["load"]) == [
        *("request_capacity", "requests_in_progress", "requests_waiting")
    ]
    assert health["target"] == {}
    assert set(health["versions"]) <= {"tvm_ffi"}
    assert all(isinstance(version, str) for version in health["versions"].values())


def test_each_start_is_an_instance_of_its_own(start_server: StartServer, server: Server) -> None:
    other = start_server()
    assert other.health()["instance_id"] != server.health()["instance_id"]
    assert server.health()["instance_id"] == server.health()["instance_id"]
    assert server.health()["started_at"] == server.health()["started_at"]


def test_health_tells_the_load(start_server: StartServer) -> None:
    started = start_server("--num-workers", "2")
    gates = [Gate(started), Gate(started)]
    pending = [gate.start() for gate in gates]
    pending.append(Gate(started).send())
    started.wait_for_load(in_progress=2, waiting=1)
    pending.pop().disconnect()
    for gate, answer in zip(gates, pending, strict=True):
        gate.open()
        assert answer.reply().results() == {"out": "through"}
    started.wait_for_load(in_progress=0)
    assert started.load()[0] <= 2


# ---- /internal/worker-status


def test_worker_status_tells_loopback_peers_who_works(server: Server) -> None:
    status = request(server, "GET", "/internal/worker-status").document
    health = server.health()
    assert list(status) == [
        *("status", "instance_id", "target", "versions", "worker_count", "busy_workers")
    ]
    assert status["status"] == "ok"
    for name in ("instance_id", "target", "versions"):
        assert status[name] == health[name]
    assert isinstance(status["worker_count"], int) and isinstance(status["busy_workers"], int)


def outside_address() -> str:
    """An address of this machine that is no loopback one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            pytest.skip("this machine has no address but loopback ones")
        address: str = probe.getsockname()[0]
    return address


def test_worker_status_is_not_there_for_others(start_server: StartServer) -> None:
    address = outside_address()
    started = start_server("--host", "0.0.0.0")
    started.host = address
    assert request(started, "GET", "/health").status == 200
    request(started, "GET", "/internal/worker-status").error(404, "parse")
    started.host = "127.0.0.1"
    assert request(started, "GET", "/internal/worker-status").status == 200


# ---- X-Request-ID

MINE = "0b8ff8c2-2ba6-4f6a-9f0a-6f2d9c1c6b1e"


def attempts(server: Server, headers: list[tuple[str, str]]) -> list[Reply]:
    """One /execute answer of each sort."""
    program = multipart([program_part({"instructions": TRIVIAL})])
    missing = multipart([program_part({"instructions": [upload("bytes", b"never sent")]})])
    failing = multipart([program_part({"instructions": call("def main(): 1 / 0")})])
    form = [form_type(), *headers]
    return [
        request(server, "POST", "/execute", program, form),
        request(server, "POST", "/execute", failing, form),
        request(server, "POST", "/execute", missing, form),
        request(server, "POST", "/execute", b"no multipart", form),
        request(server, "POST", "/execute", program, headers),
        request(server, "POST", "/execute?query=1", program, form),
        request(server, "GET", "/execute", headers=headers),
        request(server, "POST", "/execute", headers=[("Content-Length", str(1 << 40)), *form]),
        request(server, "POST", "/execute", headers=[("Expect", "the unexpected"), *form]),
    ]


def test_a_canonical_request_id_comes_back_on_every_answer(server: Server) -> None:
    replies = attempts(server, [("X-Request-ID", MINE)])
    assert [reply.status for reply in replies] == [200, 200, 200, 400, 400, 400, 405, 413, 417]
    for reply in replies:
        assert reply.document["request_id"] == MINE
        reply.check_request_id(reply.document)


def test_without_one_each_attempt_has_its_own(server: Server) -> None:
    replies = attempts(server, [])
    for reply in replies:
        reply.check_request_id(reply.document)
    assert len({reply.document["request_id"] for reply in replies}) == len(replies)


@pytest.mark.parametrize(
    "values",
    [
        [""],
        ["1"],
        [MINE.upper()],
        ["{" + MINE + "}"],
        [MINE.replace("-", "")],
        ["urn:uuid:" + MINE],
        [MINE + "0"],
        [MINE[:-1] + "g"],
        [f"{MINE}, {MINE}"],
        [MINE, MINE],
        [MINE, "0b8ff8c2-2ba6-4f6a-9f0a-6f2d9c1c6b1f"],
    ],
    ids=lambda values: "+".join(values) or "empty",
)
def test_any_other_request_id_is_replaced(server: Server, values: list[str]) -> None:
    headers = [("X-Request-ID", value) for value in values]
    reply = execute(server, TRIVIAL, headers=headers)
    reply.check_request_id(reply.document)
    assert reply.document["request_id"] not in values
    assert reply.document["request_id"] != MINE


# ---- The body's way in


def test_a_client_that_expects_100_continue_gets_it_before_it_sends(server: Server) -> None:
    body = multipart([program_part({"instructions": TRIVIAL})])
    head = (
        f"POST /execute HTTP/1.1\r\nHost: kcoral\r\nContent-Type: {form_type()[1]}\r\n"
        f"Content-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n"
    )
    with raw_connection(server) as connection:
        connection.sendall(head.encode())
        interim = b""
        while not interim.endswith(b"\r\n\r\n"):
            received = connection.recv(1)
            assert received
            interim += received
        assert interim.startswith(b"HTTP/1.1 100 ")
        connection.sendall(body)
        read_raw_reply(connection).completed()


def test_a_body_that_is_too_large_is_not_invited(server: Server) -> None:
    head = (
        f"POST /execute HTTP/1.1\r\nHost: kcoral\r\nContent-Type: {form_type()[1]}\r\n"
        f"Content-Length: {1 << 40}\r\nExpect: 100-continue\r\n\r\n"
    )
    raw_exchange(server, head.encode()).error(413, "request_too_large")


def chunked(body: bytes, size: int) -> bytes:
    chunks = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"


@pytest.mark.parametrize("size", [1, 7, 64, 100_000])
def test_a_chunked_body_is_as_good(server: Server, size: int) -> None:
    data = bytes(range(256)) * 3
    instructions = [upload("bytes", data), {"op": "return", "key": "out", "value": {"$ref": "u"}}]
    body = multipart([program_part({"instructions": instructions}), blob_part(data)])
    head = (
        f"POST /execute HTTP/1.1\r\nHost: kcoral\r\nContent-Type: {form_type()[1]}\r\n"
        "Transfer-Encoding: chunked\r\n\r\n"
    )
    reply = raw_exchange(server, head.encode() + chunked(body, size))
    assert reply.results() == {"out": data}


@pytest.mark.parametrize(
    "text",
    [
        b"hello\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # a TLS handshake
        b"GET /health\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost kcoral\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: kcoral\r\n folded: x\r\n\r\n",
        b"POST /execute HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        b"POST /execute HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST /execute HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n",
        b"POST /execute HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"
        b"Content-Type: multipart/form-data; boundary=b\r\n\r\nzz\r\n\r\n",
    ],
)
def test_what_is_no_http_is_400(server: Server, text: bytes) -> None:
    raw_exchange(server, text).error(400, "parse")


def test_a_header_that_is_too_large_is_431(server: Server) -> None:
    text = b"GET /health HTTP/1.1\r\nHost: a\r\nX-Large: " + b"x" * 200_000 + b"\r\n\r\n"
    raw_exchange(server, text).error(431, "parse")


def test_a_client_that_stops_in_its_head_or_body_is_told_408(start_server: StartServer) -> None:
    started = start_server("--header-timeout-seconds", "0.3", "--progress-timeout-seconds", "0.3")
    raw_exchange(started, b"GET /health HTT").error(408, "timeout")
    head = f"POST /execute HTTP/1.1\r\nHost: a\r\nContent-Type: {form_type()[1]}\r\n"
    raw_exchange(started, head.encode() + b"Content-Length: 9\r\n\r\n--").error(408, "timeout")


def test_a_body_that_ends_early_is_dropped(server: Server) -> None:
    with raw_connection(server) as connection:
        head = f"POST /execute HTTP/1.1\r\nHost: a\r\nContent-Type: {form_type()[1]}\r\n"
        connection.sendall(head.encode() + b"Content-Length: 1000\r\n\r\n--")
        connection.shutdown(socket.SHUT_WR)
        read_raw_reply(connection).error(400, "parse")
