"""protocol.md, 2 and 4: files that come up, files and folders that go back."""

from __future__ import annotations

from typing import Any

import pytest
from server_process import Server, StartServer, wait_until
from wire import Reply, call, execute, ref, returned_path, run, sha256, upload

DATA = b"file data\0\xff"


def after(source: str, *returns: dict[str, Any]) -> list[dict[str, Any]]:
    """Runs `main` and then returns paths."""
    return [*call(source, key="done")[:3], *returns]


def file_node(reply: Reply, key: str = "out") -> Any:
    return reply.completed()["results"][key]


# ---- Uploads


def test_an_uploaded_file_is_private_and_whole(server: Server) -> None:
    source = """
        import os, stat
        def main(path):
            mode = lambda p: stat.S_IMODE(os.stat(p).st_mode)
            return [path, open(path, 'rb').read(), mode(path), mode('a'), mode('a/b')]
    """
    instructions = [upload("file", DATA, path="./a//b/c"), *call(source, ref("u"))]
    reply = execute(server, instructions, blobs=[DATA])
    assert reply.results() == {"out": ["a/b/c", DATA, 0o600, 0o700, 0o700]}


def test_an_uploaded_file_is_the_programs_own_copy(server: Server) -> None:
    source = "def main(): open('f', 'ab').write(b'more'); return open('f', 'rb').read()"
    instructions = [upload("file", DATA, path="f"), *call(source)]
    for _ in range(2):
        assert execute(server, instructions, blobs=[DATA]).results() == {"out": DATA + b"more"}


IN_THE_WAY = {
    "a file": "open('d/f', 'w').close()",
    "a symbolic link": "os.symlink('elsewhere', 'd/f')",
    "a link as a folder": "os.rmdir('d'); os.mkdir('e'); os.symlink('e', 'd')",
    "a file as a folder": "os.rmdir('d'); open('d', 'w').close()",
}


@pytest.mark.parametrize("way", IN_THE_WAY.values(), ids=IN_THE_WAY.keys())
def test_an_upload_replaces_nothing_and_follows_no_link(server: Server, way: str) -> None:
    source = f"""
        import os
        os.mkdir('d')
        def main():
            {way}
    """
    instructions = [*after(source), upload("file", DATA, path="d/f")]
    reply = execute(server, instructions, blobs=[DATA])
    error = reply.execution()["error"]
    assert error["instruction_index"] == 3 and error["instruction_id"] == "u"
    assert error["kind"] in ("runtime", "engine")
    assert error["kind"] == "runtime", "what a program did is no fault of the server"


def test_uploads_go_to_the_workspace_wherever_the_program_is(server: Server) -> None:
    source = """
        import os
        def main(): os.mkdir('inner'); os.chdir('inner')
        def look(): return [os.path.exists('f'), os.path.exists('../f')]
    """
    instructions = [
        *after(source),
        upload("file", DATA, path="f"),
        {"op": "get_function", "id": "look", "module": ref("m"), "name": "look"},
        run(fn="look", id="looked"),
        {"op": "return", "key": "out", "value": ref("looked")},
    ]
    assert execute(server, instructions, blobs=[DATA]).results() == {"out": [False, True]}


def test_an_uploaded_module_file_can_be_imported(server: Server) -> None:
    code = b"VALUE = 42\n"
    source = "def main():\n  import package.helper\n  return package.helper.VALUE"
    instructions = [upload("file", code, path="package/helper.py"), *call(source)]
    assert execute(server, instructions, blobs=[code]).results() == {"out": 42}


# ---- Returns


def test_a_file(server: Server) -> None:
    reply = execute(
        server, after("def main(): open('f', 'wb').write(b'abc')", returned_path("file", "f"))
    )
    assert file_node(reply) == {
        "type": "file",
        "size": 3,
        "part": "return:0",
        "sha256": sha256(b"abc"),
    }
    assert reply.results() == {"out": b"abc"}


