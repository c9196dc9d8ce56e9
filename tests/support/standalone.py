"""A Spark cluster of processes on this machine: a master and two workers with an address each, like two hosts."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import pyspark

from .ports import free_port
from .waiting import wait_until

HOSTS = ("127.0.0.1", "127.0.0.2")
"""Spark runs no second attempt of a task on the host of the first attempt."""
SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"


def has_two_hosts() -> bool:
    """Return whether the second address exists, as on Linux."""
    try:
        socket.create_server((HOSTS[1], 0)).close()
    except OSError:
        return False
    return True


@contextmanager
def standalone(folder: Path, environment: Mapping[str, str] = os.environ) -> Iterator[str]:
    """Yield the URL of a master with two workers of one core each. They log into *folder*."""
    port = free_port()
    url = f"spark://{HOSTS[0]}:{port}"
    running = [_start(folder, environment, "master", "Master", "--host", HOSTS[0], "--port", str(port))]
    try:
        for host in HOSTS:
            worker = ("--host", host, "--cores", "1", "--memory", "1g", "--work-dir", str(folder / "work"))
            running.append(_start(folder, environment, host, "Worker", *worker, url))
        for host in HOSTS:
            _wait_until_registered(folder / host)
        yield url
    finally:
        for process in running:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _start(
    folder: Path, environment: Mapping[str, str], log: str, name: str, *arguments: str
) -> subprocess.Popen[bytes]:
    environment = {"PYSPARK_PYTHON": sys.executable, **environment, "SPARK_LOCAL_IP": HOSTS[0]}
    with (folder / log).open("wb") as output:
        return subprocess.Popen(
            [
                str(SPARK_CLASS),
                f"org.apache.spark.deploy.{name.lower()}.{name}",
                "--webui-port",
                "0",
                *arguments,
            ],
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _wait_until_registered(log: Path) -> None:
    wait_until(lambda: "Successfully registered with master" in log.read_text(), log.read_text)
