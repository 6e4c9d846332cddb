"""Zygotes and workers as a test starts them: the server's part, played from Python."""

from __future__ import annotations

import hashlib
import json
import os
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path

from channel import Channel, Message, memory_file, read_all

PACKAGE = Path(__file__).resolve().parents[2] / "python"
MIB = 1 << 20


def zygote_environment() -> dict[str, str]:
    return {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(PACKAGE),
    }


class Zygote:
    """A zygote process, the folder of its workspaces, and its first message."""

    def __init__(self, *arguments: str, environment: dict[str, str] | None = None):
        self.folder = Path(tempfile.mkdtemp(prefix="kcoral-worker-test-"))
        self.channel, far = Channel.pair()
        command = [sys.executable, "-m", "kcoral._worker", "--workspaces", str(self.folder)]
        command += [*arguments, "--channel", str(far.fileno())]
        self.process = subprocess.Popen(
            command,
            env={**zygote_environment(), **(environment or {})},
            stdin=subprocess.DEVNULL,
            pass_fds=[far.fileno()],
            cwd="/",
        )
        far.close()
        first = self.channel.receive()
        assert first is not None, f"the zygote ended: {self.process.wait()}"
        assert first.type == "zygote_ready"
        self.ready = first.body
        self.count = 0

    def fork(self) -> Worker:
        self.count += 1
        return Worker(self, f"test/w{self.count}")

    def stop(self) -> None:
        self.channel.close()
        try:
            self.process.wait(timeout=30)
        finally:
            self.process.kill()
            shutil.rmtree(self.folder, ignore_errors=True)


class Output:
    """What is written to one stream, read as it comes so that no writer waits."""

    def __init__(self) -> None:
        read_end, self.write_end = os.pipe()
        self.data = bytearray()
        self.thread = threading.Thread(target=self.drain, args=(read_end,), daemon=True)
        self.thread.start()

    def drain(self, descriptor: int) -> None:
        with os.fdopen(descriptor, "rb", buffering=0) as file:
            while chunk := file.read(MIB):
                if len(self.data) < MIB:
                    self.data += chunk


@dataclass
class Outcome:
    """What a worker said about one program."""

    results: dict[str, object] = field(default_factory=dict)
    error: dict | None = None
    retire: str = ""
    started: list[int] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    finished: bool = False  # False: the worker died
    stdout: str = ""
    stderr: str = ""

    @property
    def kind(self) -> str | None:
        return self.error["kind"] if self.error else None


