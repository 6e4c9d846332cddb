"""How a server ends: it drains, says so, and leaves nothing behind."""

from __future__ import annotations

import http.client
import signal
import socket

import pytest
from server_process import PATIENCE, Server, StartServer, descendants_of, is_alive, wait_until
from wire import Gate, PendingRequest, call, execute, module, request

SIGNALS = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["INT", "TERM"])


def begin(server: Server, number: int) -> None:
    """Sends the signal and returns when the server drains."""
    server.send_signal(number)
    server.wait_for_line("shutdown_started")


@SIGNALS
def test_a_server_at_rest_ends_at_once(start_server: StartServer, number: int) -> None:
    started = start_server("--num-workers", "2")
    execute(started, call("def main(): return 1")).completed()
    started.stop(number)
    assert "server_stopped" in started.lines[-1]


@SIGNALS
def test_the_running_finish_and_the_waiting_are_busy(
    start_server: StartServer, number: int
) -> None:
    started = start_server()
    gate = Gate(started)
    running = gate.start()
    waiting = [PendingRequest(started, call("def main(): return 1")) for _ in range(3)]
    started.wait_for_load(in_progress=1, waiting=3)
    begin(started, number)
    for pending in waiting:
        pending.reply().error(503, "busy")
    assert started.load() == (0, 1, 0)
    assert started.health()["status"] == "ok"
    execute(started, [module("")]).error(503, "busy")  # nothing new is taken
    gate.open()
    assert running.reply().results() == {"out": "through"}
    started.stop()


def test_a_running_request_that_never_ends_times_out(start_server: StartServer) -> None:
    started = start_server("--worker-termination-grace-seconds", "0.2")
    running = Gate(started).start(timeout_seconds=2)
    begin(started, signal.SIGTERM)
    running.reply().error(504, "timeout")
    started.stop()


@pytest.mark.parametrize(
    "signals", [(signal.SIGTERM, signal.SIGTERM), (signal.SIGINT, signal.SIGTERM)], ids=str
)
def test_a_second_signal_ends_what_still_runs(
    start_server: StartServer, signals: tuple[int, int]
) -> None:
    started = start_server("--num-workers", "2")
    running = [Gate(started).start() for _ in range(2)]
    begin(started, signals[0])
    started.send_signal(signals[1])
    for pending in running:
        pending.reply().error(503, "busy")
    started.stop()


def test_idle_connections_do_not_hold_it_up(start_server: StartServer) -> None:
    started = start_server()
    silent = socket.create_connection((started.host, started.port), timeout=PATIENCE)
    kept = http.client.HTTPConnection(started.host, started.port, timeout=PATIENCE)
    kept.request("GET", "/health")
    kept.getresponse().read()
    started.stop()
    assert silent.recv(1) == b""
    silent.close()
    kept.close()


def test_a_stopped_server_is_not_there(start_server: StartServer) -> None:
    started = start_server()
    started.stop()
    with pytest.raises(ConnectionRefusedError):
        request(started, "GET", "/health")


def test_a_server_that_is_killed_leaves_no_process(start_server: StartServer) -> None:
    started = start_server("--num-workers", "2")
    running = Gate(started).start()
    before = descendants_of(started.process.pid)
    assert before
    started.kill()
    running.disconnect()
    wait_until(lambda: not any(is_alive(pid) for pid in before), "its workers to end")
    # The next server in this folder clears up after it.
    assert list(started.workspaces.iterdir()) != []
    heir = start_server(workspaces=started.workspaces)
    assert len(list(started.workspaces.iterdir())) == 1
    heir.stop()


def test_two_servers_may_share_a_folder(start_server: StartServer) -> None:
    first = start_server()
    second = start_server(workspaces=first.workspaces)
    gate = Gate(first)
    running = gate.start()
    execute(second, call("def main(): return 1")).completed()
    second.stop()
    # It took its own folder with it, and that alone.
    gate.open()
    assert running.reply().results() == {"out": "through"}
    assert len(list(first.workspaces.iterdir())) == 1
