"""ResponseReader: one response to POST /execute, verified as it arrives."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kcoral._protocol import json_text
from kcoral._protocol.documents import Execution, Reply, decode_reply
from kcoral._protocol.multipart import MultipartReader, PartHead, PartSink
from kcoral._protocol.request import ProgramRequest
from kcoral._protocol.values import Slot
from kcoral.errors import ProtocolError


@dataclass(frozen=True)
class ResponseHead:
    """What the contract looks at of a response's status line and headers."""

    status: int
    content_type: str = ""
    content_encoding: str = ""
    content_length: int | None = None
    request_id: str | None = None  # X-Request-ID
    node: str | None = None  # X-KCoral-Node


class ResponseReader(PartSink):
    """Fed with the body, gives the reply, or raises ProtocolError as soon as it is wrong."""

    def __init__(self, head: ResponseHead, request: ProgramRequest) -> None:
        self._head = head
        self._request = request
        self._document = bytearray()
        self._reply: Reply | None = None  # once the document is complete
        self._slots: list[Slot] = []
        self._next_slot = 0
        self._parts_begun = 0
        self._multipart: MultipartReader | None = None
        media_type = head.content_type.partition(";")[0].strip().lower()
        with self._context():
            if head.content_encoding.strip().lower() not in ("", "identity"):
                raise ProtocolError(
                    f"the response is encoded as {head.content_encoding[:80]!r}, "
                    "which was not asked for"
                )
            if media_type == "multipart/form-data" and head.status == 200:
                self._multipart = MultipartReader(head.content_type, self)
            elif media_type != "application/json":
                raise ProtocolError(
                    f"HTTP {head.status} came with the Content-Type {head.content_type[:80]!r}: "
                    "this is not a KCoral server, or a proxy before it answered in its place"
                )

    def feed(self, data: bytes) -> None:
        with self._context():
            if self._multipart is not None:
                self._multipart.feed(data)
            else:
                self._document += data

    def finish(self) -> Reply:
        """The body is over: the reply, whole and verified."""
        with self._context():
            if self._multipart is not None:
                self._multipart.finish()
                if self._next_slot < len(self._slots):
                    raise ProtocolError(
                        f"the response has {self._next_slot} parts, "
                        f"its values name {len(self._slots)}"
                    )
            else:
                self._read_document()
                if self._slots:
                    raise ProtocolError("the response is JSON, but its values name parts")
            if self._reply is None:
                raise ProtocolError("the response has no result part")
            return self._reply

    # --- the parts

    def part_begin(self, head: PartHead) -> int | None:
        self._parts_begun += 1
        is_result = self._parts_begun == 1
        expected_type = "application/json" if is_result else "application/octet-stream"
        if not is_result and self._next_slot == len(self._slots):
            raise ProtocolError(f"the response has the part {head.name[:80]!r} that no value names")
        expected_name = "result" if is_result else self._slots[self._next_slot].part
        if head.name != expected_name:
            raise ProtocolError(
                f"the response has the part {head.name[:80]!r} where {expected_name!r} belongs"
            )
        if head.content_type != expected_type:
            raise ProtocolError(
                f"part {expected_name} has the Content-Type {head.content_type[:80]!r}, "
                f"not {expected_type!r}"
            )
        if is_result:
            return None
        slot = self._slots[self._next_slot]
        slot.begin()
        return slot.size

    def part_data(self, data: memoryview) -> None:
        if self._reply is None:
            self._document += data
        else:
            self._slots[self._next_slot].add(data)

    def part_end(self) -> None:
        if self._reply is not None:
            self._slots[self._next_slot].end()
            self._next_slot += 1
            return
        self._read_document()
        if not self._slots:
            raise ProtocolError("the response is multipart, but its values name no parts")

    # --- the document

    def _read_document(self) -> None:
        document: Any
        try:
            document = json_text.parse(self._document)
        except json_text.JsonError as error:
            raise ProtocolError(f"the response's JSON is malformed: {error}") from None
        reply = decode_reply(document, self._request, self._head.status)
        self._document.clear()
        if isinstance(reply, Execution):
            self._slots = reply.slots
            self._check_sizes(reply.slots)
        self._check_request_id(_request_id_of(reply))
        self._reply = reply

    def _check_sizes(self, slots: list[Slot]) -> None:
        """Before memory is taken for what cannot come."""
        promised = sum(slot.size or 0 for slot in slots)
        length = self._head.content_length
        if length is not None and promised > length:
            raise ProtocolError(
                f"the response has {length} bytes, its values name {promised} bytes of parts"
            )

    def _check_request_id(self, request_id: str) -> None:
        if self._head.request_id not in (None, request_id):
            raise ProtocolError(
                f"the response's X-Request-ID is {self._head.request_id!r}, "
                f"its request_id {request_id!r}"
            )

    @contextlib.contextmanager
    def _context(self) -> Iterator[None]:
        """Tells a ProtocolError passing by which response it is about."""
        try:
            yield
        except ProtocolError as error:
            if error.status_code is None:
                error.status_code = self._head.status
                error.request_id = error.request_id or self._head.request_id
            raise


def _request_id_of(reply: Reply) -> str:
    return reply.result.request_id if isinstance(reply, Execution) else reply.request_id