class Worker:
    def __init__(self, zygote: Zygote, name: str):
        self.zygote = zygote
        self.workspace = zygote.folder / name.replace("/", "_")
        self.workspace.mkdir()
        self.channel, far = Channel.pair()
        self.output, self.error_output = Output(), Output()
        self.exit_pipe, exit_end = os.pipe()
        ends = [far.fileno(), self.output.write_end, self.error_output.write_end, exit_end]
        zygote.channel.send(
            {"type": "fork", "worker": name, "workspace": str(self.workspace)}, ends
        )
        far.close()
        for end in ends[1:]:
            os.close(end)
        answer = zygote.channel.receive()
        assert answer is not None and answer.type == "forked", answer
        assert answer.body["worker"] == name
        self.pidfd = answer.descriptors[0]
        self.ready: Message | None = None
        self.status: int | None = None

    def wait_ready(self) -> None:
        if self.ready is None:
            self.ready = self.channel.receive()
            assert self.ready is not None, (self.end(), bytes(self.error_output.data))
            assert self.ready.type == "worker_ready"

    def run(
        self,
        *instructions: dict,
        blobs: tuple[bytes, ...] = (),
        reusable: bool = False,
        host_tensors: bool = False,
        max_result_bytes: int = 64 * MIB,
        grace: float = 0.2,
    ) -> Outcome:
        self.wait_ready()
        self.ready = None
        program = json.dumps({"instructions": list(instructions)})
        files = [memory_file(b"padding" + blob) for blob in blobs]
        self.channel.send(
            {
                "type": "execute",
                "request_id": "00000000-0000-4000-8000-000000000000",
                "program": program,
                "blobs": [
                    {"sha256": digest(blob), "descriptor": i, "offset": 7, "size": len(blob)}
                    for i, blob in enumerate(blobs)
                ],
                "host_tensors": host_tensors,
                "max_result_bytes": max_result_bytes,
                "termination_grace_seconds": grace,
                "reusable": reusable,
            },
            files,
        )
        for file in files:
            os.close(file)
        return self.collect(instructions, reusable)

    def collect(self, instructions: tuple[dict, ...], reusable: bool) -> Outcome:
        outcome = Outcome()
        output_began = len(self.output.data), len(self.error_output.data)
        while (message := self.channel.receive()) is not None:
            outcome.messages.append(message)
            if message.type == "started":
                outcome.started.append(message.body["instruction"])
            elif message.type == "returned":
                payload = read_all(message.descriptors[0]) if message.descriptors else b""
                key = instructions[message.body["instruction"]]["key"]
                outcome.results[key] = decode(message.body["value"], Payload(payload))
            elif message.type == "finished":
                outcome.error = message.body["error"]
                outcome.retire = message.body["retire"]
                outcome.finished = True
                break
            else:
                raise AssertionError(message.body)
        if not reusable or not outcome.finished or outcome.retire:
            self.end()
        outcome.stdout = self.output.data[output_began[0] :].decode(errors="replace")
        outcome.stderr = self.error_output.data[output_began[1] :].decode(errors="replace")
        return outcome

    def end(self, timeout: float = 30) -> int | None:
        """Closes the channel and gives the worker's wait status, None when it could not be told."""
        if self.pidfd < 0:
            return self.status
        self.channel.close()
        poll = select.poll()
        poll.register(self.pidfd, select.POLLIN)
        if not poll.poll(timeout * 1000):
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
            poll.poll()
            raise AssertionError("the worker did not end by itself")
        os.close(self.pidfd)
        self.pidfd = -1
        status = os.read(self.exit_pipe, 4)
        os.close(self.exit_pipe)
        self.output.thread.join(timeout)
        self.error_output.thread.join(timeout)
        self.status = struct.unpack("i", status)[0] if status else None
        return self.status

    def kill(self) -> None:
        """Ends the whole seat now, whatever state it is in."""
        if self.pidfd >= 0:
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
            self.end()


def digest(blob: bytes) -> str:
    return hashlib.sha256(blob).hexdigest()


class Payload:
    """The parts of one return, read from left to right."""

    def __init__(self, data: bytes):
        self.data = data
        self.position = 0
        self.part = 0

    def take(self, node: dict) -> bytes:
        assert node["part"] == self.part
        self.part += 1
        begin, self.position = self.position, self.position + node["size"]
        assert self.position <= len(self.data)
        return self.data[begin : self.position]


@dataclass(frozen=True)
class Tensor:
    dtype: str
    shape: tuple[int, ...]
    data: bytes


@dataclass(frozen=True)
class Folder:
    files: dict[str, bytes]
    directories: list[str]


def decode(node: dict, payload: Payload) -> object:
    kind = node["type"]
    if kind == "null":
        return None
    if kind == "array":
        return [decode(child, payload) for child in node["value"]]
    if kind == "object":
        return {key: decode(child, payload) for key, child in node["value"].items()}
    if kind in ("bytes", "file"):
        return payload.take(node)
    if kind == "tensor":
        return Tensor(node["dtype"], tuple(node["shape"]), payload.take(node))
    if kind == "folder":
        files = {path: decode(child, payload) for path, child in node["files"].items()}
        assert list(files) == sorted(files)
        return Folder(files, node["directories"])
    assert {"boolean": bool, "integer": int, "number": float, "string": str}[kind] is type(
        node["value"]
    )
    return node["value"]
