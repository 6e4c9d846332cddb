"""protocol.md, 3 to 5: waiting, budgets, clients that go away."""

from __future__ import annotations

import hashlib
import socket
import struct
import time
from collections.abc import Iterator

import pytest
from server_process import Server, StartServer, wait_until
from wire import (
    Gate,
    PendingRequest,
    call,
    execute,
    function,
    module,
    returned,
    run,
)

FOREVER = """
    import signal, subprocess, time
    def main():
        while True:
            pass
    def stubborn():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        subprocess.Popen(['sh', '-c', 'trap "" TERM; sleep 600; sleep 600'])
        subprocess.Popen(['sleep', '600'], start_new_session=True)
        while True:
            try:
                time.sleep(600)
            except BaseException:
                pass
    def in_c():
        sum(range(10**15))
"""


@pytest.fixture(scope="module")
def impatient(start_module_server: StartServer) -> Server:
    """One worker, short limits."""
    return start_module_server(
        *("--max-timeout-seconds", "0.5", "--default-timeout-seconds", "0.5"),
        *("--worker-termination-grace-seconds", "0.2"),
    )


# ---- The execution budget


@pytest.mark.parametrize("name", ["main", "stubborn", "in_c"])
def test_a_budget_that_is_used_up_is_504_and_ends_the_whole_tree(
    impatient: Server, name: str
) -> None:
    message = execute(impatient, call(FOREVER, name=name)).error(504, "timeout")
    assert "0.5 seconds" in message
    impatient.wait_for_load(in_progress=0)
    assert execute(impatient, call("def main(): return 1")).results() == {"out": 1}


def test_a_budget_above_the_maximum_is_clamped_and_a_smaller_one_holds(impatient: Server) -> None:
    for seconds, words in ((1e300, "0.5 seconds"), (900, "0.5 seconds"), (0.25, "0.25 seconds")):
        reply = execute(impatient, call(FOREVER), options={"timeout_seconds": seconds})
        assert words in reply.error(504, "timeout")


def test_a_504_carries_no_results(impatient: Server) -> None:
    instructions = [
        module("import time\ndef early(): return b'x'\ndef main(): time.sleep(600)"),
        function("early", id="e"),
        run(fn="e", id="early"),
        returned("kept", "early"),
        function(),
        run(),
    ]
    execute(impatient, instructions).error(504, "timeout")


def test_a_program_within_its_budget_completes(impatient: Server) -> None:
    source = "import time\ndef main(): time.sleep(0.05); return 1"
    assert execute(impatient, call(source)).results() == {"out": 1}


def test_the_budget_does_not_count_the_wait_for_a_worker(start_server: StartServer) -> None:
    started = start_server("--worker-termination-grace-seconds", "0.2")
    gate = Gate(started)
    first = gate.start()
    second = PendingRequest(started, call("def main(): return 1"), timeout_seconds=0.2)
    started.wait_for_load(in_progress=1, waiting=1)
    time.sleep(0.5)  # it waits for longer than its budget
    gate.open()
    assert first.reply().results() == {"out": "through"}
    reply = second.reply()
    document = reply.execution()
    assert document["queue_ms"] > 400
    if document["status"] == "COMPLETED":  # a loaded machine may need more than its 0.2 seconds
        assert reply.results() == {"out": 1}


def test_the_times_add_up(server: Server) -> None:
    started = time.monotonic()
    source = "import time\ndef main(): time.sleep(0.1)"
    document = execute(server, call(source)).completed()
    passed = (time.monotonic() - started) * 1000
    assert 100 <= document["elapsed_ms"] <= passed
    assert document["queue_ms"] + document["elapsed_ms"] <= passed


# ---- Waiting for a worker


def test_without_a_worker_in_time_it_is_503(start_server: StartServer) -> None:
    started = start_server("--worker-wait-timeout-seconds", "0.2")
    gate = Gate(started)
    pending = gate.start()
    execute(started, call("def main(): return 1")).error(503, "busy")
    gate.open()
    assert pending.reply().results() == {"out": "through"}


def test_a_queue_that_is_full_turns_requests_away(start_server: StartServer) -> None:
    started = start_server("--max-queued-requests", "2")
    gate = Gate(started)
    running = gate.start()
    waiting = [PendingRequest(started, call("def main(): return 1")) for _ in range(2)]
    started.wait_for_load(in_progress=1, waiting=2)
    execute(started, call("def main(): return 1")).error(503, "busy")
    gate.open()
    assert running.reply().results() == {"out": "through"}
    for pending in waiting:
        assert pending.reply().results() == {"out": 1}