def test_a_file_whose_path_a_program_gave(server: Server) -> None:
    source = "def main(): open('f', 'wb').write(b'abc'); return './f'"
    reply = execute(server, after(source, returned_path("file", ref("r"))))
    assert reply.results() == {"out": b"abc"}


def test_a_folder(server: Server) -> None:
    source = """
        import os
        def main():
            os.makedirs('d/b/empty/er')
            os.makedirs('d/a-dir')
            for name in ('z', 'a', 'b/x', 'b.txt', 'B', 'b/é'):
                open('d/' + name, 'w').write(name)
    """
    reply = execute(server, after(source, returned_path("folder", "d")))
    node = file_node(reply)
    assert list(node) == ["type", "files", "directories"]
    names = ["B", "a", "b.txt", "b/x", "b/é", "z"]
    assert list(node["files"]) == names  # sorted, as are the parts
    assert node["directories"] == ["a-dir", "b", "b/empty", "b/empty/er"]
    assert reply.results() == {"out": {name: name.encode() for name in names}}
    for i, name in enumerate(names):
        assert node["files"][name] == {
            "type": "file",
            "size": len(name.encode()),
            "part": f"return:{i}",
            "sha256": sha256(name.encode()),
        }


def test_an_empty_folder(server: Server) -> None:
    reply = execute(
        server, after("import os\ndef main(): os.mkdir('d')", returned_path("folder", "d"))
    )
    assert file_node(reply) == {"type": "folder", "files": {}, "directories": []}


def test_files_of_every_kind_of_name(server: Server) -> None:
    names = [" ", "a\nb", "a\\b", "*", "ä", "\U0001f600", "$ref", '"', "x" * 255, "-"]
    source = f"""
        import os
        def main():
            os.mkdir('d')
            for name in {names!r}:
                open('d/' + name, 'w').close()
    """
    reply = execute(server, after(source, returned_path("folder", "d")))
    assert reply.results() == {"out": dict.fromkeys(sorted(names, key=str.encode), b"")}


def test_values_files_and_folders_share_one_numbering(server: Server) -> None:
    source = """
        import os
        def main():
            os.mkdir('d')
            for name in ('d/1', 'd/2', 'f'):
                open(name, 'w').write(name)
            return [b'v']
    """
    reply = execute(
        server,
        after(
            source,
            returned_path("folder", "d", "folder"),
            {"op": "return", "key": "value", "value": ref("r")},
            returned_path("file", "f", "file"),
        ),
    )
    reply.completed()
    assert reply.parts == {
        **{"return:0": b"d/1", "return:1": b"d/2", "return:2": b"v", "return:3": b"f"}
    }


def test_returns_read_from_the_original_workspace(server: Server) -> None:
    source = """
        import os
        def main():
            open('f', 'w').write('original')
            os.mkdir('other')
            os.chdir('other')
            open('f', 'w').write('other')
    """
    reply = execute(server, after(source, returned_path("file", "f")))
    assert reply.results() == {"out": b"original"}


BAD_RETURNS = {
    "nothing there": ("pass", "file", "f"),
    "no folder there": ("pass", "folder", "d"),
    "a folder as a file": ("os.mkdir('d')", "file", "d"),
    "a file as a folder": ("open('f', 'w')", "folder", "f"),
    "a file's name as a folder's": ("open('f', 'w')", "file", "f/g"),
    "a link to a file": ("open('f', 'w'); os.symlink('f', 'l')", "file", "l"),
    "a link out": ("os.symlink('/etc/passwd', 'l')", "file", "l"),
    "a dangling link": ("os.symlink('gone', 'l')", "file", "l"),
    "a link to a folder": ("os.mkdir('d'); os.symlink('d', 'l')", "folder", "l"),
    "a file through a link": ("os.symlink('/etc', 'l')", "file", "l/passwd"),
    "a folder through a link": ("os.symlink('/', 'l')", "folder", "l/etc"),
    "a link in a folder": ("os.mkdir('d'); os.symlink('/etc/passwd', 'd/l')", "folder", "d"),
    "a fifo": ("os.mkfifo('p')", "file", "p"),
    "a fifo in a folder": ("os.mkdir('d'); os.mkfifo('d/p')", "folder", "d"),
    "a socket": (
        "import socket; socket.socket(socket.AF_UNIX).bind('s')",
        "file",
        "s",
    ),
    "a name that is no UTF-8": ("os.mkdir('d'); open(b'd/\\xff', 'w')", "folder", "d"),
}


