"""A machine from which jobs go to YARN. It runs what the page Deploy shows."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from attrs import define

from docs.blocks import Block, blocks
from support import python_starts
from support.paths import TESTS
from support.processes import MARK
from support.waiting import wait_until
from yarn.cluster import JARS, Cluster

PAGE = blocks(TESTS.parent / "docs" / "howto" / "deploy.md")
SMALL_JVM = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
DEFAULTS = {
    "spark.yarn.jars": f"local:{JARS}/*",  # or each start copies 400 MB to HDFS
    "spark.executor.instances": "1",
    "spark.driver.memory": "512m",
    "spark.executor.memory": "512m",
    "spark.driver.extraJavaOptions": SMALL_JVM,
    "spark.executor.extraJavaOptions": SMALL_JVM,
    "spark.yarn.am.extraJavaOptions": SMALL_JVM,
    "spark.ui.enabled": "false",
}


def _the_block(section: str, words: str) -> Block:
    [found] = [
        block for block in PAGE if block.section == section and words in f"{block.title}\n{block.text}"
    ]
    return found


PACK = _the_block("A packed environment", "venv-pack --quiet")
JOB = _the_block("A packed environment", "copy_orders.py\nimport")
COMMANDS = {mode: _the_block("YARN", f"--deploy-mode {mode}") for mode in ("cluster", "client")}


@define
class Submission:
    """A command of the page that runs, and all that it has started on the gateway."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def is_over(self) -> bool:
        return self.process.poll() is not None

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


Disturb = Callable[[Submission], None]
"""What a test does to a command that runs."""


@define
class Gateway:
    """A terminal in *folder* with the settings of *cluster*. The environment of the Python *python* is active."""

    folder: Path
    cluster: Cluster
    python: Path
    variables: Mapping[str, str]

    def __attrs_post_init__(self) -> None:
        (self.folder / "spark-conf").mkdir(parents=True)
        defaults = "".join(f"{name} {value}\n" for name, value in DEFAULTS.items())
        (self.folder / "spark-conf" / "spark-defaults.conf").write_text(defaults)
        (self.folder / JOB.title).write_text(JOB.text)
        packed = subprocess.run(
            self._bash(PACK),
            env=self._environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert packed.returncode == 0, packed.stdout + packed.stderr

    @property
    def _environment(self) -> dict[str, str]:
        usual = {name: os.environ[name] for name in ("HOME", "JAVA_HOME") if name in os.environ}
        [spark] = self.python.parents[1].glob("lib/python*/site-packages/pyspark")
        return {
            **usual,
            **self.variables,
            "SPARK_HOME": str(spark),
            MARK: self.cluster.mark,
            "PATH": f"{self.python.parent}{os.pathsep}{os.environ['PATH']}",
            "VIRTUAL_ENV": str(self.python.parents[1]),
            "HADOOP_CONF_DIR": str(self.cluster.settings),
            "SPARK_CONF_DIR": str(self.folder / "spark-conf"),
        }

    def _bash(self, block: Block) -> list[str]:
        return ["bash", "-e", "-c", block.text]

    def submit(self, mode: str) -> Submission:
        """Start the job in that deploy mode."""
        log = self.folder / "submitted.log"
        with log.open("ab") as output:
            process = subprocess.Popen(
                self._bash(COMMANDS[mode]),
                env=self._environment,
                cwd=self.folder,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return Submission(process, log)

    def run(self, mode: str, disturb: Disturb = lambda _: None) -> int:
        """
        Run the job in that deploy mode, and return the status of the command: 0, or negative if a signal has ended it.

        *disturb* may kill parts of it, once the job has started. If Spark was impatient with its Python, the job starts again.
        """
        starts = 0
        while True:
            starts += 1
            submission = self.submit(mode)
            try:
                disturb(submission)
                wait_until(lambda: submission.is_over, self.printed)  # noqa: B023 # called within the loop
            finally:
                submission.kill()
            status = submission.process.returncode
            if status <= 0:
                return status
            assert python_starts.is_to_start_again(self.printed(), starts), self.printed()

    def printed(self) -> str:
        """Return what the commands and all containers have printed until now."""
        return (self.folder / "submitted.log").read_text(errors="replace") + self.cluster.printed()
