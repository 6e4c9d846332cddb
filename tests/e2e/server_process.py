"""A `kcoral server` of our own: started on a free port, held to account when it ends."""

from __future__ import annotations

import contextlib
import ctypes
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

REPOSITORY = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("KCORAL_BINARY") or REPOSITORY / "build" / "kcoral").absolute()
# For things that take milliseconds on an idle machine; tests wait for events, never for this long.
PATIENCE = 60.0

PR_SET_CHILD_SUBREAPER = 36
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def become_subreaper() -> None:
    """From here on a process that a server leaves behind becomes our child, so that we see it."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def wait_until(condition: Callable[[], object], what: str, patience: float = PATIENCE) -> Any:
    deadline = time.monotonic() + patience
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {patience} s for {what}")
        time.sleep(0.01)
    return value


def children_of(pid: int) -> list[int]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except FileNotFoundError:
        return []
    return [int(child) for child in text.split()]


def own_children() -> list[int]:
    found: list[int] = []
    for task in os.listdir("/proc/self/task"):
        text = Path(f"/proc/self/task/{task}/children").read_text()
        found += [int(child) for child in text.split()]
    return found


def descendants_of(pid: int) -> set[int]:
    found: set[int] = set()
    pending = children_of(pid)
    while pending:
        child = pending.pop()
        found.add(child)
        pending += children_of(child)
    return found


class Server:
    """One server process. `stop` ends it and checks that it left nothing behind."""

    running: ClassVar[set[int]] = set()

    def __init__(
        self,
        *options: str,
        directory: Path,
        device: str | None = "cpu",
        workspaces: Path | None = None,
        disk_cache: Path | None = None,
        environment: dict[str, str] | None = None,
        ready: bool = True,
    ) -> None:
        assert BINARY.exists(), f"{BINARY} is missing: `make build`, or set KCORAL_BINARY"
        self.directory = directory
        self.workspaces = workspaces or directory / "workspaces"
        self.disk_cache = disk_cache or directory / "disk-cache"
        self._before = self._workspace_folders()
        command = [str(BINARY), "server", "--port", "0", "--python", sys.executable]
        if device is not None:
            command += ["--device", device]
        command += ["--workspace-dir", str(self.workspaces)]
        command += ["--disk-cache-dir", str(self.disk_cache)]
        self.process = subprocess.Popen(
            [*command, *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={**os.environ, **(environment or {})},
        )
        Server.running.add(self.process.pid)
        self.lines: list[str] = []
        self._news = threading.Condition()
        self._ended = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        # Log lines of level error that a test expects; any other fails it.
        self.expected_errors: list[str] = []
        self.url = ""
        self.host = ""
        self.port = 0
        if ready:
            try:
                self.wait_ready()
            except BaseException:
                self.kill()
                raise

    def wait_ready(self) -> None:
        match = self.wait_for_line(r"listening on (http://(\S+):(\d+))")
        self.url, self.host, self.port = match[1], match[2].strip("[]"), int(match[3])
        self.wait_for_line("pool_ready")

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self._news:
                self.lines.append(ESCAPE.sub("", line.rstrip("\n")))
                self._news.notify_all()
        with self._news:
            self._ended = True
            self._news.notify_all()

    @property
    def log(self) -> str:
        return "\n".join(self.lines)

    def wait_for_line(self, pattern: str) -> re.Match[str]:
        deadline = time.monotonic() + PATIENCE
        with self._news:
            while True:
                for line in self.lines:
                    if match := re.search(pattern, line):
                        return match
                left = deadline - time.monotonic()
                if self._ended or left <= 0:
                    raise AssertionError(f"the server never said {pattern!r}:\n{self.log}")
                self._news.wait(left)

    # ---- What it says of itself

    def health(self) -> Any:
        connection = http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE)
        try:
            connection.request("GET", "/health")
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()

    def load(self) -> tuple[int, int, int]:
        """Capacity, requests in progress, requests waiting."""
        load = self.health()["load"]
        return (
            load["request_capacity"],
            load["requests_in_progress"],
            load["requests_waiting"],
        )

    def wait_for_load(self, in_progress: int, waiting: int = 0) -> None:
        wait_until(
            lambda: self.load()[1:] == (in_progress, waiting),
            f"{in_progress} requests in progress and {waiting} waiting",
        )

    # ---- What its programs do

    def wait_for_file(self, name: str) -> Path:
        """The file that a running program makes in its workspace."""

        def find() -> Path | None:
            return next(iter(self.files(name)), None)

        path: Path = wait_until(find, f"a program's file {name}")
        return path

    def files(self, name: str) -> list[Path]:
        """The files of this name in the workspaces of all its workers."""
        # os.walk passes over folders that vanish meanwhile.
        return [
            Path(folder) / name
            for folder, folders, files in os.walk(self.workspaces)
            if name in folders or name in files
        ]

    # ---- Its end

    def send_signal(self, number: int) -> None:
        self.process.send_signal(number)

    def wait(self) -> int:
        """The exit code, once it has ended and all it had to say is read."""
        code = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        Server.running.discard(self.process.pid)
        return code

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.wait()
        assert self.process.stderr is not None
        self.process.stderr.close()

    def stop(self, number: int = signal.SIGINT) -> None:
        """Ends it as an operator would and checks what it leaves; safe to call again."""
        assert self.process.stderr is not None
        if self.process.stderr.closed:
            return
        descendants = descendants_of(self.process.pid)
        try:
            if self.process.poll() is None:
                self.send_signal(number)
            code = self.wait()
        finally:
            self.kill()
        assert code == 0, f"exit code {code}:\n{self.log}"
        self.check_nothing_is_left(descendants)

    def _workspace_folders(self) -> set[Path]:
        return set(self.workspaces.iterdir()) if self.workspaces.exists() else set()

    def check_nothing_is_left(self, descendants: set[int]) -> None:
        def left_behind() -> list[int]:
            orphans = [pid for pid in own_children() if pid not in Server.running]
            for pid in orphans:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
            return [pid for pid in descendants.union(orphans) if is_alive(pid)]

        try:
            wait_until(lambda: not left_behind(), "its processes to be gone", 10)
        except AssertionError:
            names = [command_line(pid) for pid in left_behind()]
            raise AssertionError(f"the server left processes behind: {names}\n{self.log}") from None
        left = self._workspace_folders() - self._before
        assert not left, f"the server left workspaces behind: {left}"
        errors = [
            line
            for line in self.lines
            if re.match(r"\S+Z (error|critical) ", line)
            and not any(re.search(expected, line) for expected in self.expected_errors)
        ]
        assert errors == [], f"the server logged errors:\n{self.log}"


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except (FileNotFoundError, ProcessLookupError):
        return "(gone)"


StartServer = Callable[..., Server]  # the fixture of that name: options in, a server out
