"""ProgramResult: what came of a program."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from kcoral.errors import RemoteExecutionError


@dataclass(frozen=True)
class InstructionError:
    """Why a program failed, and where. Members can also be read as `error["kind"]`."""

    kind: str  # parse compile runtime gpu_access correctness serialization unavailable engine
    message: str
    instruction_index: int
    instruction_op: str
    instruction_id: str | None  # None for a return
    traceback: str = field(repr=False)  # its last 8192 bytes
    # For the kind "gpu_access": the call, the line of uploaded code, who held the GPU then.
    cuda_call: str | None = None
    location: str | None = None
    interfered_request_id: str | None = None

    def __getitem__(self, member: str) -> Any:
        if member not in self.__dataclass_fields__:
            raise KeyError(member)
        return getattr(self, member)

    def __str__(self) -> str:
        name = f" {self.instruction_id}" if self.instruction_id else ""
        text = (
            f"{self.kind}: instructions[{self.instruction_index}] "
            f"({self.instruction_op}{name}): {self.message}"
        )
        return f"{text}\n{self.traceback.rstrip()}" if self.traceback else text


@dataclass
class ProgramResult:
    """What a program returned and printed, how long it took, and whether it failed.

    A failed program keeps what it returned before. Times are milliseconds: `queue_ms` waiting for a
    worker, `elapsed_ms` on it, of which `lease_wait_ms` waiting for the GPU and `lease_held_ms`
    holding it (both 0 on a CPU server). `gpu_ids` is there if a number of GPUs was asked for.
    """

    status: Literal["COMPLETED", "FAILED"]
    request_id: str
    queue_ms: float
    elapsed_ms: float
    lease_wait_ms: float
    lease_held_ms: float
    stdout: str
    stderr: str
    stdout_truncated: bool
    stderr_truncated: bool
    gpu_ids: list[int] | None = None
    # Tensors are owned, writable NumPy arrays; files and folders ReturnedFile and ReturnedFolder.
    results: dict[str, Any] = field(default_factory=dict)
    error: InstructionError | None = None

    @property
    def completed(self) -> bool:
        """Whether every instruction ran."""
        return self.status == "COMPLETED"

    @property
    def gpu_count(self) -> int | None:
        """How many GPUs the program asked for and got; None if it did not ask."""
        return None if self.gpu_ids is None else len(self.gpu_ids)

    def __getitem__(self, key: str) -> Any:
        """`results[key]`; the KeyError tells of the failure if there was one."""
        if key not in self.results and self.error is not None:
            raise KeyError(f"no result {key!r}: the program failed before it, {self.error}")
        return self.results[key]

    def raise_for_status(self) -> ProgramResult:
        """Raises RemoteExecutionError if the program failed; gives itself otherwise."""
        if self.error is not None:
            raise RemoteExecutionError(self)
        return self
