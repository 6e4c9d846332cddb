"""The zygote: what it imports, drops and tells, and how it ends."""

from __future__ import annotations

import os
import select
import signal
from pathlib import Path

import pytest
from programs import program
from seats import Zygote, zygote_environment


@pytest.fixture
def preloads(tmp_path):
    """A folder of modules to preload."""
    (tmp_path / "fine.py").write_text("import time; time.sleep(0.01)")
    (tmp_path / "broken.py").write_text("1 / 0")
    (tmp_path / "exits.py").write_text("raise SystemExit(3)")
    (tmp_path / "threads.py").write_text(
        "import threading, time\n"
        "threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()\n"
    )
    (tmp_path / "reads_input.py").write_text("import sys; assert sys.stdin.read() == ''")
    return tmp_path


def start(folder, names: str) -> Zygote:
    path = os.pathsep.join([zygote_environment()["PYTHONPATH"], str(folder)])
    return Zygote("--preload", names, environment={"PYTHONPATH": path})


def test_preloads_are_timed_and_what_fails_is_told_and_dropped(preloads):
    zygote = start(preloads, "fine,broken,exits,missing,threads,reads_input")
    try:
        told = {entry["module"]: entry for entry in zygote.ready["preloads"]}
        assert told["fine"]["error"] == ""
        assert told["fine"]["milliseconds"] >= 10
        assert "ZeroDivisionError" in told["broken"]["error"]
        assert "SystemExit" in told["exits"]["error"]
        assert "No module named 'missing'" in told["missing"]["error"]
        assert "1 threads" in told["threads"]["error"]
        assert told["reads_input"]["error"] == ""
        assert len(os.listdir(f"/proc/{zygote.process.pid}/task")) == 1
        source = (
            "import sys\ndef main():\n    return [n in sys.modules for n in ('fine', 'threads')]\n"
        )
        assert zygote.fork().run(*program(source)).results["out"] == [True, False]
    finally:
        zygote.stop()


def test_the_default_preloads_are_those_installed():
    zygote = Zygote()
    try:
        names = [entry["module"] for entry in zygote.ready["preloads"]]
        assert "numpy" in names
        assert all(entry["error"] == "" for entry in zygote.ready["preloads"])
        assert zygote.ready["python"].count(".") == 2
    finally:
        zygote.stop()


def test_its_workers_die_with_it():
    zygote = Zygote("--preload", "")
    worker = zygote.fork()
    worker.wait_ready()
    os.kill(zygote.process.pid, signal.SIGKILL)
    zygote.process.wait()
    poll = select.poll()
    poll.register(worker.pidfd, select.POLLIN)
    assert poll.poll(30_000)
    worker.end()
    zygote.stop()


def test_it_ignores_the_terminal_and_ends_with_its_channel():
    zygote = Zygote("--preload", "")
    for number in (signal.SIGINT, signal.SIGTERM):
        os.kill(zygote.process.pid, number)
    assert zygote.fork().run(*program("def main():\n    return 1\n")).results == {"out": 1}
    zygote.channel.close()
    assert zygote.process.wait(timeout=30) == 0
    zygote.stop()


def test_dead_workers_leave_no_zombies(zygote):
    for _ in range(5):
        zygote.fork().run(*program("def main():\n    return 1\n"))
    zygote.fork().kill()
    pid = zygote.process.pid
    states = []
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        try:
            states.append(Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0])
        except OSError:
            pass  # reaped meanwhile
    assert states.count("Z") <= 1


def test_a_worker_has_no_descriptors_but_its_own(worker):
    source = """
import os
def main():
    found = []
    for name in sorted(os.listdir("/proc/self/fd"), key=int):
        try:
            found.append([int(name), os.readlink("/proc/self/fd/" + name).split(":")[0]])
        except OSError:
            pass
    return found
"""
    found = dict(worker.run(*program(source)).results["out"])
    assert found.pop(0) == "/dev/null"
    assert found.pop(1) == found.pop(2) == "pipe"
    channel = [number for number, kind in found.items() if kind == "socket"]
    assert len(channel) == 1
    assert channel[0] > 100
    del found[channel[0]]
    assert list(found.values()) == [str(worker.workspace)]


def test_siblings_draw_different_random_numbers(zygote):
    source = (
        "import random, numpy\ndef main():\n    return [random.random(), numpy.random.random()]\n"
    )
    draws = [zygote.fork().run(*program(source)).results["out"] for _ in range(3)]
    assert len({value for draw in draws for value in draw}) == 6


def test_a_worker_finds_its_folders(worker):
    source = """
import os, tempfile
def main():
    home = os.environ["HOME"]
    with tempfile.NamedTemporaryFile() as file:
        inside = file.name.startswith(home)
    return [home, os.getcwd() == home, inside, sorted(os.listdir(home))]
"""
    home, here, inside, names = worker.run(*program(source)).results["out"]
    assert home == str(worker.workspace)
    assert here
    assert inside
    assert names == [".kcoral"]
