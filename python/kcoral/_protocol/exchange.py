"""Exchange: which attempts one execution makes, and what comes of it.

Attempt 1 carries no blobs, attempt 2 those that the server missed, attempt 3 all. With retries, an
attempt that certainly ran nothing - the server was busy, or could not be reached - begins again at
attempt 1 after a pause. Nothing else is repeated: a program may have effects.
"""

from __future__ import annotations

import random
import uuid
from dataclasses import dataclass

from kcoral._protocol.documents import CacheMiss, ErrorReply
from kcoral._protocol.multipart import MultipartBody
from kcoral._protocol.request import ProgramRequest
from kcoral._protocol.response import ResponseHead, ResponseReader
from kcoral.errors import KCoralError, ProtocolError, TransportError
from kcoral.result import ProgramResult

FIRST_PAUSE_SECONDS = 1.0  # what servers ask for in Retry-After
LONGEST_PAUSE_SECONDS = 30.0


@dataclass(frozen=True)
class Attempt:
    """One HTTP request to POST /execute."""

    request_id: str
    headers: dict[str, str]
    body: MultipartBody
    has_blobs: bool


class Exchange:
    """The decisions of both clients; they only carry them out.

    For each attempt: `next_attempt()`, wait `pause_seconds`, send it; then either `response()` and
    its reader's bytes and `end_response()`, or `unreachable()`. Until there is a result.
    """

    def __init__(self, request: ProgramRequest, retries: int = 0) -> None:
        self.result: ProgramResult | None = None
        self.pause_seconds = 0.0  # before the next attempt
        self._request = request
        self._retries_left = retries
        self._retries_done = 0
        self._misses = 0
        self._to_send: list[str] = []  # digests
        self._node: str | None = None  # which missed, and gets the blobs
        self._head: ResponseHead | None = None
        self._reader: ResponseReader | None = None

    def next_attempt(self) -> Attempt:
        body = self._request.body(self._to_send)
        request_id = str(uuid.uuid4())
        headers = {
            "Content-Type": body.content_type,
            "Content-Length": str(body.content_length),
            "X-Request-ID": request_id,
        }
        if self._node is not None:
            headers["X-KCoral-Node"] = self._node
        return Attempt(request_id, headers, body, bool(self._to_send))

    def response(self, head: ResponseHead) -> ResponseReader:
        """A response began. Raises ProtocolError for one that no server gives."""
        self._head = head
        self._reader = ResponseReader(head, self._request)
        return self._reader

    def end_response(self) -> None:
        """The response's body is over: there is a result, or another attempt to make.

        Raises KCoralError for the server's errors, ProtocolError for a broken contract.
        """
        assert self._head is not None and self._reader is not None
        reply = self._reader.finish()
        self.pause_seconds = 0.0
        if isinstance(reply, ErrorReply):
            error = KCoralError(self._head.status, reply.kind, reply.message, reply.request_id)
            if (self._head.status, reply.kind) != (503, "busy"):
                raise error
            self._begin_again(error)
        elif isinstance(reply, CacheMiss):
            self._misses += 1
            if self._misses == 3:
                raise ProtocolError(
                    "the server misses blobs that it was just sent", 200, reply.request_id
                )
            self._to_send = reply.missing if self._misses == 1 else list(self._request.blobs)
            self._node = self._head.node
        else:
            self.result = reply.result

    def unreachable(self, error: TransportError) -> None:
        """No connection was made, so that nothing was sent. Raises the error without retries."""
        self._begin_again(error)

    def _begin_again(self, error: KCoralError) -> None:
        if self._retries_left == 0:
            raise error
        self._retries_left -= 1
        pause = min(FIRST_PAUSE_SECONDS * 2**self._retries_done, LONGEST_PAUSE_SECONDS)
        # Clients that were refused together shall not come back together.
        self.pause_seconds = pause * random.uniform(0.75, 1.25)
        self._retries_done += 1
        self._misses = 0
        self._to_send = []
        self._node = None
