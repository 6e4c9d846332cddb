"""Both clients against a scripted server: what they send, and what they make of each answer."""

from __future__ import annotations

import asyncio
import hashlib
import socket
import threading

import fake_server as fake
import numpy as np
import pytest
from faces import Connect
from fake_server import FakeServer

from kcoral import (
    AsyncClient,
    KCoralError,
    Program,
    ProtocolError,
    RemoteExecutionError,
    TransportError,
    _http,
)
from kcoral._protocol import exchange
from vectors import RESPONSES, ResponseVector

FIRST, SECOND = b"first blob", b"second blob"
DIGESTS = [hashlib.sha256(blob).hexdigest() for blob in (FIRST, SECOND)]


def two_blobs() -> Program:
    """Uploads FIRST, SECOND and FIRST again; returns "output"."""
    program = Program()
    for blob in (FIRST, SECOND, FIRST):
        register = program.upload(kind="bytes", value=blob)
    program.return_(key="output", value=register)
    return program


@pytest.fixture
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "FIRST_PAUSE_SECONDS", 0.0)


# --- negotiation


def test_first_attempt_carries_no_blobs(connect: Connect) -> None:
    with FakeServer(fake.completed(output=1)) as server:
        result = connect(server.url).execute(two_blobs())
    assert result.results == {"output": 1}
    (request,) = server.received
    assert (request.method, request.target) == ("POST", "/execute")
    assert request.blobs == []


def test_second_attempt_carries_what_was_missing_and_third_carries_all(connect: Connect) -> None:
    script = [
        fake.cache_miss(DIGESTS[1], node="node-7"),
        fake.cache_miss(DIGESTS[0]),
        fake.completed(output=1),
    ]
    with FakeServer(*script) as server:
        connect(server.url).execute(two_blobs())
    first, second, third = server.received
    assert second.blobs == [DIGESTS[1]]
    assert third.blobs == DIGESTS
    assert first.parts["program"] == second.parts["program"] == third.parts["program"]
    assert [request.headers.get("x-kcoral-node") for request in server.received] == [
        None,
        "node-7",
        None,
    ]
    ids = {request.headers["x-request-id"] for request in server.received}
    assert len(ids) == 3
    assert server.connections == 1


def test_third_miss_is_a_protocol_error(connect: Connect) -> None:
    with FakeServer(*[fake.cache_miss(*DIGESTS)] * 3) as server:
        with pytest.raises(ProtocolError, match="just sent"):
            connect(server.url).execute(two_blobs())
        assert len(server.received) == 3


def test_options_are_sent_only_when_given(connect: Connect) -> None:
    with FakeServer(fake.completed(output=1), fake.completed(output=1)) as server:
        face = connect(server.url)
        face.execute(two_blobs())
        face.execute(two_blobs(), timeout_seconds=1, output_limit_bytes=0)
    assert "options" not in server.received[0].program
    assert server.received[1].program["options"] == {"timeout_seconds": 1, "output_limit_bytes": 0}


def test_headers_token_and_prefix_are_used(connect: Connect) -> None:
    with FakeServer(fake.completed(output=1)) as server:
        face = connect(server.url + "/gpu/box/", headers={"X-Team": "blue"}, token="secret")
        face.execute(two_blobs())
    (request,) = server.received
    assert request.target == "/gpu/box/execute"
    assert request.headers["x-team"] == "blue"
    assert request.headers["authorization"] == "Bearer secret"
    assert request.headers["accept-encoding"] == "identity"


# --- results


def test_tensors_arrive_as_owned_writable_arrays(connect: Connect) -> None:
    payload = np.arange(6, dtype="<f4").reshape(2, 3).tobytes()
    digest = hashlib.sha256(payload).hexdigest()
    node = {
        "type": "tensor",
        "dtype": "float32",
        "shape": [2, 3],
        "part": "return:0",
        "sha256": digest,
    }
    body = fake.multipart(fake.execution({"output": node}), [payload])
    with FakeServer(fake.reply(body, content_type=fake.MULTIPART)) as server:
        array = connect(server.url).execute(two_blobs())["output"]
    array += 1
    assert array.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert array.flags.owndata


