"""The overview of a stream as text."""

from __future__ import annotations

import io

from rich.console import Console

from kinesis_cli.lineage import Overview, choose, draw, overview_json
from kinesis_cli.traffic import Sample
from kinesis_cli.traffic.samples import AT_LEAST
from kinesis_core.model import with_children
from support.fake_stream import FakeStream
from support.lineages import family, name, new_stream

HOT = Sample(970, 1940, 1024, 1000, AT_LEAST)


def overview(stream: FakeStream, **samples: Sample) -> Overview:
    shards = tuple(with_children(stream.list_shards()))
    by_name = {name(int(number[1:])): sample for number, sample in samples.items()}
    return Overview(stream.describe(), shards, 10_000, by_name)


def printed(seen: Overview, width: int, most: int | None = None) -> list[str]:
    console = Console(file=io.StringIO(), width=width)
    for part in draw(seen, choose(seen.shards, seen.samples, most)):
        console.print(part)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]


def test_lines() -> None:
    """Facts, sums, and a line for each shard: what was read at least, hot ones, and those that could not be sampled."""
    assert printed(overview(new_stream(2), s0=HOT), 120) == [
        "orders  ACTIVE, provisioned, retention 24 h, not encrypted",
        "arn:aws:kinesis:eu-west-1:000000000000:stream/orders",
        "2 open shards, 0 closed. In, over the last 10 s: at least 970 records/s (1,940 user records/s), 1.0 KiB/s.",
        "",
        "SHARD                 HASH KEYS                         STATE  RECORDS/S   BYTES/S      LOAD",
        "shardId-000000000000  ████████████████················  open        ≥970  ≥1.0 KiB  hot ≥97%",
        "shardId-000000000001  ················████████████████  open           ?         ?         ?",
    ]


def test_a_narrow_terminal() -> None:
    """A narrow terminal has shorter bars and all figures, each on one line."""
    lines = [line for line in printed(overview(family(), s4=HOT), 80) if "shardId" in line]
    assert all(len(line) <= 80 for line in lines)
    assert len(lines) == 11
    assert any("hot ≥97%" in line for line in lines)
    assert any(line.startswith("  └ shardId-000000000008 + 7  ") for line in lines)


def test_what_is_left_out() -> None:
    """The last line says how many shards are not shown, and the option that shows them."""
    assert printed(overview(family(), s9=HOT), 100, 1)[-1] == (
        "9 more shards are not shown (3 open, 6 closed). --all shows them."
    )


def test_json_has_all() -> None:
    """JSON has all shards, with hash keys as text, parents, children and rates."""
    shown = overview_json(overview(family(), s9=HOT))
    assert (shown["openShards"], shown["closedShards"], shown["mode"]) == (4, 7, "PROVISIONED")
    assert [shard["shardId"] for shard in shown["shards"]] == [name(number) for number in range(11)]
    assert shown["shards"][5]["children"] == [name(9), name(10)]
    assert shown["shards"][8]["parents"] == [name(6), name(7)]
    assert shown["shards"][10]["endingHashKey"] == str(2**128 - 1)
    assert shown["shards"][10]["in"] is None
    assert shown["shards"][9]["in"]["isHot"] is True
