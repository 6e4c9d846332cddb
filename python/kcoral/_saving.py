"""Writes files and folders whole or not at all, through descriptors that no link can mislead."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def save_file(dest: str | os.PathLike[str], content: bytes, *, overwrite: bool) -> None:
    with _open_parent(dest) as (parent, name):
        there = _status(parent, name)
        if there is not None:
            if not overwrite:
                raise _exists(dest, "pass overwrite=True to replace it")
            if stat.S_ISDIR(there.st_mode):
                raise IsADirectoryError(errno.EISDIR, "is a folder", os.fspath(dest))
        temporary = _temporary_name()
        try:
            _write_new(parent, temporary, content)
            if overwrite:
                os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
            else:
                _rename_to_new(parent, temporary, name)
        except FileExistsError:
            raise _exists(dest, "pass overwrite=True to replace it") from None
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=parent)


def save_folder(
    dest: str | os.PathLike[str], files: Mapping[str, bytes], folders: Iterable[str]
) -> None:
    """`folders` lists every folder below `dest`, parents before what is in them."""
    with _open_parent(dest) as (parent, name):
        there = _status(parent, name)
        if there is not None and not stat.S_ISDIR(there.st_mode):
            raise _exists(dest, "choose another place")
        temporary = _temporary_name()
        os.mkdir(temporary, dir_fd=parent)
        try:
            root = os.open(temporary, _FOLDER, dir_fd=parent)
            try:
                for folder in folders:
                    with _open_below(root, folder) as (above, last):
                        os.mkdir(last, dir_fd=above)
                for path, content in files.items():
                    with _open_below(root, path) as (above, last):
                        _write_new(above, last, content)
            finally:
                os.close(root)
            # Replaces an empty folder, and nothing else.
            os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
        except BaseException as error:
            with contextlib.suppress(OSError):
                _remove_tree(parent, temporary)
            if isinstance(error, OSError) and error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                raise _exists(dest, "choose another place, or empty it first") from None
            raise


def _exists(dest: str | os.PathLike[str], advice: str) -> FileExistsError:
    return FileExistsError(errno.EEXIST, f"already exists; {advice}", os.fspath(dest))


def _status(parent: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _temporary_name() -> str:
    return f".kcoral-{secrets.token_hex(8)}.tmp"


@contextlib.contextmanager
def _open_parent(dest: str | os.PathLike[str]) -> Iterator[tuple[int, str]]:
    """The folder that `dest` is to be in, as a descriptor, and its name there.

    Links directly below `/` are followed: they are the system's own, like macOS's `/tmp`.
    """
    path = Path(os.fspath(dest))
    name = os.path.basename(os.path.normpath(path))
    if not path.name or name in ("", ".", ".."):
        raise ValueError(f"{os.fspath(dest)!r} does not name a file or folder to write")
    components = path.parent.parts
    if path.is_absolute() and len(components) > 1:
        components = (*Path(os.path.realpath(Path(*components[:2]))).parts, *components[2:])
    folder = os.open("/" if path.is_absolute() else ".", _FOLDER)
    try:
        walked = Path("/" if path.is_absolute() else ".")
        for component in components[1:] if path.is_absolute() else components:
            walked /= component
            inner = _open_component(folder, component, walked)
            os.close(folder)
            folder = inner
        yield folder, name
    finally:
        os.close(folder)


def _open_component(folder: int, component: str, walked: Path) -> int:
    try:
        return os.open(component, _FOLDER, dir_fd=folder)
    except OSError as error:
        there = _status(folder, component)
        if there is not None and stat.S_ISLNK(there.st_mode):
            message = f"is a symbolic link; give the real path, {os.path.realpath(walked)}"
            raise OSError(errno.ELOOP, message, str(walked)) from None
        raise OSError(error.errno, error.strerror, str(walked)) from None


@contextlib.contextmanager
def _open_below(root: int, path: str) -> Iterator[tuple[int, str]]:
    """The folder within `root` that a normal path is in, and the path's last component."""
    *above, last = path.split("/")
    folder = os.dup(root)
    try:
        for component in above:
            inner = os.open(component, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = inner
        yield folder, last
    finally:
        os.close(folder)


def _write_new(folder: int, name: str, content: bytes) -> None:
    with os.fdopen(os.open(name, _NEW_FILE, 0o666, dir_fd=folder), "wb", buffering=0) as file:
        rest = memoryview(content)
        while rest:
            rest = rest[file.write(rest) :]


def _rename_to_new(folder: int, name: str, new_name: str) -> None:
    """Like rename, but fails with FileExistsError rather than replace anything."""
    try:
        os.link(name, new_name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:
        # A file system without hard links: take the name first.
        os.close(os.open(new_name, _NEW_FILE, 0o666, dir_fd=folder))
        os.rename(name, new_name, src_dir_fd=folder, dst_dir_fd=folder)


def _remove_tree(parent: int, name: str) -> None:
    # shutil.rmtree has a dir_fd only from Python 3.11 on.
    folder = os.open(name, _FOLDER, dir_fd=parent)
    try:
        for entry in os.listdir(folder):
            there = _status(folder, entry)
            if there is not None and stat.S_ISDIR(there.st_mode):
                _remove_tree(folder, entry)
            else:
                os.unlink(entry, dir_fd=folder)
    finally:
        os.close(folder)
    os.rmdir(name, dir_fd=parent)
