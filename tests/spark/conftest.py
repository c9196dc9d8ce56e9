"""One Spark session for all scenarios, and queries that clean up after themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession

from support.spark_harness import Query, start_session


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let py4j leave sockets to the garbage collector, as it does for each thread that calls Python back."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    session = start_session(tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()


@pytest.fixture
def make_query(spark: SparkSession, tmp_path: Path) -> Iterator[Callable[..., Query]]:
    """Return a function that makes queries; *name* tells the checkpoints of several apart."""
    made: list[Query] = []

    def make(options: dict[str, Any], name: str = "checkpoint", **more: Any) -> Query:
        made.append(Query(spark, tmp_path / name, options, **more))
        return made[-1]

    yield make
    for query in made:
        query.stop()
