"""HDFS and YARN on this machine: one process, whose containers are other processes."""

from __future__ import annotations

import getpass
import json
import os
import shutil
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyspark
from attrs import frozen

from support.java_programs import hadoop
from support.kcl.java_process import SMALL, start_java
from support.processes import MARK, Process, kill_marked, marked, python_workers
from support.waiting import wait_until

JARS = Path(pyspark.__file__).parent / "jars"
FLAGS = (*SMALL, "--add-opens=java.base/java.lang=ALL-UNNAMED")


@frozen
class Cluster:
    """A running cluster. All that its containers and its gateway start has *mark* in its environment."""

    folder: Path
    mark: str
    files_url: str

    @property
    def settings(self) -> Path:
        """The folder of Hadoop's settings for a gateway."""
        return self.folder / "conf"

    def executors(self) -> list[Process]:
        """Return the JVMs that run tasks."""
        return self._jvms("CoarseGrainedExecutorBackend")

    def masters(self) -> list[Process]:
        """Return the JVMs of application masters: with the driver, or for a driver on the gateway."""
        return self._jvms("yarn.ApplicationMaster", "yarn.ExecutorLauncher")

    def _jvms(self, *classes: str) -> list[Process]:
        """Return the processes that run a class, without the shells that have started them."""
        return [
            process
            for process in marked(self.mark)
            if process.command.partition(" ")[0].endswith("java")
            and any(name in process.command for name in classes)
        ]

    def has_workers(self) -> bool:
        """Return whether a task runs in Python."""
        return bool(python_workers(marked(self.mark)))

    def kill(self, victims: Sequence[Process], and_end: Sequence[Process] = ()) -> None:
        """Kill -9 JVMs of containers. Wait until they have ended, and those that YARN ends thereupon."""
        for victim in victims:
            victim.kill()
        self.wait_for_end([*victims, *and_end])

    def wait_for_end(self, processes: Iterable[Process]) -> None:
        """Wait until they have ended."""
        ending = {process.pid for process in processes}
        wait_until(lambda: not ending & {process.pid for process in marked(self.mark)}, self.printed)

    def printed(self) -> str:
        """Return what all containers have printed until now."""
        logs = sorted((self.folder / "logs").glob("*/*/std*"))
        return "\n".join(f"--- {path}\n{path.read_text(errors='replace')}" for path in logs)

    def list(self, folder: str) -> set[str]:
        """Return the names in a folder of the user's home on HDFS. There are none if the folder is missing."""
        try:
            statuses = self._ask("GET", folder, "LISTSTATUS")["FileStatuses"]["FileStatus"]
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise
            return set()
        return {each["pathSuffix"] for each in statuses}

    def delete(self, folder: str) -> None:
        """Delete a folder of the user's home on HDFS, if it is there."""
        self._ask("DELETE", folder, "DELETE", "&recursive=true")

    def _ask(self, method: str, path: str, operation: str, more: str = "") -> Any:
        user = getpass.getuser()
        url = f"{self.files_url}/webhdfs/v1/user/{user}/{path}?op={operation}&user.name={user}{more}"
        without_proxies = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with without_proxies.open(urllib.request.Request(url, method=method)) as response:  # noqa: S310 # it is HTTP
            return json.load(response)


@contextmanager
def cluster(folder: Path, variables: Mapping[str, str]) -> Iterator[Cluster]:
    """
    Yield a cluster with *variables* in the environment of each container. All its files are in *folder*.

    Raises:
        WitnessUnavailableError: It cannot be installed here.
    """
    [runtime] = JARS.glob("hadoop-client-runtime-*.jar")
    installed = hadoop(runtime.stem.rpartition("-")[2]).install()
    java = Path(shutil.which("java") or "java").resolve().parents[1]
    mark = uuid4().hex
    variables = {MARK: mark, "JAVA_HOME": os.environ.get("JAVA_HOME", str(java)), **variables}
    process = start_java(
        installed,
        "LocalHadoop",
        (str(folder), ",".join(variables)),
        folder / "hadoop.log",
        flags=FLAGS,
        environment={**os.environ, **variables},
    )
    try:
        yield Cluster(folder, mark, process.wait_for("started")["files"])
    finally:
        process.kill()  # first, so that it starts no more containers
        kill_marked(mark)
