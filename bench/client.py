"""What the Python client costs per call, against the floors of the machine it runs on.

    python bench/client.py [--repeat 5] [--sizes 4096,4194304,67108864]

A second process plays the server: it misses the blob once, takes it, and sends as many bytes back.
Each number is the best of its repetitions. `upload` is building a program around an array (its
snapshot and SHA-256 included) and executing it; its floor is one SHA-256 and one copy through a
loopback socket. `download` is a result of that size, verified, in an array of its own; its floor is
the same. Aim at 64 MiB: upload at most 1.3 times its floor.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import socket
import time
from collections.abc import Callable
from multiprocessing.connection import Connection

import numpy as np

from kcoral import Client, Program

RECEIVE_BYTES = 1 << 20
REQUEST_ID = "0f8fad5b-d9cb-469f-a165-70867728950e"


# --- the other process


def serve(port: Connection, payload_bytes: int) -> None:
    """Answers /execute: CACHE_MISS to a short body, a result to a long one; "drain" eats bytes."""
    listener = socket.create_server(("127.0.0.1", 0))
    port.send(listener.getsockname()[1])
    payload = os.urandom(payload_bytes)
    node = {
        "type": "tensor", "dtype": "uint8", "shape": [payload_bytes],
        "part": "return:0", "sha256": hashlib.sha256(payload).hexdigest(),
    }  # fmt: skip
    null = {"type": "null"}
    space = memoryview(bytearray(RECEIVE_BYTES))
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with connection:
            while request := read_head(connection):
                head, rest = request
                length = int(header(head, b"content-length") or 0)
                body = bytearray(rest)
                left = length - len(rest)
                while left:
                    taken = connection.recv_into(space[: min(left, RECEIVE_BYTES)])
                    left -= taken
                    if len(body) < 4096:
                        body += space[:taken]
                if head.startswith(b"POST /drain"):
                    connection.sendall(b"!")
                elif b'"missing"' in body and b'name="blob:' not in body:
                    text = bytes(body)
                    at = text.index(b'"blob":"') + 8
                    answer(connection, miss(text[at : at + 64].decode()))
                elif b'"download"' in body:
                    answer_tensor(connection, execution({"download": node}), payload)
                else:
                    answer(connection, execution({"missing": null}))


def read_head(connection: socket.socket) -> tuple[bytes, bytes] | None:
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            return None
        data += piece
    head, _, rest = data.partition(b"\r\n\r\n")
    return head, rest


def header(head: bytes, name: bytes) -> bytes | None:
    for line in head.split(b"\r\n"):
        key, _, value = line.partition(b":")
        if key.lower() == name:
            return value.strip()
    return None


def miss(digest: str) -> dict[str, object]:
    return {"status": "CACHE_MISS", "missing_blobs": [digest], "request_id": REQUEST_ID}


def execution(results: dict[str, object]) -> dict[str, object]:
    times = dict.fromkeys(("queue_ms", "elapsed_ms", "lease_wait_ms", "lease_held_ms"), 0)
    return {
        "status": "COMPLETED", "request_id": REQUEST_ID, **times, "stdout": "", "stderr": "",
        "stdout_truncated": False, "stderr_truncated": False, "results": results,
    }  # fmt: skip


def answer(connection: socket.socket, document: dict[str, object]) -> None:
    body = json.dumps(document).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    connection.sendall(head.encode() + b"\r\n\r\n" + body)


def answer_tensor(connection: socket.socket, document: dict[str, object], payload: bytes) -> None:
    disposition = "--b\r\nContent-Disposition: form-data; name="
    text = json.dumps(document)
    before = (
        f'{disposition}"result"\r\nContent-Type: application/json\r\n\r\n{text}\r\n'
        f'{disposition}"return:0"\r\nContent-Type: application/octet-stream\r\n\r\n'
    ).encode()
    after = b"\r\n--b--\r\n"
    length = len(before) + len(payload) + len(after)
    head = (
        "HTTP/1.1 200 OK\r\nContent-Type: multipart/form-data; boundary=b\r\n"
        f"Content-Length: {length}\r\n\r\n"
    )
    connection.sendall(head.encode() + before)
    connection.sendall(payload)
    connection.sendall(after)


# --- measuring


def best(repeat: int, work: Callable[[], object]) -> float:
    """Seconds of the fastest repetition."""
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


def measure(size: int, repeat: int) -> None:
    here, there = multiprocessing.Pipe()
    process = multiprocessing.Process(target=serve, args=(there, size), daemon=True)
    process.start()
    port: int = here.recv()
    data = np.frombuffer(os.urandom(size), np.uint8)

    def loopback() -> None:
        head = f"POST /drain HTTP/1.1\r\nContent-Length: {size}\r\n\r\n".encode()
        drain.sendall(head)
        drain.sendall(data.data)
        assert drain.recv(1) == b"!"

    with socket.create_connection(("127.0.0.1", port)) as drain:
        drain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        copy = best(repeat, loopback)
    digest = best(repeat, lambda: hashlib.sha256(data.data).digest())
    touched = np.zeros_like(data)
    memcpy = best(repeat, lambda: np.copyto(touched, data))
    floor = digest + copy

    def build() -> Program:
        program = Program()
        program.return_(key="missing", value=program.upload(kind="tensor", value=data))
        return program

    download = Program()
    download.return_(key="download", value=download.upload(kind="module", source=""))
    with Client(f"http://127.0.0.1:{port}", progress=False) as client:
        client.execute(download)
        rows = {
            "memcpy": memcpy,
            "sha256": digest,
            "loopback copy": copy,
            "build (snapshot + hash)": best(repeat, build),
            "upload": best(repeat, lambda: client.execute(build())),
            "download": best(repeat, lambda: client.execute(download)),
        }
    process.terminate()
    process.join()
    print(f"\n{size:,} bytes; floor = sha256 + loopback copy")
    for name, seconds in rows.items():
        print(f"  {name:<24} {seconds * 1e3:10.3f} ms {seconds / floor:8.2f} x floor")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--sizes", default=f"{4 << 10},{4 << 20},{64 << 20}")
    arguments = parser.parse_args()
    for size in arguments.sizes.split(","):
        measure(int(size), arguments.repeat)


if __name__ == "__main__":
    main()
