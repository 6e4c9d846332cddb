"""A kcoral server for the length of a ``with`` block, on a port and in folders of its own."""

from __future__ import annotations

import re
import subprocess
import tempfile
import threading
from pathlib import Path
from types import TracebackType

START_SECONDS = 60


class Server:
    """Enters once the pool is ready; ``url`` is where it listens."""

    def __init__(self, kcoral: Path, python: Path, *options: str) -> None:
        self.url = ""
        self._command = [str(kcoral), "server", "--device", "cpu", "--port", "0"]
        self._command += ["--python", str(python), *options]
        self._lines: list[str] = []
        self._ready = threading.Event()

    def __enter__(self) -> Server:
        self._folder = tempfile.TemporaryDirectory(prefix="kcoral-bench-")
        folders = ["--workspace-dir", f"{self._folder.name}/work"]
        folders += ["--disk-cache-dir", f"{self._folder.name}/cache"]
        self._process = subprocess.Popen(
            self._command + folders, stderr=subprocess.PIPE, text=True, errors="replace"
        )
        threading.Thread(target=self._read_log, daemon=True).start()
        self._ready.wait(START_SECONDS)
        if not self.url:
            self.__exit__(None, None, None)
            raise RuntimeError("the server did not start:\n" + "".join(self._lines))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.terminate()
        try:
            self._process.wait(15)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()

    def _read_log(self) -> None:
        assert self._process.stderr
        url, pool = "", False
        for line in self._process.stderr:
            self._lines.append(line)
            if found := re.search(r"listening on (\S+)", line):
                url = found[1]
            pool = pool or "pool_ready" in line
            if url and pool and not self.url:
                self.url = url
                self._ready.set()
        self._ready.set()  # it ended
