"""protocol.md, 2 and 4: captured output, its limits, its decoding."""

from __future__ import annotations

from typing import Any

import pytest
from server_process import Server, StartServer
from wire import call, execute, module


def output_of(server: Server, source: str, **options: Any) -> Any:
    return execute(server, call(source), options=options or None).completed()


def write(data: bytes, descriptor: int = 1) -> str:
    return f"import os\ndef main(): os.write({descriptor}, {data!r})"


def test_both_streams_are_captured_apart(server: Server) -> None:
    source = """
        import os, subprocess, sys
        print('module body')
        def main():
            print('out'); print('err', file=sys.stderr)
            sys.stdout.write('no line end')
            os.write(1, b'|raw out'); os.write(2, b'raw err|')
            subprocess.run('echo child; echo child err >&2', shell=True)
            sys.__stdout__.write('original')
    """
    document = output_of(server, source)
    assert document["stdout"] == "module body\nout\nno line end|raw outchild\noriginal"
    assert document["stderr"] == "err\nraw err|child err\n"
    assert document["stdout_truncated"] is document["stderr_truncated"] is False


def test_without_output_both_are_empty(server: Server) -> None:
    document = output_of(server, "def main(): pass")
    assert document["stdout"] == document["stderr"] == ""
    assert document["stdout_truncated"] is document["stderr_truncated"] is False


@pytest.mark.parametrize(
    ("limit", "text", "truncated"),
    [(11, "hello world", False), (10, "hello worl", True), (1, "h", True), (0, "", False)],
)
def test_the_limit_is_exact_and_for_each_stream(
    server: Server, limit: int, text: str, truncated: bool
) -> None:
    source = """
        import sys
        def main():
            sys.stdout.write('hello world')
            sys.stderr.write('hello')
    """
    document = output_of(server, source, output_limit_bytes=limit)
    assert document["stdout"] == text
    assert document["stdout_truncated"] is truncated
    assert document["stderr"] == "hello"[:limit]
    assert document["stderr_truncated"] is (0 < limit < 5)


REPLACED = "\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize(
    ("data", "limit", "text"),
    [
        (b"\xff", 100, REPLACED),
        (b"a\xc3(b", 100, f"a{REPLACED}(b"),
        ("aä".encode(), 2, f"a{REPLACED}"),  # cut within a character
        ("\U0001f600".encode() * 2, 4, "\U0001f600"),
        ("\U0001f600".encode() * 2, 7, "\U0001f600" + REPLACED),
        (b"\xed\xa0\x80", 100, b"\xed\xa0\x80".decode("utf-8", "replace")),
        (b"\xf0\x9f\x98", 100, b"\xf0\x9f\x98".decode("utf-8", "replace")),
        (b"\xc0\xaf\xfe\xff", 100, b"\xc0\xaf\xfe\xff".decode("utf-8", "replace")),
        (b"nul \0 and \x1b[31m", 100, "nul \0 and \x1b[31m"),
        (b"\r\n\n\r", 100, "\r\n\n\r"),
        ("ä\u2028\U0001f600\ufeff".encode(), 100, "ä\u2028\U0001f600\ufeff"),
    ],
)
def test_bytes_are_cut_first_and_then_decoded_with_replacement(
    server: Server, data: bytes, limit: int, text: str
) -> None:
    document = output_of(server, write(data), output_limit_bytes=limit)
    assert document["stdout"] == text
    assert document["stdout_truncated"] is (len(data) > limit)


def test_a_string_that_is_no_text_can_be_printed(server: Server) -> None:
    document = output_of(server, r"def main(): print('\ud800', 'after')")
    assert document["stdout"].endswith("after\n")


def test_a_flood_is_cut_and_blocks_nobody(server: Server) -> None:
    source = """
        import os
        def main():
            block = b'x' * (1 << 20)
            for _ in range(200):
                os.write(1, block)
                os.write(2, block)
            return 'done'
    """
    reply = execute(server, call(source), options={"output_limit_bytes": 1000})
    assert reply.results() == {"out": "done"}
    document = reply.execution()
    assert document["stdout"] == document["stderr"] == "x" * 1000
    assert document["stdout_truncated"] is document["stderr_truncated"] is True


def test_the_default_limit_is_a_mebibyte_and_the_largest_sixteen(server: Server) -> None:
    source = "import os\ndef main():\n  for _ in range(17): os.write(1, b'x' * (1 << 20))"
    document = output_of(server, source)
    assert len(document["stdout"]) == 1 << 20 and document["stdout_truncated"] is True
    document = output_of(server, source, output_limit_bytes=1 << 40)
    assert len(document["stdout"]) == 16 << 20 and document["stdout_truncated"] is True


def test_the_limits_can_be_configured(start_server: StartServer) -> None:
    started = start_server("--output-limit-bytes", "5", "--max-output-limit-bytes", "7")
    source = "def main(): print('0123456789', end='')"
    assert output_of(started, source)["stdout"] == "01234"
    for limit, length in ((6, 6), (7, 7), (8, 7), (10**30, 7)):
        document = output_of(started, source, output_limit_bytes=limit)
        assert document["stdout"] == "0123456789"[:length]
        assert document["stdout_truncated"] is True


def test_closed_or_replaced_streams_are_the_programs_own_business(server: Server) -> None:
    source = """
        import io, os, sys
        def main():
            print('before')
            sys.stdout = io.StringIO()
            print('into nothing')
            os.close(1)
            os.close(2)
            return 'fine'
    """
    reply = execute(server, call(source))
    assert reply.results() == {"out": "fine"}
    assert reply.execution()["stdout"] == "before\n"


def test_output_of_a_module_that_fails_is_kept(server: Server) -> None:
    reply = execute(server, [module("print('first line')\nprint('ä')\nraise ValueError")])
    reply.failed("parse")
    assert reply.execution()["stdout"] == "first line\nä\n"


def test_text_that_waits_in_a_buffer_is_flushed_at_the_end(server: Server) -> None:
    source = """
        import ctypes, os, sys
        def main():
            sys.stdout = os.fdopen(os.dup(1), 'w', buffering=1 << 16)
            sys.stdout.write('python ')
            libc = ctypes.CDLL(None)
            libc.printf(b'c ')
    """
    assert sorted(output_of(server, source)["stdout"].split()) == ["c", "python"]
