"""The server's half of a worker channel, for tests: packets of JSON with descriptors beside them."""

from __future__ import annotations

import json
import os
import socket
from dataclasses import dataclass, field

BODY_IN_FIRST_DESCRIPTOR = 1
MORE_DESCRIPTORS_FOLLOW = 2
INLINE_LIMIT = 32 << 10
DESCRIPTORS_PER_PACKET = 250


@dataclass
class Message:
    """One decoded packet; the receiver owns the descriptors."""

    body: dict
    descriptors: list[int] = field(default_factory=list)

    @property
    def type(self) -> str:
        return self.body["type"]


class Channel:
    def __init__(self, end: socket.socket, timeout: float = 60):
        self.socket = end
        self.socket.settimeout(timeout)

    @staticmethod
    def pair() -> tuple[Channel, socket.socket]:
        near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        return Channel(near), far

    def close(self) -> None:
        self.socket.close()

    def send(self, body: dict, descriptors: list[int] = []) -> None:
        data = json.dumps(body).encode()
        rest = list(descriptors)
        flags = 0
        body_file = None
        if len(data) > INLINE_LIMIT:
            body_file = os.memfd_create("body", os.MFD_ALLOW_SEALING)
            os.write(body_file, data)
            rest.insert(0, body_file)
            flags, data = BODY_IN_FIRST_DESCRIPTOR, b""
        while len(rest) > DESCRIPTORS_PER_PACKET:
            first, rest = rest[:DESCRIPTORS_PER_PACKET], rest[DESCRIPTORS_PER_PACKET:]
            socket.send_fds(self.socket, [bytes([MORE_DESCRIPTORS_FOLLOW])], first)
        socket.send_fds(self.socket, [bytes([flags]) + data], rest)
        if body_file is not None:
            os.close(body_file)

    def receive(self) -> Message | None:
        """The next message, or None at the peer's end."""
        gathered: list[int] = []
        while True:
            try:
                data, descriptors, _, _ = socket.recv_fds(self.socket, 64 << 10, 253)
            except ConnectionResetError:
                return None
            gathered += descriptors
            if not data:
                return None
            if data[0] & MORE_DESCRIPTORS_FOLLOW:
                continue
            body = data[1:]
            if data[0] & BODY_IN_FIRST_DESCRIPTOR:
                body = read_all(gathered.pop(0))
            return Message(json.loads(body), gathered)


def read_all(descriptor: int) -> bytes:
    """Reads a memory file from its start, and closes it."""
    with os.fdopen(descriptor, "rb") as file:
        file.seek(0)
        return file.read()


def memory_file(data: bytes) -> int:
    descriptor = os.memfd_create("blob", os.MFD_ALLOW_SEALING)
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
    return descriptor
