"""A stop removes every registered consumer, because each costs money, whatever fails or interrupts it."""

from __future__ import annotations

from typing import Any

import pytest

from kinesis_core.aws import Consumer
from kinesis_core.reading import fan_out
from spark_kinesis_source.fan_out import QueryConsumers
from spark_kinesis_source.options import SourceOptions
from spark_kinesis_source.reader_42 import StreamReader42
from unit.spark_kinesis_source.test_reader_40 import OPTIONS


class Broken:
    """A part of a reader that fails when it is closed or removed."""

    def __init__(self, closed: list[str], name: str) -> None:
        self._closed, self._name = closed, name

    def close(self) -> None:
        self._closed.append(self._name)
        raise RuntimeError(self._name)

    remove = close


@pytest.mark.parametrize("part", ["_ahead", "_opened", "_publisher", "_wakers"])
def test_a_part_that_fails_keeps_no_consumer(part: str) -> None:
    closed: list[str] = []
    reader: Any = StreamReader42(SourceOptions.parse(OPTIONS), ("data",))
    for name in {part, "_consumers", "_wakers"}:
        setattr(reader, name, Broken(closed, name))
    with pytest.raises(RuntimeError):
        reader.stop()
    assert {"_consumers", "_wakers"} <= set(closed)


def test_a_signal_during_one_removal_keeps_no_other_consumer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark sends SIGTERM, which raises SystemExit wherever the process is."""
    removed: list[str] = []

    def interrupted(_api: object, consumer: Consumer) -> None:
        removed.append(consumer.name)
        raise SystemExit(0)

    monkeypatch.setattr(fan_out, "remove_consumer", interrupted)
    consumers: Any = QueryConsumers.__new__(QueryConsumers)
    consumers._deregister_on_stop, consumers._apis = True, {"orders": None, "returns": None}
    consumers._found = {name: Consumer(name, "arn", "ACTIVE") for name in consumers._apis}
    with pytest.raises(SystemExit):
        consumers.remove()
    assert sorted(removed) == ["orders", "returns"]
