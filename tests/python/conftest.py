"""Fixtures of the client's tests: both clients, and no proxy between us and them."""

from __future__ import annotations

import pytest
from faces import AsyncFace, Connect, SyncFace


@pytest.fixture(params=[SyncFace, AsyncFace], ids=["Client", "AsyncClient"])
def connect(request: pytest.FixtureRequest) -> Connect:
    face: Connect = request.param
    return face


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