def test_failed_program_keeps_its_output_and_says_why(connect: Connect) -> None:
    error = {
        "kind": "runtime",
        "message": "ValueError: no",
        "instruction_index": 3,
        "instruction_op": "return",
        "instruction_id": None,
        "traceback": "Traceback ...",
    }
    with FakeServer(fake.json_reply(fake.execution({}, stdout="so far", error=error))) as server:
        result = connect(server.url).execute(two_blobs())
    assert (result.completed, result.status, result.stdout) == (False, "FAILED", "so far")
    with pytest.raises(RemoteExecutionError, match="ValueError: no") as caught:
        result.raise_for_status()
    assert caught.value.result is result
    assert caught.value.kind == "runtime"
    with pytest.raises(KeyError, match="failed before it"):
        result["output"]


def test_big_payloads_travel_both_ways(connect: Connect) -> None:
    blob = np.random.default_rng(7).bytes(5_000_000)
    program = Program()
    program.return_(key="output", value=program.upload(kind="bytes", value=blob))
    digest = hashlib.sha256(blob).hexdigest()
    body = fake.returns_bytes(blob)
    with FakeServer(
        fake.cache_miss(digest), fake.reply(body, content_type=fake.MULTIPART)
    ) as server:
        result = connect(server.url).execute(program)
    assert server.received[1].parts[f"blob:{digest}"] == blob
    assert result["output"] == blob


# --- errors of the server


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "parse"),
        (413, "request_too_large"),
        (500, "engine"),
        (500, "response_too_large"),
        (502, "server_transport"),
        (503, "busy"),
        (504, "timeout"),
    ],
)
def test_server_error_is_raised_with_all_it_says(connect: Connect, status: int, kind: str) -> None:
    with FakeServer(fake.error(status, kind, "the reason")) as server:
        with pytest.raises(KCoralError) as caught:
            connect(server.url).execute(two_blobs())
        assert len(server.received) == 1
    error = caught.value
    assert type(error) is KCoralError
    assert (error.status_code, error.kind, error.message) == (status, kind, "the reason")
    assert error.request_id == fake.REQUEST_ID
    assert "the reason" in str(error)


# --- what the contract forbids


@pytest.mark.parametrize("name", RESPONSES)
def test_golden_response_over_a_socket(connect: Connect, name: str) -> None:
    vector = ResponseVector(name)
    outcome = vector.expect["outcome"]
    if outcome == "cache_miss":
        pytest.skip("the negotiation has its own tests")
    answer = fake.reply(
        vector.body,
        status=vector.status,
        content_type=vector.headers["Content-Type"],
        headers={"X-Request-ID": vector.headers["X-Request-ID"]},
    )
    with FakeServer(answer) as server:
        face = connect(server.url)
        if outcome == "result":
            vector.check_result(face.execute(vector.program(), gpu_count=vector.gpu_count))
            return
        with pytest.raises(KCoralError) as caught:
            face.execute(vector.program(), gpu_count=vector.gpu_count)
        assert len(server.received) == 1
    assert isinstance(caught.value, ProtocolError) == (outcome == "protocol_error")


WHOLE = fake.returns_bytes(b"0123456789" * 1000)
HEAD = fake.head(len(WHOLE), content_type=fake.MULTIPART)
ENDLESS_HEAD = fake.head(None, content_type=fake.MULTIPART, headers={"Connection": "close"})
CHUNKED_HEAD = fake.head(
    None, content_type=fake.MULTIPART, headers={"Transfer-Encoding": "chunked"}
)


@pytest.mark.parametrize(
    "cut", [0, 10, len(HEAD) - 1, len(HEAD), len(HEAD) + 600, len(HEAD) + len(WHOLE) - 1]
)
@pytest.mark.parametrize("end", [fake.raw, fake.reset], ids=["closed", "reset"])
def test_early_end_is_a_transport_error(connect: Connect, cut: int, end: object) -> None:
    assert callable(end)
    with FakeServer(end((HEAD + WHOLE)[:cut])) as server:
        with pytest.raises(TransportError) as caught:
            connect(server.url).execute(two_blobs())
        assert caught.value.request_id == server.received[0].headers["x-request-id"]
        assert caught.value.status_code is None


