"""
Independent Kinesis servers to compare with: kinesis-local and kinesalite from npm, and moto.

They verify our emulator. Neither is right everywhere; the contract tests say where.
"""

from __future__ import annotations

import logging
import os
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

import pytest

from .ports import free_port
from .waiting import PATIENCE_S, wait_until

KINESIS_LOCAL = "kinesis-local@0.6.2"
KINESALITE = "kinesalite@3.3.3"
_HERE = Path(__file__).parent
CACHE = _HERE.parents[1] / ".nox" / "witness"
_POLL_S = 0.02
"""How often moto's server looks whether it is to stop."""


class WitnessUnavailableError(Exception):
    """A witness cannot be installed or started on this machine."""


@contextmanager
def kinesis_local(
    creating_s: float = 0.001, environment: Mapping[str, str] = MappingProxyType({})
) -> Iterator[str]:
    """
    Yield the endpoint of a running kinesis-local, for a fixture. A new stream is CREATING for *creating_s*.

    *environment* has further variables of it.

    It accepts 200 puts a second and serves a few MB/s of reads, so put little data into it. If it cannot run, the test is skipped with
    the reason, or fails with `REQUIRE_WITNESS=1`.
    """
    with ExitStack() as stack:
        try:
            endpoint_url = _start_kinesis_local(creating_s, environment, stack)
        except WitnessUnavailableError as error:
            require(error)
        yield endpoint_url


@contextmanager
def kinesalite() -> Iterator[str]:
    """Yield the endpoint of a running kinesalite. It may have more than its 10 shards; all else is as by default."""
    with ExitStack() as stack:
        try:
            folder, port = install(KINESALITE) / "kinesalite", free_port()
            command: list[Path | str] = [folder / "cli.js", "--port", str(port), "--shardLimit", "1000"]
            _start_node(command, folder, dict(os.environ), port, stack)
        except WitnessUnavailableError as error:
            require(error)
        yield f"http://127.0.0.1:{port}"


def _start_kinesis_local(creating_s: float, further: Mapping[str, str], stack: ExitStack) -> str:
    """Start it, and let *stack* end it. Return its endpoint."""
    script = install(KINESIS_LOCAL) / "kinesis-local" / "main.js"
    port, tls_port = free_port(), free_port()
    # Reshards take effect at once; no limit matters to a test.
    names = (
        *("DELETE_STREAM", "MERGE_SHARDS", "SPLIT_SHARD", "UPDATE_SHARD_COUNT"),
        "REGISTER_STREAM_CONSUMER",
    )
    environment = {
        **os.environ,
        **{f"{name}_DURATION": "1ms" for name in names},
        "CREATE_STREAM_DURATION": f"{creating_s * 1000:.0f}ms",
        "KINESIS_MOCK_PLAIN_PORT": str(port),
        "KINESIS_MOCK_TLS_PORT": str(tls_port),
        "SHARD_LIMIT": "100000",
        "LOG_LEVEL": "ERROR",
        **further,
    }
    _start_node([script], script.parent, environment, port, stack)  # it reads its certificate from its folder
    return f"http://127.0.0.1:{port}"


def _start_node(
    command: list[Path | str], folder: Path, environment: dict[str, str], port: int, stack: ExitStack
) -> None:
    """Start a server that is written for node, and wait until it listens on *port*. Let *stack* end it."""
    child = subprocess.Popen(
        ["node", "-r", _HERE / "loopback_only.js", *command],
        cwd=folder,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    stack.callback(child.communicate)
    stack.callback(child.kill)  # asked to end, it waits for its clients' connections
    wait_until(lambda: _listens(port) or child.poll() is not None)
    if child.returncode is not None:
        raise WitnessUnavailableError(f"{command[0]} ended with {child.returncode} before it listened.")


def install(package: str) -> Path:
    """Install a package from npm once per checkout, and return its folder of modules."""
    for tool in ("node", "npm"):
        if shutil.which(tool) is None:
            raise WitnessUnavailableError(f"{package} needs {tool}, which is not installed.")
    folder = CACHE / package
    if not folder.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as made:
            _npm_install(package, Path(made) / "installed", folder)
    return folder / "node_modules"


def require(error: WitnessUnavailableError) -> NoReturn:
    """Skip a test whose witness cannot run, with the reason. With `REQUIRE_WITNESS=1` fail it."""
    if os.environ.get("REQUIRE_WITNESS") == "1":
        pytest.fail(f"REQUIRE_WITNESS=1, but {error}")
    pytest.skip(str(error))


def _npm_install(package: str, made: Path, folder: Path) -> None:
    made.mkdir()
    command = ["npm", "install", "--no-save", "--no-package-lock", "--no-audit", "--no-fund", package]
    done = subprocess.run(
        [*command, "--prefix", made], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    if done.returncode:
        raise WitnessUnavailableError(f"npm could not install {package}: {done.stderr.strip()}")
    try:
        made.rename(folder)
    except OSError:
        if not folder.exists():  # otherwise another run was faster
            raise


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


Wsgi = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


def _one_at_a_time(application: Wsgi) -> Wsgi:
    """Return *application* behind a lock, because moto loses writes when two requests run at once."""
    lock = threading.Lock()

    def locked(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        with lock:
            return list(application(environ, start_response))

    return locked


@contextmanager
def moto(wrap: Callable[[Wsgi], Wsgi] = lambda application: application) -> Iterator[str]:
    """
    Yield the endpoint of a moto server on 127.0.0.1, in this process, with one request at a time.

    *wrap* may wrap the application.
    """
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # no line per request
    application = wrap(_one_at_a_time(DomainDispatcherApplication(create_backend_app)))
    server = make_server("127.0.0.1", 0, application, threaded=True)
    thread = threading.Thread(target=server.serve_forever, args=(_POLL_S,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
