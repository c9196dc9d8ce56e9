"""The health check of the container."""

from __future__ import annotations

from pathlib import Path

import pytest

from kinesis_emulator import Emulator
from kinesis_emulator.health import connection, main
from support.certificates import make_certificate
from support.ports import refusing_port


def started_by(folder: Path, *arguments: str) -> Path:
    """Return a file like /proc/1/cmdline."""
    path = folder / "cmdline"
    path.write_text("".join(f"{argument}\0" for argument in arguments))
    return path


@pytest.mark.parametrize("init", [(), ("/sbin/docker-init", "--")])
def test_an_emulator_that_serves_is_healthy(
    init: tuple[str, ...], emulator: Emulator, tmp_path: Path
) -> None:
    """The arguments of the first process name the port, also after those of an init, and among others."""
    module = (*init, "python3", "-m", "kinesis_emulator", "--host=0.0.0.0")
    command = started_by(
        tmp_path, *module, "--stream", "orders=4", "--port", str(emulator.port), "--cors", "*"
    )
    assert main(command) == 0


@pytest.mark.tests  # cryptography is not in the loop `unit`
@pytest.mark.parametrize("option", ["--tls", "--tls-certificate=own.pem"])
def test_an_emulator_with_tls_is_healthy(option: str, tmp_path: Path) -> None:
    """It is asked by TLS, and its certificate may be any."""
    with Emulator(tls=make_certificate(tmp_path)) as emulator:
        assert main(started_by(tmp_path, "kinesis_emulator", option, f"--port={emulator.port}")) == 0


def test_an_emulator_that_does_not_serve_is_not_healthy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A port where nobody listens is not healthy, and the reason is printed."""
    with refusing_port() as port:
        assert main(started_by(tmp_path, "kinesis_emulator", "--port", str(port))) == 1
    assert f"No GET /health on port {port}: " in capsys.readouterr().err


@pytest.mark.tests  # as above
def test_another_response_is_not_healthy(tmp_path: Path) -> None:
    """A response with another status than 200 is a failure: here a port with TLS is asked without it."""
    with Emulator(tls=make_certificate(tmp_path)) as emulator:
        assert main(started_by(tmp_path, "kinesis_emulator", f"--port={emulator.port}")) == 1


def test_without_a_port_it_is_the_default_one() -> None:
    """A container that is started without arguments is asked at port 4567."""
    assert connection("python3\0-m\0kinesis_emulator\0--host=0.0.0.0\0").port == 4567
