"""What a copy says when reading fails."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest
from attrs import define

from kinesis_cli.copying import CopyWriter, copy_parts
from kinesis_cli.copying.parts import CopyPart
from kinesis_cli.ending import IncompleteError
from kinesis_cli.output import ProgressLine
from kinesis_cli.stopping import Stopping
from kinesis_core import Batch, OptionError, Totals


@define
class Producer:
    """One that has written so many records when it is flushed first."""

    written: int
    stream: str = "teas"

    def flush(self) -> Totals:
        written, self.written = self.written, 0
        return Totals(user_records=written)

    def close(self) -> Totals:
        return Totals()


def parts() -> Iterator[CopyPart]:
    yield CopyPart(Batch({}, "orders", [], lambda _groups, _data, _page_bytes: iter(()), dict), 0)
    raise OptionError("The batch ends before it begins.")


@pytest.mark.parametrize(("written", "error"), [(0, OptionError), (3, IncompleteError)])
def test_a_wrong_span(written: int, error: type[Exception], capsys: pytest.CaptureFixture[str]) -> None:
    """An error of usage says that nothing was done. Once records are copied they are counted, and the copy is incomplete."""
    producer = cast(Any, Producer(written))
    with Stopping() as stopping, ProgressLine() as progress, pytest.raises(error, match="before it begins"):
        copy_parts(parts(), CopyWriter(producer, print), producer, progress, stopping)
    assert ("3 records copied to teas" in capsys.readouterr().err) == bool(written)
