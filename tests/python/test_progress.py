"""Progress bars: there for people, absent for files, and never in the way."""

from __future__ import annotations

import hashlib
import io
import sys
from typing import Any

import fake_server as fake
import pytest
from fake_server import FakeServer

from kcoral import Client, Program, _http
from kcoral._progress import NoProgress, progress_bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def make_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Takes the place of stderr. No fixture: pytest puts its own there before the test's body."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


def test_bar_is_drawn_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = make_terminal(monkeypatch)
    with progress_bar(3, "work", show=True) as bar:
        bar.update(3)
    assert "work: 100%" in terminal.getvalue()


def test_nothing_is_drawn_into_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with progress_bar(3, "work", show=True) as bar:
        bar.update(3)
    assert stream.getvalue() == ""


def test_nothing_is_drawn_without_tqdm_or_when_not_wanted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = make_terminal(monkeypatch)
    with progress_bar(3, "work", show=False) as bar:
        assert isinstance(bar, NoProgress)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with progress_bar(3, "work", show=True) as bar:
        bar.update(1)
        assert isinstance(bar, NoProgress)
    assert terminal.getvalue() == ""


@pytest.mark.parametrize("show", [True, False])
def test_big_uploads_and_maps_show_a_bar(monkeypatch: pytest.MonkeyPatch, show: bool) -> None:
    terminal = make_terminal(monkeypatch)
    monkeypatch.setattr(_http, "BIG_UPLOAD_BYTES", 1000)
    drawn: list[tuple[str, bool]] = []

    def noted_bar(total: int, what: str, *, show: bool, in_bytes: bool = False) -> Any:
        drawn.append((what, show))
        return progress_bar(total, what, show=show, in_bytes=in_bytes)

    monkeypatch.setattr("kcoral.client.progress_bar", noted_bar)
    blob = bytes(2000)
    program = Program()
    program.return_(key="output", value=program.upload(kind="bytes", value=blob))
    miss = fake.cache_miss(hashlib.sha256(blob).hexdigest())
    script = [miss, fake.completed(output=1), fake.completed(result=1)]
    with FakeServer(*script) as server, Client(server.url, progress=show) as client:
        client.execute(program)

        @client.function
        def work(x: int) -> int:
            return x

        assert list(work.map([1])) == [1]
    assert drawn[:2] == [("upload", False), ("upload", show)]
    assert ("work: 100%" in terminal.getvalue()) == show
