"""TLS: whom the clients trust."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from pathlib import Path

import fake_server as fake
import pytest
from faces import Connect
from fake_server import FakeServer

from kcoral import Program, TransportError
from kcoral._protocol import exchange

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl command")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 that nobody signed, with its key in the same file."""
    folder = tmp_path_factory.mktemp("tls")
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1"]
    command += ["-keyout", str(folder / "key"), "-out", str(folder / "certificate")]
    subprocess.run(command, check=True, capture_output=True)
    path = folder / "both"
    path.write_bytes((folder / "certificate").read_bytes() + (folder / "key").read_bytes())
    return path


class TlsServer(FakeServer):
    def __init__(self, certificate: Path, *script: fake.Answer) -> None:
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate)
        super().__init__(*script, wrap=lambda raw: self.context.wrap_socket(raw, server_side=True))

    @property
    def url(self) -> str:
        return super().url.replace("http:", "https:")


def program() -> Program:
    program = Program()
    program.return_(key="output", value=program.upload(kind="module", source=""))
    return program


@pytest.mark.parametrize("as_context", [False, True], ids=["file", "context"])
def test_certificate_that_was_given_is_trusted(
    connect: Connect, certificate: Path, as_context: bool
) -> None:
    verify = ssl.create_default_context(cafile=certificate) if as_context else str(certificate)
    with TlsServer(certificate, fake.completed(output=1)) as server:
        assert connect(server.url, verify=verify).execute(program())["output"] == 1


def test_verification_can_be_turned_off(connect: Connect, certificate: Path) -> None:
    with TlsServer(certificate, fake.completed(output=1)) as server:
        assert connect(server.url, verify=False).execute(program())["output"] == 1


def test_stranger_is_refused_and_not_asked_again(
    connect: Connect, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "FIRST_PAUSE_SECONDS", 0.0)
    with TlsServer(certificate, fake.completed(output=1)) as server:
        with pytest.raises(TransportError, match="certificate"):
            connect(server.url, retries=3).execute(program())
        assert server.connections == 1
        assert server.received == []
