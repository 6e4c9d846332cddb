"""Progress bars, where tqdm is installed and somebody looks at a terminal or notebook."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Progress(Protocol):
    def update(self, amount: int) -> object: ...


class NoProgress:
    def update(self, amount: int) -> None:
        pass


@contextmanager
def progress_bar(
    total: int | None, description: str, *, show: bool, in_bytes: bool = False
) -> Iterator[Progress]:
    """A bar that is told of each step; nothing without tqdm, and when output goes to a file."""
    if not show:
        yield NoProgress()
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        yield NoProgress()
        return
    with tqdm(
        total=total,
        desc=description,
        unit="B" if in_bytes else "it",
        unit_scale=in_bytes,
        unit_divisor=1024,
        disable=None,  # when it is not a terminal
        leave=not in_bytes,
        delay=0.5 if in_bytes else 0,
    ) as bar:
        yield bar
