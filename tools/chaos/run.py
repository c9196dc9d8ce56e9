"""One run: a cluster, a stream, a producer, and a script that breaks them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path

from support.paths import python_path
from support.processes import MARK, kill_marked
from support.standalone import standalone
from tools.chaos.driver import Driver
from tools.chaos.job import COPY, FILES, SOURCE
from tools.chaos.kinesis import Kinesis
from tools.chaos.outcome import Outcome
from tools.chaos.play import Play
from tools.chaos.producing import ACKNOWLEDGED
from tools.chaos.results import read_files, unpack
from tools.chaos.script import SHARDS, rounds
from tools.chaos.verdict import judge, judge_play

COPY_SHARDS = 2


def run(seed: int, count: int, folder: Path, say: Callable[[str], None]) -> Outcome:
    """Play *count* rounds of the script of *seed* in *folder*, and judge the results."""
    started = time.monotonic()
    with _started(folder, say) as play:
        for number, played in enumerate(islice(rounds(seed), count), start=1):
            play.round(played)
            say(f"round {number} of {count}, {play.describe()}")
        play.drain()
        return _outcome(play, seed, count, started)


@contextmanager
def _started(folder: Path, say: Callable[[str], None]) -> Iterator[Play]:
    """Yield the run once batches are finished. No process survives the block."""
    mark = uuid.uuid4().hex
    environment = _environment(mark, folder)
    with ExitStack() as stack:
        stack.callback(kill_marked, mark)
        kinesis = Kinesis(folder / "kinesis", environment)
        kinesis.start()
        stack.callback(kinesis.kill)
        kinesis.create(SOURCE, SHARDS)
        kinesis.create(COPY, COPY_SHARDS)
        master_url = stack.enter_context(standalone(folder, environment))
        driver = Driver(master_url, kinesis.endpoint_url, folder, environment)
        stack.callback(driver.kill)
        producer = _start_producer(kinesis, folder, environment)
        stack.callback(producer.kill)
        play = Play(folder, mark, kinesis, driver, producer, say)
        play.start()
        yield play


def _environment(mark: str, folder: Path) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {
        **inherited,
        MARK: mark,
        "PYTHONPATH": python_path(),
        # Hundreds of Python processes are started, so their imports are compiled once.
        "PYTHONPYCACHEPREFIX": str(folder / "pycache"),
        "PYSPARK_PYTHON": sys.executable,
        "AWS_EC2_METADATA_DISABLED": "true",
        # The master removes an application whose executors fail ten times.
        "SPARK_MASTER_OPTS": "-Dspark.deploy.maxExecutorRetries=-1",
    }


def _start_producer(
    kinesis: Kinesis, folder: Path, environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tools.chaos.producing", kinesis.endpoint_url, SOURCE, str(folder)]
    with (folder / "producer.log").open("wb") as log:
        return subprocess.Popen(command, env=environment, stderr=log, start_new_session=True)


def _outcome(play: Play, seed: int, count: int, started: float) -> Outcome:
    kinesis = play.kinesis
    stored = kinesis.read_all(SOURCE)
    acknowledged = (play.folder / ACKNOWLEDGED).read_bytes().splitlines()
    copied = unpack(kinesis.read_all(COPY))
    reshards = kinesis.count_reshards(SOURCE)
    problems = [
        *judge(acknowledged, stored, read_files(play.folder / FILES), copied),
        *judge_play(play.ends, reshards, played=play.reshards),
        *play.left_behind(),
    ]
    return Outcome(
        seed=seed,
        rounds=count,
        kills=play.kills,
        reshards=reshards,
        faults=kinesis.faults,
        restarts=len(play.ends),
        batches=play.progress().batches,
        records=len(stored),
        seconds=time.monotonic() - started,
        problems=tuple(problems),
    )