@pytest.mark.parametrize("cut", [0, 1, 300, 700, len(WHOLE) - 5])
def test_early_end_without_a_length_is_a_protocol_error(connect: Connect, cut: int) -> None:
    with (
        FakeServer(fake.raw(ENDLESS_HEAD + WHOLE[:cut])) as server,
        pytest.raises(ProtocolError, match="before its closing boundary"),
    ):
        connect(server.url).execute(two_blobs())


def test_response_without_a_length_is_accepted_when_whole(connect: Connect) -> None:
    with FakeServer(fake.raw(ENDLESS_HEAD + WHOLE)) as server:
        assert len(connect(server.url).execute(two_blobs())["output"]) == 10_000


def test_chunked_response_is_accepted_when_whole_and_refused_when_cut(connect: Connect) -> None:
    chunks = b"".join(
        b"%x\r\n%s\r\n" % (len(WHOLE[begin : begin + 999]), WHOLE[begin : begin + 999])
        for begin in range(0, len(WHOLE), 999)
    )
    with FakeServer(fake.raw(CHUNKED_HEAD + chunks + b"0\r\n\r\n")) as server:
        assert len(connect(server.url).execute(two_blobs())["output"]) == 10_000
    with FakeServer(fake.raw(CHUNKED_HEAD + chunks)) as server, pytest.raises(TransportError):
        connect(server.url).execute(two_blobs())


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
        b"HTTP/1.1 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
        CHUNKED_HEAD + b"xyz\r\n",
    ],
    ids=["ssh", "no status", "bad length", "bad chunk"],
)
def test_nonsense_is_a_protocol_error(connect: Connect, data: bytes) -> None:
    with FakeServer(fake.raw(data)) as server, pytest.raises(ProtocolError):
        connect(server.url).execute(two_blobs())


def test_longer_body_than_its_length_breaks_nothing(connect: Connect) -> None:
    with FakeServer(fake.raw(HEAD + WHOLE + b"more")) as server:
        assert len(connect(server.url).execute(two_blobs())["output"]) == 10_000


@pytest.mark.parametrize(
    "headers",
    [{"Content-Encoding": "gzip"}, {"X-Request-ID": "another"}],
    ids=["encoded", "other id"],
)
def test_unfit_headers_are_a_protocol_error(connect: Connect, headers: dict[str, str]) -> None:
    answer = fake.reply(WHOLE, content_type=fake.MULTIPART, headers=headers)
    with FakeServer(answer) as server, pytest.raises(ProtocolError):
        connect(server.url).execute(two_blobs())


def test_missing_request_id_header_is_tolerated(connect: Connect) -> None:
    answer = fake.reply(WHOLE, content_type=fake.MULTIPART, headers={"X-Request-ID": ""})
    with FakeServer(answer) as server:
        assert connect(server.url).execute(two_blobs()).request_id == fake.REQUEST_ID


def test_redirects_are_not_followed(connect: Connect) -> None:
    with FakeServer(fake.reply(b"", status=307, headers={"Location": "/elsewhere"})) as server:
        with pytest.raises(ProtocolError):
            connect(server.url).execute(two_blobs())
        assert len(server.received) == 1


def test_body_that_stalls_is_a_transport_error(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_http, "STALLED_SECONDS", 0.2)
    over = threading.Event()
    with FakeServer(fake.stall((HEAD + WHOLE)[:-100], over)) as server:
        try:
            with pytest.raises(TransportError, match="nothing moved"):
                connect(server.url).execute(two_blobs())
        finally:
            over.set()


def test_error_while_the_upload_is_under_way_is_heard(connect: Connect) -> None:
    blob = bytes(1 << 20)
    program = Program()
    program.return_(key="output", value=program.upload(kind="bytes", value=blob))
    digest = hashlib.sha256(blob).hexdigest()
    with FakeServer(fake.cache_miss(digest), fake.error(413, "request_too_large")) as server:
        with pytest.raises(KCoralError) as caught:
            connect(server.url).execute(program)
        assert caught.value.status_code == 413


