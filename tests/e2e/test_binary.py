"""The `kcoral` binary as a program: what it needs, what it prints, how it refuses."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from server_process import BINARY, PATIENCE, REPOSITORY, StartServer
from wire import call, execute, request

# What glibc is made of, by the names of its libraries without their versions.
GLIBC = {"linux-vdso", "linux-gate", "ld-linux", "ld-linux-x86-64", "ld-linux-aarch64"}
GLIBC |= {"libc", "libm", "libdl", "libpthread", "librt", "libresolv", "libgcc_s"}


def kcoral(
    *arguments: str, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [BINARY, *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **(environment or {})},
        check=False,
    )


def package_version() -> str:
    text = (REPOSITORY / "python" / "kcoral" / "_version.py").read_text()
    match = re.search(r'__version__ = "([^"]+)"', text)
    assert match
    return match[1]


# ---- The file itself


def test_it_needs_no_library_but_glibcs() -> None:
    listed = subprocess.run(["ldd", BINARY], capture_output=True, text=True, check=True).stdout
    names = {Path(line.split()[0]).name.split(".so")[0] for line in listed.splitlines()}
    assert "libc" in names
    assert names <= GLIBC, f"{names - GLIBC} must be linked statically"


# ---- Help and version


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"], ["help"]], ids=str)
def test_help_lists_the_commands(arguments: list[str]) -> None:
    done = kcoral(*arguments)
    assert done.returncode == 0 and done.stderr == ""
    assert "Usage: kcoral" in done.stdout
    for command in ("server", "version"):
        assert re.search(rf"^  {command} ", done.stdout, re.MULTILINE)


def test_help_of_the_server_tells_every_option_and_its_default() -> None:
    done = kcoral("server", "--help")
    assert done.returncode == 0
    text = " ".join(done.stdout.split())
    for option, default in {
        "--host": "127.0.0.1",
        "--port": "8000",
        "--device": "gpu",
        "--num-workers": "1",
        "--max-requests-per-worker": "1",
        "--worker-wait-timeout-seconds": "1800",
        "--default-timeout-seconds": "300",
        "--max-timeout-seconds": "900",
        "--max-request-bytes": "268435456",
        "--max-response-bytes": "268435456",
        "--output-limit-bytes": "1048576",
        "--max-output-limit-bytes": "16777216",
        "--cache-capacity-bytes": "17179869184",
        "--worker-termination-grace-seconds": "5",
        "--sandbox": "bubblewrap",
        "--on-disconnect": "cancel",
    }.items():
        assert re.search(rf"{option} [^=]*={re.escape(default)} \(Env:KCORAL_SERVER_", text), option
    for option in ("--python", "--preload", "--host-tensors", "--workspace-dir"):
        assert option in text


@pytest.mark.parametrize("arguments", [["--version"], ["version"]], ids=str)
def test_the_version_is_the_packages(arguments: list[str]) -> None:
    done = kcoral(*arguments)
    assert done.returncode == 0
    assert done.stdout == f"kcoral {package_version()}\n"


# ---- Mistakes


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["serve"], "serve"),
        (["server", "--prot", "1"], "--prot"),
        (["--prot", "1"], "--prot"),
        (["server", "extra"], "extra"),
        (["server", "--port"], "--port"),
        (["server", "--port", "http"], "--port"),
        (["server", "--port", "65536"], "--port"),
        (["server", "--port", "-1"], "--port"),
        (["server", "--port", "1", "--port", "2"], "--port"),
        (["server", "--device", "tpu"], "--device"),
        (["server", "--num-workers", "0"], "--num-workers"),
        (["server", "--num-workers", "1.5"], "--num-workers"),
        (["server", "--max-requests-per-worker", "-1"], "--max-requests-per-worker"),
        (["server", "--sandbox", "maybe"], "--sandbox"),
        (["server", "--on-disconnect", "ignore"], "--on-disconnect"),
        (["server", "--max-request-bytes", "much"], "--max-request-bytes"),
        (["server", "--max-timeout-seconds", "0"], "--max-timeout-seconds"),
        (["server", "--max-timeout-seconds", "nan"], "--max-timeout-seconds"),
        (["server", "--default-timeout-seconds", "inf"], "--default-timeout-seconds"),
        (["server", "--default-timeout-seconds", "1000"], "--default-timeout-seconds"),
        (["server", "--worker-wait-timeout-seconds", "-1"], "--worker-wait-timeout-seconds"),
        (["server", "--worker-termination-grace-seconds", "-1"], "--worker-termination-grace"),
        (["server", "--output-limit-bytes", "99999999999"], "--output-limit-bytes"),
        (["server", "--max-json-depth", "1"], "--max-json-depth"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_bad_option_is_named_and_exits_2(arguments: list[str], named: str) -> None:
    done = kcoral(*arguments)
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert named in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("name", "value"), [("PORT", "http"), ("DEVICE", "tpu"), ("NUM_WORKERS", "0")]
)
def test_a_bad_environment_variable_is_named_and_exits_2(name: str, value: str) -> None:
    done = kcoral("server", environment={f"KCORAL_SERVER_{name}": value})
    assert done.returncode == 2, done.stderr
    assert f"KCORAL_SERVER_{name}" in done.stderr or f"--{name.lower().replace('_', '-')}" in (
        done.stderr
    )


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = kcoral(
            *("server", "--device", "cpu", "--port", port, "--python", sys.executable),
            *("--workspace-dir", str(tmp_path / "workspaces")),
        )
    assert done.returncode == 1
    assert port in done.stderr
    assert list((tmp_path / "workspaces").iterdir()) == []


def test_a_host_that_is_none_is_named(tmp_path: Path) -> None:
    done = kcoral(
        *("server", "--device", "cpu", "--port", "0", "--python", sys.executable),
        *("--host", "no.such.host.invalid", "--workspace-dir", str(tmp_path)),
    )
    assert done.returncode in (1, 2)
    assert "no.such.host.invalid" in done.stderr


def test_without_a_gpu_the_default_device_says_what_to_do() -> None:
    if Path("/dev/nvidiactl").exists():
        pytest.skip("this machine has a GPU")
    done = kcoral("server", "--port", "0")
    assert done.returncode == 1
    assert "GPU" in done.stderr and "--device cpu" in done.stderr


# ---- The workers' Python


def test_a_python_that_is_not_there_is_named() -> None:
    for python in ("/no/such/python", "no-such-python"):
        done = kcoral("server", "--device", "cpu", "--python", python)
        assert done.returncode == 1
        assert python in done.stderr and "--python" in done.stderr


def test_a_python_without_the_extension_is_named_with_what_to_do(tmp_path: Path) -> None:
    venv.create(tmp_path / "bare", with_pip=False)
    python = str(tmp_path / "bare" / "bin" / "python")
    done = kcoral(
        *("server", "--device", "cpu", "--port", "0", "--python", python),
        environment={"PYTHONPATH": ""},  # it could lead to the extension
    )
    assert done.returncode == 1
    assert python in done.stderr
    assert "pip install kcoral" in done.stderr
    assert "--python" in done.stderr
    assert "ModuleNotFoundError" in done.stderr


def test_a_program_that_is_no_python_is_named() -> None:
    done = kcoral("server", "--device", "cpu", "--port", "0", "--python", "/bin/false")
    assert done.returncode == 1
    assert "/bin/false" in done.stderr


# ---- Starting


def test_options_without_a_command_mean_the_server(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [
            *(BINARY, "--device", "cpu", "--port", "0", "--python", sys.executable),
            *("--workspace-dir", tmp_path / "workspaces", "--disk-cache-dir", tmp_path / "cache"),
        ],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    with process.stderr:
        for line in process.stderr:
            if "pool_ready" in line:
                break
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
        assert process.wait(PATIENCE) == 0, rest


def test_the_environment_sets_what_no_option_sets(start_server: StartServer) -> None:
    environment = {
        "KCORAL_SERVER_HOST": "127.0.0.2",
        "KCORAL_SERVER_DEVICE": "cpu",
        "KCORAL_SERVER_NUM_WORKERS": "2",
        "KCORAL_SERVER_PORT": "1",  # the option, 0, wins
    }
    started = start_server(device=None, environment=environment)
    assert started.host == "127.0.0.2"
    assert started.port > 1
    assert "workers=2" in started.wait_for_line("pool_ready.*")[0]
    assert request(started, "GET", "/health").status == 200


def test_the_environments_port_is_used(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        environment = {
            "KCORAL_SERVER_PORT": str(port),
            "KCORAL_SERVER_DEVICE": "cpu",
            "KCORAL_SERVER_PYTHON": sys.executable,
            "KCORAL_SERVER_WORKSPACE_DIR": str(tmp_path),
        }
        probe.listen()
        done = kcoral("server", environment=environment)  # the port is ours: it says so
    assert done.returncode == 1
    assert str(port) in done.stderr


def test_an_option_beats_the_environment(start_server: StartServer) -> None:
    started = start_server(
        *("--host", "127.0.0.1", "--num-workers", "1"),
        environment={"KCORAL_SERVER_HOST": "127.0.0.2", "KCORAL_SERVER_NUM_WORKERS": "3"},
    )
    assert started.host == "127.0.0.1"
    assert "workers=1" in started.wait_for_line("pool_ready.*")[0]


def test_the_console_says_where_and_how_it_serves(start_server: StartServer) -> None:
    started = start_server("--num-workers", "3", "--sandbox", "none")
    ready = started.wait_for_line("pool_ready.*")[0]
    assert ready == "pool_ready sandbox=none mode=cpu target={} workers=3"
    assert started.wait_for_line(r"listening on http://127\.0\.0\.1:\d+")
    assert execute(started, call("def main(): return 1")).results() == {"out": 1}


def test_ipv6_is_served_too(start_server: StartServer) -> None:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        pytest.skip("this machine has no IPv6")
    started = start_server("--host", "::1")
    assert started.host == "::1"
    assert request(started, "GET", "/health").status == 200
    assert request(started, "GET", "/internal/worker-status").status == 200


def test_preloads_are_told_and_can_be_chosen(start_server: StartServer) -> None:
    started = start_server("--preload", "colorsys,no_such_module")
    assert started.wait_for_line("preloaded module=colorsys")
    assert "no_such_module" in started.wait_for_line("preload_dropped.*")[0]
    source = "import sys\ndef main(): return ['colorsys' in sys.modules, 'numpy' in sys.modules]"
    assert execute(started, call(source)).results() == {"out": [True, False]}