@pytest.mark.parametrize("bad", BAD_RETURNS.values(), ids=BAD_RETURNS.keys())
def test_nothing_but_regular_files_goes_back(server: Server, bad: tuple[str, str, str]) -> None:
    action, kind, path = bad
    source = f"""
        import os
        def main():
            open('kept', 'w').write('kept')
            {action}
    """
    reply = execute(
        server,
        after(source, returned_path("file", "kept", "kept"), returned_path(kind, path)),
    )
    error = reply.failed("serialization")
    assert error["instruction_index"] == 4 and error["instruction_op"] == "return"
    assert reply.values(reply.document["results"]) == {"kept": b"kept"}


@pytest.mark.parametrize(
    "value",
    [
        "7",
        "None",
        "b'f'",
        "['f']",
        "''",
        "'../f'",
        "'/etc/passwd'",
        "'a\\\\b'",
        "'a\\0b'",
        "'.'",
        "r'\\ud800'.encode().decode('unicode_escape')",
    ],
)
def test_a_path_that_a_program_gave_has_the_same_rules(server: Server, value: str) -> None:
    source = f"def main(): return {value}"
    reply = execute(server, after(source, returned_path("file", ref("r"))))
    assert reply.failed("serialization")["instruction_index"] == 3


def test_a_file_that_grows_is_not_returned(server: Server) -> None:
    source = """
        import threading
        def main():
            file = open('f', 'wb', buffering=0)
            file.write(bytes(30_000_000))
            def grow():
                while True:
                    file.write(b'x')
            threading.Thread(target=grow, daemon=True).start()
    """
    reply = execute(server, after(source, returned_path("file", "f")))
    assert "changed" in reply.failed("serialization")["message"]


def test_a_workspace_is_gone_after_its_request(server: Server) -> None:
    source = """
        import os
        def main():
            os.makedirs('locked/inner')
            open('locked/inner/here-i-was', 'w').close()
            os.chmod('locked/inner', 0)
            os.chmod('locked', 0)
    """
    for _ in range(3):
        execute(server, after(source)).completed()
    wait_until(lambda: not server.files("locked"), "workspaces to be removed")


def test_each_request_begins_with_an_empty_workspace(server: Server) -> None:
    source = """
        import os
        def main():
            found = os.path.exists('mine')
            open('mine', 'w').close()
            return [found, os.environ['HOME'] == os.getcwd()]
    """
    for _ in range(3):
        assert execute(server, call(source)).results() == {"out": [False, True]}


def test_files_count_against_the_responses_limit(start_server: StartServer) -> None:
    started = start_server("--max-response-bytes", "100000")
    source = """
        import os
        def main(size):
            os.mkdir('d')
            open('d/f', 'wb').write(bytes(size))
            return bytes(50_000)
    """

    def sized(size: int, *returns: dict[str, Any]) -> Reply:
        return execute(started, [*call(source, size)[:3], *returns])

    file, folder = returned_path("file", "d/f", "file"), returned_path("folder", "d", "folder")
    value = {"op": "return", "key": "value", "value": ref("r")}
    sized(90_000, file).completed()
    sized(90_000, folder).completed()
    sized(100_001, file).error(500, "response_too_large")
    sized(100_001, folder).error(500, "response_too_large")
    sized(60_000, file, value).error(500, "response_too_large")
    sized(60_000, value, folder).error(500, "response_too_large")
    sized(40_000, value, folder).completed()
