"""GET /health through both clients."""

from __future__ import annotations

from typing import Any

import fake_server as fake
import pytest
from faces import Connect
from fake_server import FakeServer

from kcoral import KCoralError, ProtocolError, TransportError

HEALTH: dict[str, Any] = {
    "status": "ok",
    "instance_id": "0f8fad5b-d9cb-469f-a165-70867728950e",
    "started_at": "2026-01-02T03:04:05.678901Z",
    "gpu_count": 2,
    "load": {"request_capacity": 4, "requests_in_progress": 1, "requests_waiting": 0},
    "target": {"arch": "sm_90a"},
    "versions": {"torch": "2.9.0"},
}


def test_health_and_target(connect: Connect) -> None:
    with FakeServer(*[fake.json_reply(HEALTH)] * 2) as server:
        face = connect(server.url + "/prefix")
        assert face.health() == HEALTH
        assert face.target() == {"arch": "sm_90a"}
    assert [request.target for request in server.received] == ["/prefix/health"] * 2


def test_unavailable_router_is_told_not_raised(connect: Connect) -> None:
    router = {**HEALTH, "status": "unavailable", "gpu_count": None, "target": {}}
    with FakeServer(fake.json_reply(router, 503)) as server:
        assert connect(server.url).health()["status"] == "unavailable"


@pytest.mark.parametrize(
    "document",
    [
        {**HEALTH, "extra": 1},
        {name: member for name, member in HEALTH.items() if name != "load"},
        {**HEALTH, "gpu_count": "2"},
        {**HEALTH, "load": {**HEALTH["load"], "requests_waiting": -1}},
        {**HEALTH, "load": {}},
        {**HEALTH, "target": []},
        {**HEALTH, "versions": {"torch": 2}},
        {**HEALTH, "status": ""},
        [],
    ],
    ids=[
        "extra",
        "missing",
        "text",
        "negative",
        "no load",
        "array",
        "number",
        "empty",
        "no object",
    ],
)
def test_malformed_health_is_a_protocol_error(connect: Connect, document: Any) -> None:
    with FakeServer(fake.json_reply(document)) as server, pytest.raises(ProtocolError):
        connect(server.url).health()


def test_other_servers_are_a_protocol_error(connect: Connect) -> None:
    page = fake.reply(b"<html>", content_type="text/html")
    with FakeServer(page) as server, pytest.raises(ProtocolError, match="not a KCoral server"):
        connect(server.url).health()


def test_unknown_path_is_the_servers_error(connect: Connect) -> None:
    answer = fake.error(404, "parse", "no such route")
    with FakeServer(answer) as server, pytest.raises(KCoralError, match="no such route") as caught:
        connect(server.url).health()
    assert caught.value.status_code == 404


def test_nobody_there_is_a_transport_error(connect: Connect) -> None:
    with FakeServer() as gone:
        url = gone.url
    with pytest.raises(TransportError, match="kcoral server"):
        connect(url).health()
