"""What is started again because Spark did not wait for a Python process, and what is not."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.query import StreamingQuery

from support.processes import MARK, marked
from support.python_starts import IMPATIENCE, STARTS, PatientQuery, run
from support.waiting import wait_until

IMPATIENT = f"org.apache.spark.SparkException: {IMPATIENCE}."


def failing(*errors: str) -> Callable[[], Any]:
    """Return what starts queries, of which the first ones fail with *errors*. A query is what its user gets here."""
    left = iter(errors)

    def query() -> str:
        error = next(left, None)
        if error is not None:
            raise StreamingQueryException(error)
        return "rows"

    return lambda: query


def use(query: StreamingQuery) -> object:
    return query()  # type: ignore[operator]


def test_a_query_is_started_again() -> None:
    """A query whose Python process was too slow is started again, with a warning each time."""
    query = PatientQuery(failing(IMPATIENT, IMPATIENT))
    with pytest.warns(match="Spark did not wait for a Python process") as warned:
        assert query.do(use) == "rows"
    assert (query.starts, len(warned)) == (3, 2)


def test_other_errors_stay() -> None:
    """A query that failed otherwise is not started again."""
    query = PatientQuery(failing("DataLossError"))
    with pytest.raises(StreamingQueryException, match="DataLossError"):
        query.do(use)
    assert query.starts == 1


@pytest.mark.filterwarnings("ignore:Spark did not wait")
def test_not_for_ever() -> None:
    """A query that never gets its Python process has that error in the end."""
    query = PatientQuery(failing(*[IMPATIENT] * STARTS))
    with pytest.raises(StreamingQueryException, match=IMPATIENCE):
        query.do(use)
    assert query.starts == STARTS


@pytest.mark.parametrize(("error", "runs"), [(IMPATIENT, 2), ("DataLossError", 1)])
@pytest.mark.filterwarnings("ignore:Spark did not wait")
def test_a_program_is_run_again(error: str, runs: int, tmp_path: Path) -> None:
    """A program is run again after that error only."""
    program = (
        f"import os; os.mkdir('run') if os.path.exists('first') else os.mkdir('first') or exit({error!r})"
    )
    ran = run([sys.executable, "-c", program], cwd=tmp_path)
    assert len(list(tmp_path.iterdir())) == runs
    assert ran.returncode == (0 if runs == 2 else 1)


def test_a_program_that_hangs_leaves_nothing() -> None:
    """A program that takes too long is killed with all that it has started, even what holds its output open."""
    mark = uuid4().hex
    waits = "import time; time.sleep(10_000)"
    program = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', '{waits}']); {waits}"
    with pytest.raises(subprocess.TimeoutExpired):
        run([sys.executable, "-c", program], timeout_s=2, env={**os.environ, MARK: mark})
    wait_until(lambda: not marked(mark))
