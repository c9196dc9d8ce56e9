"""Producers that others wrote: every record that they put into the emulator is in its stream once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kinesis_core import Stream, UserRecord
from kinesis_emulator import Emulator
from support.java_programs import KPL
from support.kcl.event_process import EventProcess
from support.kcl.java_process import start_java
from support.streams import REGION, StreamUnderTest, connection_to
from support.witness import WitnessUnavailableError, require
from support.witnesses.claims import check_claim
from support.witnesses.environment import start_program

pytestmark = pytest.mark.witness
SENT = [str(number) for number in range(900)]


@contextmanager
def started(program: str, stream: StreamUnderTest, log: Path) -> Iterator[EventProcess]:
    arguments = {"stream": stream.name, "region": REGION}
    try:
        process = start_program(program, log, arguments, {"kinesis": stream.endpoint_url})
    except WitnessUnavailableError as error:
        require(error)
    with process:
        yield process


def put(producer: EventProcess, first: int, stop: int) -> None:
    """Let it put the numbers from *first* to before *stop*, and wait until it has done so."""
    done = len(producer.events("put"))
    producer.tell(str(first), str(stop))
    producer.wait_until(lambda: len(producer.events("put")) > done)


def stored(stream: StreamUnderTest) -> list[UserRecord]:
    with Stream.open(stream.name, **connection_to(stream.endpoint_url)) as reading:
        return list(reading.read("TRIM_HORIZON").records())


def data(records: list[UserRecord]) -> list[str]:
    return [record.data.decode() for record in records]


def test_async_kinesis(stream: StreamUnderTest, tmp_path: Path) -> None:
    """A producer of async-kinesis puts 900 records over a split and a merge."""
    with started("async_kinesis_put.py", stream, tmp_path / "log") as producer:
        put(producer, 0, 300)
        stream.split()
        put(producer, 300, 600)
        stream.merge(1)
        put(producer, 600, 900)
    check_claim("async-kinesis", "writes over a split and a merge", SENT, data(stored(stream)))


def test_aiokpl(stream: StreamUnderTest, tmp_path: Path) -> None:
    """
    Producers of aiokpl put 900 user records in aggregates, and read the shards anew after a split and after a merge.

    One that runs meanwhile does not: aiokpl 0.2.0 asks for the shards again only if it knows the shard that a record went to.
    """
    reshards: list[Callable[[], None]] = [lambda: None, stream.split, lambda: stream.merge(1)]
    for index, reshard in enumerate(reshards):
        reshard()
        with started("aiokpl_put.py", stream, tmp_path / f"log-{index}") as producer:
            put(producer, index * 300, index * 300 + 300)
            [results] = producer.events("results")
            assert (results["succeeded"], results["attempts"]) == (300, 300)
    records = stored(stream)
    check_claim("aiokpl", "writes; a new producer after a split, and after a merge", SENT, data(records))
    assert len({record.sequence_number for record in records}) < 300


def test_kpl_over_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The KPL trusts the emulator's certificate, and puts 900 user records in aggregates over a split and a merge.

    After a reshard an aggregate is in a shard that the KPL does not know yet, so it puts its user records again. It promises that
    each of them is there at least once, and the stream has exactly as many as it says that it has put.
    """
    with Emulator(tls=True) as emulator:
        monkeypatch.setenv("AWS_CA_BUNDLE", str(emulator.certificate))
        stream = StreamUnderTest(emulator.endpoint_url, shards=2)
        arguments = {
            "kinesis": emulator.endpoint_url,
            "authority": emulator.certificate,
            "folder": tmp_path,
            "region": REGION,
            "stream": stream.name,
        }
        given = [f"{name}={value}" for name, value in arguments.items()]
        try:
            installed = KPL.install()
        except WitnessUnavailableError as error:
            require(error)
        with start_java(installed, "KplPut", given, tmp_path / "log") as producer:
            put(producer, 0, 300)
            stream.split()
            put(producer, 300, 600)
            stream.merge(1)
            put(producer, 600, 900)
            results = producer.events("results")
        records = stored(stream)
        assert [event["succeeded"] for event in results] == [300] * 3
        assert sum(event["attempts"] for event in results) == len(records)
        check_claim("KPL", "writes over TLS, over a split and a merge", SENT, data(records))
        repeated = {number for number, count in Counter(data(records)).items() if count > 1}
        assert not repeated & set(SENT[:300])  # nothing from before the split
        assert len({record.sequence_number for record in records}) < len(records) / 2
