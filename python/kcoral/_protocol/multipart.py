"""multipart/form-data: the text around outgoing payloads, and a strict incremental reader."""

from __future__ import annotations

import re
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from kcoral.errors import ProtocolError

MAX_HEADER_BYTES = 16 * 1024  # of one part


@dataclass(frozen=True)
class OutgoingPart:
    name: str
    content_type: str
    payload: memoryview  # of bytes


class MultipartBody:
    """A request's body: made of pieces that are never joined, so that payloads are not copied.

    The boundary is random and drawn once the data exist: nobody could have put it there.
    """

    def __init__(self, parts: Sequence[OutgoingPart]) -> None:
        boundary = f"kcoral-{secrets.token_hex(20)}"
        self.content_type = f"multipart/form-data; boundary={boundary}"
        self._pieces: list[memoryview] = []
        line_end = ""
        for part in parts:
            head = (
                f"{line_end}--{boundary}\r\n"
                f'Content-Disposition: form-data; name="{part.name}"\r\n'
                f"Content-Type: {part.content_type}\r\n\r\n"
            )
            self._pieces += [memoryview(head.encode("ascii")), part.payload]
            line_end = "\r\n"
        self._pieces.append(memoryview(f"{line_end}--{boundary}--\r\n".encode("ascii")))
        self.content_length = sum(len(piece) for piece in self._pieces)

    def chunks(self, size: int) -> Iterator[bytes]:
        """The body, in order, in chunks of `size` bytes; the last may be shorter."""
        chunk = bytearray()
        for piece in self._pieces:
            rest = piece
            while rest:
                taken = rest[: size - len(chunk)]
                rest = rest[len(taken) :]
                if len(taken) == size:
                    yield bytes(taken)
                    continue
                chunk += taken
                if len(chunk) == size:
                    yield bytes(chunk)
                    chunk.clear()
        if chunk:
            yield bytes(chunk)


@dataclass(frozen=True)
class PartHead:
    name: str
    content_type: str  # in lowercase, without parameters


class PartSink(ABC):
    """Told of each part in turn: begin, data, end. Raises ProtocolError for what it refuses."""

    @abstractmethod
    def part_begin(self, head: PartHead) -> int | None:
        """The number of bytes the part must have; None if any number will do."""

    @abstractmethod
    def part_data(self, data: memoryview) -> None:
        """Some bytes of the part; the view is valid only during the call."""

    @abstractmethod
    def part_end(self) -> None: ...


