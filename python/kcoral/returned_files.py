"""Files and folders that a program returned, in memory until they are saved."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from kcoral import _saving


@dataclass(frozen=True)
class ReturnedFile:
    """The content of a regular file, verified against its digest."""

    size: int
    sha256: str
    _content: bytes = field(repr=False)

    def read_bytes(self) -> bytes:
        """The content."""
        return self._content

    def save(self, dest: str | os.PathLike[str], overwrite: bool = False) -> None:
        """Writes the file to `dest`, whole or not at all.

        The folder must exist, and no component of its path may be a symbolic link. Raises
        FileExistsError if something is there already; with `overwrite` a file or link there is
        replaced. Raises OSError for the rest, and leaves what was there.
        """
        _saving.save_file(dest, self._content, overwrite=overwrite)


@dataclass(frozen=True)
class ReturnedFolder:
    """The regular files and the folders below a folder, by their paths within it, sorted."""

    files: Mapping[str, ReturnedFile]
    directories: list[str]

    def save(self, dest: str | os.PathLike[str]) -> None:
        """Writes the folder to `dest`, whole or not at all.

        `dest` must not exist or be an empty folder. The folder above it must exist, and no
        component of its path may be a symbolic link. Raises OSError, and leaves what was there.
        """
        contents = {path: file.read_bytes() for path, file in self.files.items()}
        _saving.save_folder(dest, contents, self.directories)
