"""Returned files and folders on disk: whole or not at all, and never through a link."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from kcoral import Program, ReturnedFile, ReturnedFolder, _saving

CONTENT = b"new content"
FILE = ReturnedFile(len(CONTENT), "0" * 64, CONTENT)
FOLDER = ReturnedFolder({"a/b/x": FILE, "y": FILE}, ["a", "a/b", "empty"])


def tree(root: Path) -> dict[str, bytes | None]:
    """Everything below: the content of files, None for folders."""
    return {
        path.relative_to(root).as_posix(): None if path.is_dir() else path.read_bytes()
        for path in sorted(root.rglob("*"))
    }


def test_file_is_saved(tmp_path: Path) -> None:
    FILE.save(tmp_path / "out")
    FILE.save(str(tmp_path / "again"))
    assert tree(tmp_path) == {"again": CONTENT, "out": CONTENT}
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o666 & ~mask


def test_file_is_saved_relative_to_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    FILE.save("here")
    FILE.save("../there")
    assert tree(tmp_path) == {"sub": None, "sub/here": CONTENT, "there": CONTENT}


def test_existing_file_is_kept_unless_overwritten(tmp_path: Path) -> None:
    (tmp_path / "out").write_bytes(b"old")
    with pytest.raises(FileExistsError, match="overwrite=True"):
        FILE.save(tmp_path / "out")
    assert tree(tmp_path) == {"out": b"old"}
    FILE.save(tmp_path / "out", overwrite=True)
    assert tree(tmp_path) == {"out": CONTENT}


def test_folder_in_the_place_of_a_file_is_kept(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(FileExistsError):
        FILE.save(tmp_path / "out")
    with pytest.raises(IsADirectoryError):
        FILE.save(tmp_path / "out", overwrite=True)
    assert tree(tmp_path) == {"out": None}


def test_parents_must_exist(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        FILE.save(tmp_path / "none" / "out")
    with pytest.raises(FileNotFoundError):
        FOLDER.save(tmp_path / "none" / "out")
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(NotADirectoryError):
        FILE.save(tmp_path / "file" / "out")


@pytest.mark.parametrize("dest", ["", ".", "..", "/"])
def test_destination_must_have_a_name(dest: str) -> None:
    with pytest.raises(ValueError, match="name"):
        FILE.save(dest)


@pytest.mark.parametrize("save", [FILE.save, FOLDER.save], ids=["file", "folder"])
def test_links_are_not_followed(tmp_path: Path, save: Any) -> None:
    (tmp_path / "real" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    for dest in (tmp_path / "link" / "out", tmp_path / "link" / "deep" / "out"):
        with pytest.raises(OSError, match="symbolic link"):
            save(dest)
    (tmp_path / "out").symlink_to("real/target")
    with pytest.raises(FileExistsError):
        save(tmp_path / "out")
    assert tree(tmp_path / "real") == {"deep": None}


def test_overwriting_replaces_a_link_and_not_its_target(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"old")
    (tmp_path / "out").symlink_to("target")
    FILE.save(tmp_path / "out", overwrite=True)
    assert (tmp_path / "target").read_bytes() == b"old"
    assert not (tmp_path / "out").is_symlink()


def fail_halfway(monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """The disk is full after some files, each of them begun."""
    original = _saving._write_new
    written = 0

    def write(folder: int, name: str, content: bytes) -> None:
        nonlocal written
        written += 1
        if written > after:
            original(folder, name, content[:3])
            raise OSError(28, "No space left on device")
        original(folder, name, content)

    monkeypatch.setattr(_saving, "_write_new", write)


def test_failure_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "out").write_bytes(b"old")
    fail_halfway(monkeypatch, 0)
    with pytest.raises(OSError, match="No space"):
        FILE.save(tmp_path / "out", overwrite=True)
    with pytest.raises(OSError, match="No space"):
        FILE.save(tmp_path / "other")
    assert tree(tmp_path) == {"out": b"old"}


def test_file_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_link(*_: Any, **__: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_link)
    FILE.save(tmp_path / "out")
    with pytest.raises(FileExistsError):
        FILE.save(tmp_path / "out")
    assert tree(tmp_path) == {"out": CONTENT}


def test_folder_is_saved(tmp_path: Path) -> None:
    expected = {
        "out": None,
        "out/a": None,
        "out/a/b": None,
        "out/a/b/x": CONTENT,
        "out/empty": None,
        "out/y": CONTENT,
    }
    FOLDER.save(tmp_path / "out")
    assert tree(tmp_path) == expected
    with pytest.raises(FileExistsError, match="empty it first"):
        FOLDER.save(tmp_path / "out")
    assert tree(tmp_path) == expected


def test_folder_may_take_the_place_of_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    FOLDER.save(tmp_path / "out")
    assert (tmp_path / "out" / "y").read_bytes() == CONTENT


def test_folder_does_not_replace_a_file(tmp_path: Path) -> None:
    (tmp_path / "out").write_bytes(b"old")
    with pytest.raises(FileExistsError):
        FOLDER.save(tmp_path / "out")
    assert tree(tmp_path) == {"out": b"old"}


@pytest.mark.parametrize("after", [0, 1])
def test_folder_is_whole_or_absent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    fail_halfway(monkeypatch, after)
    with pytest.raises(OSError, match="No space"):
        FOLDER.save(tmp_path / "out")
    assert tree(tmp_path) == {}


def test_returned_folder_can_be_sent_again() -> None:
    program = Program()
    program.upload_folder(FOLDER, path="in")
    assert [step["path"] for step in program.instructions] == ["in/a/b/x", "in/y"]