def test_requests_are_served_in_the_order_they_came(start_server: StartServer) -> None:
    started = start_server()
    gate = Gate(started)
    running = gate.start()
    source = "import time\ndef main(): return time.monotonic()"
    pending = []
    for i in range(5):
        pending.append(PendingRequest(started, call(source)))
        started.wait_for_load(in_progress=1, waiting=i + 1)
    gate.open()
    running.reply().completed()
    times = [request.reply().results()["out"] for request in pending]
    assert times == sorted(times)


def test_workers_run_side_by_side(start_server: StartServer) -> None:
    started = start_server("--num-workers", "3")
    gates = [Gate(started) for _ in range(3)]
    running = [gate.start() for gate in gates]  # returns only when each of them runs
    for gate, pending in reversed(list(zip(gates, running, strict=True))):
        gate.open()
        assert pending.reply().results() == {"out": "through"}


# ---- Clients that go away


@pytest.fixture
def one_worker(start_server: StartServer) -> Iterator[Server]:
    started = start_server("--worker-termination-grace-seconds", "0.2")
    yield started
    assert execute(started, call("def main(): return 'fine'")).results() == {"out": "fine"}


def test_a_queued_request_is_withdrawn(one_worker: Server) -> None:
    gate = Gate(one_worker)
    running = gate.start()
    queued = Gate(one_worker).send()
    one_worker.wait_for_load(in_progress=1, waiting=1)
    queued.disconnect()
    one_worker.wait_for_load(in_progress=1, waiting=0)
    gate.open()
    assert running.reply().results() == {"out": "through"}


def test_a_running_request_is_cancelled(one_worker: Server) -> None:
    gate = Gate(one_worker)
    gate.start().disconnect()
    one_worker.wait_for_load(in_progress=0)
    wait_until(lambda: not one_worker.files(f"begun-{gate.name}"), "its workspace to be removed")


def test_a_running_request_is_cancelled_by_a_reset_too(one_worker: Server) -> None:
    running = Gate(one_worker).start()
    assert running.connection.sock is not None
    running.connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    running.disconnect()
    one_worker.wait_for_load(in_progress=0)


def test_the_next_in_the_queue_gets_the_cancelled_ones_place(one_worker: Server) -> None:
    running = Gate(one_worker).start()
    queued = PendingRequest(one_worker, call("def main(): return 'next'"))
    one_worker.wait_for_load(in_progress=1, waiting=1)
    running.disconnect()
    assert queued.reply().results() == {"out": "next"}


def test_a_client_may_go_away_at_any_time(one_worker: Server) -> None:
    instructions = call("def main(): return b'x' * 3_000_000")
    for i in range(20):
        pending = PendingRequest(one_worker, instructions)
        time.sleep(0.003 * i)
        pending.disconnect()
    one_worker.wait_for_load(in_progress=0)


def test_an_abandoned_request_finishes_where_that_is_wanted(start_server: StartServer) -> None:
    started = start_server("--on-disconnect", "finish", "--max-requests-per-worker", "0")
    source = "def main(): return open('/proc/self/stat').read().split()[21]"
    before = execute(started, call(source)).results()["out"]
    gate = Gate(started)
    running = gate.start()
    running.disconnect()
    for _ in range(3):
        started.health()  # by then the server has seen that the client is gone
    gate.open()
    started.wait_for_load(in_progress=0)
    # The worker was not killed: it serves still.
    assert execute(started, call(source)).results()["out"] == before


# ---- Many at once


def test_many_clients_at_once_each_get_their_own_answer(server: Server) -> None:
    source = """
        import hashlib
        def main(i):
            print(i)
            return [i, hashlib.sha256(b'%d' % i).digest()]
    """
    pending = [PendingRequest(server, call(source, i)) for i in range(40)]
    for i, request in enumerate(pending):
        reply = request.reply()
        assert reply.results() == {"out": [i, hashlib.sha256(b"%d" % i).digest()]}
        assert reply.execution()["stdout"] == f"{i}\n"


MINE = "0b8ff8c2-2ba6-4f6a-9f0a-6f2d9c1c6b1e"


def test_late_refusals_carry_the_clients_request_id_too(impatient: Server) -> None:
    headers = [("X-Request-ID", MINE)]
    reply = execute(impatient, call(FOREVER), headers=headers)
    reply.error(504, "timeout")
    assert reply.header("X-Request-ID") == MINE