class MultipartReader:
    """Reads what servers send: no preamble, lines that end in CRLF, nothing after the end.

    Fed with a body in pieces of any size, it tells the sink of the same parts with the same bytes.
    A part whose length is known is not searched for the boundary.
    """

    def __init__(self, content_type: str, sink: PartSink) -> None:
        self._sink = sink
        self._delimiter = b"\r\n--" + _boundary_of(content_type)
        # What was fed but not yet understood. The body's first delimiter has no line end before it:
        # pretend that it has.
        self._held = b"\r\n"
        self._step: Callable[[bytes, int], int] = self._read_delimiter
        self._left: int | None = None  # bytes of this part that are still to come, if known

    def feed(self, data: bytes) -> None:
        if self._held:
            data = self._held + data
        position = 0
        while position < len(data):
            taken = self._step(data, position)
            if taken == 0:
                break
            position += taken
        self._held = data[position:]

    def finish(self) -> None:
        """The body is over. Raises ProtocolError if it ended too early or too late."""
        if self._step != self._read_end:
            raise ProtocolError("the response body ends before its closing boundary")
        if self._held not in (b"", b"\r\n"):
            raise ProtocolError("the response body goes on after its closing boundary")

    # Each step takes some bytes from `begin` on and says how many; none: it needs more input.

    def _read_delimiter(self, data: bytes, begin: int) -> int:
        end = begin + len(self._delimiter)
        if len(data) < end + 2:
            if not self._delimiter.startswith(data[begin:end]):
                raise self._no_delimiter()
            return 0
        if data[begin:end] != self._delimiter:
            raise self._no_delimiter()
        line_end = data[end : end + 2]
        if line_end == b"\r\n":
            self._step = self._read_head
        elif line_end == b"--":
            self._step = self._read_end
        else:
            raise ProtocolError("a boundary line of the response body is malformed")
        return end + 2 - begin

    def _no_delimiter(self) -> ProtocolError:
        if self._left == 0:
            return ProtocolError("a part of the response body is longer than its value says")
        return ProtocolError("the response body does not begin with its boundary")

    def _read_head(self, data: bytes, begin: int) -> int:
        end = data.find(b"\r\n\r\n", begin)
        if (len(data) if end < 0 else end) - begin > MAX_HEADER_BYTES:
            raise ProtocolError(f"a part's header has more than {MAX_HEADER_BYTES} bytes")
        if end < 0:
            return 0
        self._left = self._sink.part_begin(parse_part_head(data[begin:end]))
        self._step = self._read_data if self._left is None else self._read_counted_data
        if self._left == 0:
            self._end_part()
        return end + 4 - begin

    def _read_counted_data(self, data: bytes, begin: int) -> int:
        assert self._left is not None
        taken = min(self._left, len(data) - begin)
        if taken:
            self._sink.part_data(memoryview(data)[begin : begin + taken])
            self._left -= taken
            if self._left == 0:
                self._end_part()
        return taken

    def _read_data(self, data: bytes, begin: int) -> int:
        end = data.find(self._delimiter, begin)
        found = end >= 0
        if not found:
            # The delimiter may begin in the last bytes.
            end = data.find(b"\r", max(begin, len(data) - len(self._delimiter) + 1))
            while end >= 0 and not self._delimiter.startswith(data[end:]):
                end = data.find(b"\r", end + 1)
            if end < 0:
                end = len(data)
        if end > begin:
            self._sink.part_data(memoryview(data)[begin:end])
        if found:
            self._end_part()
            # A step must take something: without data here, that is the delimiter.
            return (end - begin) or self._read_delimiter(data, begin)
        return end - begin

    def _end_part(self) -> None:
        self._sink.part_end()
        self._step = self._read_delimiter

    def _read_end(self, data: bytes, begin: int) -> int:
        if len(data) - begin > 2:
            raise ProtocolError("the response body goes on after its closing boundary")
        return 0


def _boundary_of(content_type: str) -> bytes:
    match = re.fullmatch(
        r"multipart/form-data\s*;\s*boundary=(?:\"([^\"\\]+)\"|([^\s\";]+))\s*",
        content_type,
        re.IGNORECASE,
    )
    boundary = match and (match.group(1) or match.group(2))
    if not boundary or len(boundary) > 70 or not boundary.isascii():
        raise ProtocolError(
            f"the response's Content-Type is {content_type[:200]!r}; "
            "expected multipart/form-data with a boundary"
        )
    return boundary.encode("ascii")


_DISPOSITION = re.compile(rb'form-data\s*;\s*name="([^"\\]+)"(?:\s*;\s*filename="[^"\\]*")?', re.I)


def parse_part_head(text: bytes) -> PartHead:
    """Exactly one Content-Disposition with a name and one Content-Type; no transfer encoding."""
    headers: dict[bytes, bytes] = {}
    for line in text.split(b"\r\n"):
        name, colon, value = line.partition(b":")
        name = name.lower()
        if not colon or not re.fullmatch(rb"[!#-'*+.0-9^-z|~-]+", name):
            raise ProtocolError(f"a part has a malformed header line: {line[:80]!r}")
        if name in headers:
            raise ProtocolError(f"a part has two headers {name.decode()!r}")
        headers[name] = value.strip(b" \t")
    disposition = _DISPOSITION.fullmatch(headers.get(b"content-disposition", b""))
    if disposition is None:
        raise ProtocolError("a part has no Content-Disposition: form-data with a name")
    content_type = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if not content_type:
        raise ProtocolError("a part has no Content-Type")
    encoding = headers.get(b"content-transfer-encoding", b"binary").lower()
    if encoding not in (b"binary", b"8bit"):
        raise ProtocolError(f"a part has the Content-Transfer-Encoding {encoding[:80]!r}")
    return PartHead(
        disposition.group(1).decode("utf-8", "replace"), content_type.decode("utf-8", "replace")
    )
