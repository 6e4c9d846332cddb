"""Uploaded files, returned files and folders."""

from __future__ import annotations

import stat

import pytest
from programs import program, upload
from seats import Folder

FILE = {"op": "return", "key": "out", "kind": "file"}
FOLDER = {"op": "return", "key": "out", "kind": "folder"}


def test_an_uploaded_file_is_private_and_its_handle_is_its_path(worker):
    source = """
import os, stat
def main(path):
    mode = lambda p: stat.S_IMODE(os.stat(p).st_mode)
    return [path, open(path, "rb").read(), mode(path), mode("a"), os.getcwd() == os.environ["HOME"]]
"""
    data = b"\0data" * 1000
    outcome = worker.run(
        upload(data, "file", "u", path="./a//b.bin"),
        *program(source, {"$ref": "u"}),
        {**FILE, "key": "back", "path": {"$ref": "u"}},
        blobs=(data,),
    )
    assert outcome.error is None
    assert outcome.results["out"] == ["a/b.bin", data, 0o600, 0o700, True]
    assert outcome.results["back"] == data


def test_an_uploaded_python_file_can_be_imported(worker):
    blob = b"x = 41\n"
    source = "def main():\n    import helper\n    return helper.x + 1\n"
    module = {"op": "upload", "kind": "module", "id": "before", "source": "import json"}
    outcome = worker.run(
        module, upload(blob, "file", "u", path="helper.py"), *program(source), blobs=(blob,)
    )
    assert outcome.results == {"out": 42}


def test_uploads_do_not_pass_links_or_overwrite(zygote):
    blob = b"blob"
    for preparation in (
        "os.symlink('/tmp', 'd')",
        "os.mkdir('d'); open('d/f', 'w')",
        "open('d', 'w')",
        "os.mkdir('d'); os.symlink('/tmp/nowhere', 'd/f')",
    ):
        module = {
            "op": "upload",
            "kind": "module",
            "id": "m",
            "source": f"import os; {preparation}",
        }
        file = upload(blob, "file", "u", path="d/f")
        outcome = zygote.fork().run(module, file, blobs=(blob,))
        assert outcome.kind == "runtime", preparation
        assert "d/f" in outcome.error["message"]


def test_bytes_arrive_as_bytes(worker):
    blob = bytes(range(256)) * 5000
    source = "def main(x):\n    return [type(x).__name__, x]\n"
    outcome = worker.run(upload(blob, "bytes", "u"), *program(source, {"$ref": "u"}), blobs=(blob,))
    assert outcome.results["out"] == ["bytes", blob]


def written(source: str, returned: dict) -> list[dict]:
    module = {"op": "upload", "kind": "module", "id": "m", "source": "import os\n" + source}
    return [module, returned]


def test_a_folder_arrives_whole(worker):
    source = """
os.makedirs("out/b/empty"); os.makedirs("out/a")
for name in ("z", "a.b", "a/x", "b/y"):
    open("out/" + name, "w").write(name)
"""
    outcome = worker.run(*written(source, {**FOLDER, "path": "out"}))
    assert outcome.results["out"] == Folder(
        {"a.b": b"a.b", "a/x": b"a/x", "b/y": b"b/y", "z": b"z"}, ["a", "b", "b/empty"]
    )


def test_an_empty_folder_and_an_empty_file(worker):
    source = "os.mkdir('out'); open('empty', 'w')\n"
    outcome = worker.run(
        *written(source, {**FOLDER, "path": "out"}), {**FILE, "key": "file", "path": "empty"}
    )
    assert outcome.results == {"out": Folder({}, []), "file": b""}


def test_the_workspace_stays_the_original_one(worker):
    source = (
        "open('f', 'w').write('mine'); os.mkdir('d'); os.chdir('d'); open('f', 'w').write('no')\n"
    )
    assert worker.run(*written(source, {**FILE, "path": "f"})).results == {"out": b"mine"}


