"""The recipe for dlt: each run continues where the last one that was loaded ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dlt
import pytest
from dlt.pipeline.exceptions import PipelineStepFailed

from engines.recipes import recipe
from kinesis_core import Stream
from kinesis_emulator import Emulator
from support.streams import connection_to

pytestmark = pytest.mark.engines
Pipeline = Callable[[], Any]


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    with Emulator() as running:
        running.create_stream("orders", 2)
        yield running


@pytest.fixture
def kinesis(tmp_path: Path) -> Any:
    return recipe("kinesis_dlt", tmp_path).kinesis


@pytest.fixture
def pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    """Return a function that opens the same pipeline again, as another process would."""
    monkeypatch.setenv("RUNTIME__DLTHUB_TELEMETRY", "false")
    monkeypatch.chdir(tmp_path)
    state, database = str(tmp_path / "state"), str(tmp_path / "loaded.duckdb")
    return lambda: dlt.pipeline(
        "orders", destination=dlt.destinations.duckdb(database), dataset_name="raw", pipelines_dir=state
    )


def put(emulator: Emulator, *data: str) -> None:
    for each in data:
        emulator.put("orders", each, partition_key=each)


def opened(emulator: Emulator) -> Stream:
    return Stream.open("orders", **connection_to(emulator.endpoint_url))


def loaded(pipeline: Pipeline) -> list[str]:
    with pipeline().sql_client() as client:
        return sorted(bytes(data).decode() for (data,) in client.execute_sql("SELECT data FROM orders"))


def test_each_run_loads_what_is_new(emulator: Emulator, kinesis: Any, pipeline: Pipeline) -> None:
    """A run loads the records since the last run, once each, and a run without new records loads none."""
    put(emulator, "a", "b", "c")
    pipeline().run(kinesis(opened(emulator)), table_name="orders")
    assert loaded(pipeline) == ["a", "b", "c"]
    pipeline().run(kinesis(opened(emulator)), table_name="orders")
    assert loaded(pipeline) == ["a", "b", "c"]
    put(emulator, "d", "e")
    pipeline().run(kinesis(opened(emulator)), table_name="orders")
    assert loaded(pipeline) == ["a", "b", "c", "d", "e"]


def test_a_run_that_fails_while_it_reads_loads_nothing(
    emulator: Emulator, kinesis: Any, pipeline: Pipeline
) -> None:
    """After a failure in the middle of the records, the next run has all of them, once each."""
    put(emulator, "a", "b")

    def fail(_: Any) -> Any:
        raise RuntimeError("out of tea")

    with pytest.raises(PipelineStepFailed, match="out of tea"):
        pipeline().run(kinesis(opened(emulator)).add_map(fail), table_name="orders")
    pipeline().run(kinesis(opened(emulator)), table_name="orders")
    assert loaded(pipeline) == ["a", "b"]


def test_a_run_that_stops_before_it_loads_is_loaded_by_the_next(
    emulator: Emulator, kinesis: Any, pipeline: Pipeline
) -> None:
    """What was read and not loaded is in the pipeline's folder, together with its offset: no record is there twice or missing."""
    put(emulator, "a", "b")
    pipeline().extract(kinesis(opened(emulator)), table_name="orders")
    put(emulator, "c")
    pipeline().run(kinesis(opened(emulator)), table_name="orders")
    pipeline().run(kinesis(opened(emulator)), table_name="orders")
    assert loaded(pipeline) == ["a", "b", "c"]
