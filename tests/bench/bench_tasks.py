"""The cost of a Spark task: ours compared with an empty source in Python, for 64 tasks with one record each."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator

from pyspark.sql import DataFrame, SparkSession

from kinesis_emulator import Emulator, Limits, Settings
from tests.bench.empty_source import EmptySource
from tests.bench.harness import Row, show
from tests.bench.sessions import PRODUCTION, spark_session
from tests.support.streams import StreamUnderTest

TASKS = 64
TURNS = 5
WARM_UP = 2
WAYS = {"TCP": {}, "Unix sockets": {"spark.python.unix.domain.socket.enabled": "true"}}
"""How Spark communicates with its Python workers. Unix sockets are an option from Spark 4.1 on."""
Load = Callable[[SparkSession], DataFrame]


def run() -> list[Row]:
    with Emulator(settings=Settings(limits=Limits.unlimited())) as emulator:
        stream = StreamUnderTest(emulator.endpoint_url, shards=TASKS)
        for index, shard in enumerate(stream.open_shards()):
            hash_key = int(shard["HashKeyRange"]["StartingHashKey"])
            emulator.put(stream.name, f"record {index}", explicit_hash_key=hash_key)
        return [row for way in WAYS for row in _compare(stream, way)]


def _compare(stream: StreamUnderTest, way: str) -> Iterator[Row]:
    empty_s = _time(_load_empty, WAYS[way])
    for freeze in (True, False):
        ours_s = _time(_loader(stream, freeze), WAYS[way])
        case = f"{way}, heap {'frozen' if freeze else 'not frozen'}"
        yield Row.of(
            "Spark task, against one without a record", case, "tasks/s", [(TASKS / ours_s, TASKS / empty_s)]
        )


def _load_empty(spark: SparkSession) -> DataFrame:
    return spark.read.format("empty").option("tasks", TASKS).load()


def _loader(stream: StreamUnderTest, freeze: bool) -> Load:
    options = stream.options(shardsPerTask="1", freezeWorkerHeap=str(freeze).lower())
    return lambda spark: spark.read.format("kinesis").options(**options).load()


def _time(load: Load, config: dict[str, str]) -> float:
    """
    Return the median duration in seconds of all tasks of one stage, in a new session.

    All queries of a session share its workers, and a frozen heap stays frozen.
    """
    with spark_session(EmptySource, config={**PRODUCTION, **config}) as (spark, _):
        frame = load(spark)
        return statistics.median([_run_tasks(frame) for _ in range(WARM_UP + TURNS)][WARM_UP:])


def _run_tasks(frame: DataFrame) -> float:
    """Return the duration of the tasks in seconds. The frame keeps its plan, so only the first run calls Kinesis for it."""
    tasks = frame._jdf.queryExecution().toRdd()
    started_s = time.monotonic()
    assert tasks.count() == TASKS
    return time.monotonic() - started_s


if __name__ == "__main__":
    show(run())