REFUSED_FILES = [
    ("", "f", "No such file"),
    ("os.symlink('/etc/passwd', 'f')", "f", "symbolic link"),
    ("os.symlink('/etc', 'd')", "d/passwd", "symbolic link"),
    ("os.mkfifo('f')", "f", "regular"),
    ("os.mkdir('f')", "f", "regular"),
    ("import socket; s = socket.socket(socket.AF_UNIX); s.bind('f')", "f", ""),
]


@pytest.mark.parametrize(("source", "path", "message"), REFUSED_FILES)
def test_what_is_no_file_of_the_workspace_is_refused(worker, source, path, message):
    outcome = worker.run(*written(source + "\n", {**FILE, "path": path}))
    assert outcome.kind == "serialization"
    assert message in outcome.error["message"]


REFUSED_FOLDERS = [
    ("", "No such file"),
    ("open('out', 'w')", "link or no folder"),
    ("os.symlink('/etc', 'out')", "symbolic link"),
    ("os.mkdir('out'); os.symlink('/etc/passwd', 'out/f')", "out/f"),
    ("os.mkdir('out'); os.mkfifo('out/f')", "out/f"),
    ("os.mkdir('out'); os.mkdir('out/d'); os.symlink('..', 'out/d/up')", "out/d/up"),
    ("os.mkdir(b'out'); open(b'out/\\xff', 'w')", "UTF-8"),
]


@pytest.mark.parametrize(("source", "message"), REFUSED_FOLDERS)
def test_folders_with_anything_but_files_are_refused(worker, source, message):
    outcome = worker.run(*written(source + "\n", {**FOLDER, "path": "out"}))
    assert outcome.kind == "serialization"
    assert message in outcome.error["message"]


BAD_PATHS = [
    "'../f'",
    "'/etc/passwd'",
    "'a\\0b'",
    "''",
    "'.'",
    "'a\\\\b'",
    "'\\ud800'",
    "7",
    "b'f'",
]


@pytest.mark.parametrize("path", BAD_PATHS)
def test_paths_known_only_at_run_time_obey_the_same_rules(worker, path):
    instructions = program(f"def main():\n    return {path}\n")
    instructions[3] = {**FILE, "path": {"$ref": "r"}}
    outcome = worker.run(*instructions)
    assert outcome.kind == "serialization", outcome


def test_files_count_against_the_limit(zygote):
    source = "open('f', 'wb').write(bytes(100))\n"
    for limit, kind in ((100, None), (99, "response_too_large")):
        outcome = zygote.fork().run(*written(source, {**FILE, "path": "f"}), max_result_bytes=limit)
        assert outcome.kind == kind


def test_a_sparse_giant_is_refused_without_being_read(worker):
    source = "os.truncate(os.open('f', os.O_CREAT | os.O_RDWR), 1 << 40)\n"
    outcome = worker.run(*written(source, {**FILE, "path": "f"}))
    assert outcome.kind == "response_too_large"


def test_a_file_that_grows_is_refused(worker):
    source = """
import threading
file = open("f", "wb")
file.write(bytes(32 << 20)); file.flush()
def grow():
    while True:
        file.write(b"x"); file.flush()
threading.Thread(target=grow, daemon=True).start()
"""
    outcome = worker.run(*written(source, {**FILE, "path": "f"}))
    assert outcome.kind == "serialization"
    assert "changed" in outcome.error["message"]


def test_the_umask_of_a_program_does_not_matter(worker):
    blob = b"x"
    module = {"op": "upload", "kind": "module", "id": "m", "source": "import os; os.umask(0)"}
    worker.run(module, upload(blob, "file", "u", path="d/f"), blobs=(blob,), reusable=True)
    worker.wait_ready()
    instructions = [module, upload(blob, "file", "u", path="d/f")]
    source = "import os\ndef main():\n    return [os.stat('d').st_mode, os.stat('d/f').st_mode]\n"
    rest = program(source)
    rest[0]["id"], rest[1]["module"] = "n", {"$ref": "n"}
    outcome = worker.run(*instructions, *rest, blobs=(blob,))
    assert [stat.S_IMODE(mode) for mode in outcome.results["out"]] == [0o700, 0o600]
