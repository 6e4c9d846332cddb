"""Reads a local folder for an upload: regular files only, following no link below it."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def read_regular_file(path: str | os.PathLike[str]) -> bytes:
    """The content of a regular file. Raises OSError, ValueError for anything else."""
    # Without O_NONBLOCK a pipe would be waited for.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError(f"{os.fspath(path)!r} is not a regular file")
        return file.read()


def files_below(folder: str | os.PathLike[str]) -> list[tuple[str, Path]]:
    """The files of a folder and those below it: (path within it, where it is), sorted.

    Raises ValueError for a link or a special file, and if there is no file at all; OSError for what
    cannot be read.
    """
    root = Path(folder)
    if not root.is_dir():
        raise NotADirectoryError(f"{str(root)!r} is not a folder")
    files: list[tuple[str, Path]] = []
    open_folders = [root]
    while open_folders:
        for entry in sorted(open_folders.pop().iterdir()):
            if entry.is_symlink() or not (entry.is_dir() or entry.is_file()):
                kind = "a symbolic link" if entry.is_symlink() else "a special file"
                raise ValueError(f"{str(entry)!r} is {kind}; only folders and files can be sent")
            if entry.is_dir():
                open_folders.append(entry)
            else:
                files.append((entry.relative_to(root).as_posix(), entry))
    if not files:
        raise ValueError(f"{str(root)!r} has no files; empty folders cannot be sent")
    return sorted(files)
