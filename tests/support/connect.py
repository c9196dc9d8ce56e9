"""A Spark Connect server with our packages, and clients that have only Spark's client, each in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyspark
from attrs import frozen

from . import python_starts
from .ports import free_port
from .waiting import wait_until

HOST = "127.0.0.1"
CLIENT = Path(__file__).parents[1] / "connect" / "connect_client.py"
SPARK_SUBMIT = Path(pyspark.__file__).parent / "bin" / "spark-submit"
SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
CONFIG = {
    "spark.connect.grpc.binding.address": HOST,
    "spark.driver.host": HOST,
    "spark.driver.bindAddress": HOST,
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
}


@frozen
class Server:
    """A running server; *python* is that of its clients."""

    url: str
    python: str
    folder: Path

    def run(self, command: str, **arguments: Any) -> Any:
        """Run a command of `connect_client` in a new client, without Java on its PATH, and return its result."""
        ran = python_starts.run(
            [self.python, "-I", "-W", "ignore", str(CLIENT), command, json.dumps(arguments)],
            env={"PATH": str(Path(self.python).parent), "CONNECT_URL": self.url},
            cwd=self.folder,
            capture_output=True,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return json.loads(ran.stdout.splitlines()[-1])

    @property
    def log(self) -> str:
        return (self.folder / "server.log").read_text()


@contextmanager
def connect_server(folder: Path, client_python: str) -> Iterator[Server]:
    """Yield a server that listens on this machine only. It logs into *folder*."""
    port = free_port()
    config = {**CONFIG, "spark.connect.grpc.binding.port": str(port)}
    settings = [part for key, value in config.items() for part in ("--conf", f"{key}={value}")]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    environment |= {
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": HOST,
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [str(SPARK_SUBMIT), "--master", "local[2]", *settings, "--class", SERVER],
            env=environment,
            cwd=folder,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    server = Server(f"sc://{HOST}:{port}", client_python, folder)
    try:
        wait_until(
            lambda: "Spark Connect server started" in server.log or process.poll() is not None,
            lambda: server.log,
        )
        assert process.poll() is None, server.log
        yield server
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