def test_cancelling_closes_the_connection() -> None:
    arrived, left = threading.Event(), threading.Event()

    def wait_for_the_end(_request: fake.Received, connection: socket.socket) -> bool:
        arrived.set()
        if connection.recv(1) == b"":
            left.set()
        return False

    async def run() -> None:
        async with AsyncClient(server.url) as client:
            task = asyncio.create_task(client.execute(two_blobs()))
            await asyncio.to_thread(arrived.wait, 30)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await asyncio.to_thread(left.wait, 30)

    with FakeServer(wait_for_the_end) as server:
        asyncio.run(run())


# --- retries


@pytest.mark.usefixtures("_no_pauses")
def test_busy_is_retried_from_the_first_attempt(connect: Connect) -> None:
    script = [
        fake.cache_miss(*DIGESTS, node="n"),
        fake.error(503, "busy"),
        fake.error(503, "busy"),
        fake.completed(output=1),
    ]
    with FakeServer(*script) as server:
        result = connect(server.url, retries=2).execute(two_blobs())
    assert result.completed
    assert [len(request.blobs) for request in server.received] == [0, 2, 0, 0]
    assert "x-kcoral-node" not in server.received[2].headers


@pytest.mark.usefixtures("_no_pauses")
def test_retries_end(connect: Connect) -> None:
    with FakeServer(*[fake.error(503, "busy")] * 3) as server:
        with pytest.raises(KCoralError) as caught:
            connect(server.url).execute(two_blobs(), retries=2)
        assert caught.value.kind == "busy"
        assert len(server.received) == 3


@pytest.mark.usefixtures("_no_pauses")
@pytest.mark.parametrize(
    "answer",
    [
        fake.error(504, "timeout"),
        fake.error(502, "server_transport"),
        fake.error(500, "engine"),
        fake.error(503, "engine"),
        fake.raw(b""),
        fake.raw(HEAD),
        fake.reply(b"<html>", status=503, content_type="text/html"),
        fake.json_reply({}),
    ],
    ids=["timeout", "tunnel", "engine", "not busy", "closed", "cut", "a proxy's 503", "malformed"],
)
def test_what_may_have_run_is_never_retried(connect: Connect, answer: fake.Answer) -> None:
    with FakeServer(answer) as server:
        with pytest.raises(KCoralError):
            connect(server.url, retries=5).execute(two_blobs())
        assert len(server.received) == 1


@pytest.mark.usefixtures("_no_pauses")
def test_refused_connection_is_retried_until_the_server_is_there(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeServer() as gone:
        url = gone.url
    seen: list[TransportError] = []
    original = exchange.Exchange.unreachable

    def unreachable(self: exchange.Exchange, error: TransportError) -> None:
        seen.append(error)
        original(self, error)

    monkeypatch.setattr(exchange.Exchange, "unreachable", unreachable)
    with pytest.raises(TransportError, match="Nothing was sent"):
        connect(url, retries=3).execute(two_blobs())
    assert len(seen) == 4


# --- bad arguments


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"timeout_seconds": 0}, ValueError),
        ({"timeout_seconds": float("inf")}, ValueError),
        ({"timeout_seconds": True}, TypeError),
        ({"timeout_seconds": "1"}, TypeError),
        ({"gpu_count": 0}, ValueError),
        ({"gpu_count": 9}, ValueError),
        ({"gpu_count": True}, TypeError),
        ({"gpu_count": 1.0}, TypeError),
        ({"output_limit_bytes": -1}, ValueError),
        ({"output_limit_bytes": 1.5}, TypeError),
        ({"retries": -1}, ValueError),
    ],
    ids=str,
)
def test_bad_options_are_refused_before_anything_is_sent(
    connect: Connect, options: dict[str, object], error: type[Exception]
) -> None:
    with FakeServer() as server:
        with pytest.raises(error, match=next(iter(options))):
            connect(server.url).execute(two_blobs(), **options)
        assert server.received == []


def test_empty_program_is_refused(connect: Connect) -> None:
    with pytest.raises(ValueError, match="no instructions"):
        connect("http://127.0.0.1:1").execute(Program())


@pytest.mark.parametrize(
    "url", ["localhost:8000", "ftp://host", "http://", "http://host/?q=1", "http://host/#x", ""]
)
def test_bad_url_is_refused(connect: Connect, url: str) -> None:
    with pytest.raises(ValueError, match="base_url"):
        connect(url).execute(two_blobs())
