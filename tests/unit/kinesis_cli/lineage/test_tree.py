"""The tree of shards."""

from __future__ import annotations

from kinesis_cli.lineage.table import grow
from support.lineages import family, forget, name, new_stream


def drawn(shards: object) -> list[str]:
    """Return the lines of a tree with short names: `└ 6 (+1)`."""
    rows = grow(shards)  # type: ignore[arg-type]
    return [
        f"{row.branch}{int(row.shard.shard_id[8:])}"
        + "".join(f" (+{int(other[8:])})" for other in row.also_from)
        for row in rows
    ]


def test_three_generations() -> None:
    """Children stand below their parents. A merged shard stands below its first parent and names the other one."""
    assert drawn(family().list_shards()) == [
        "0",
        "└ 6 (+1)",
        "  └ 8 (+7)",
        "1",
        "2",
        "└ 7 (+3)",
        "3",
        "4",
        "5",
        "├ 9",
        "└ 10",
    ]


def test_lines_go_on_past_children() -> None:
    """A line connects the children of a shard past its grandchildren."""
    stream = new_stream(1)
    first, _ = stream.split(name(0))
    stream.split(first)
    assert drawn(stream.list_shards()) == ["0", "├ 1", "│ ├ 3", "│ └ 4", "└ 2"]


def test_a_parent_that_expired() -> None:
    """A shard whose first parent has expired stands below the other one, and one without listed parents is a root."""
    stream = family()
    forget(stream, 0, 5)
    assert drawn(stream.list_shards()) == [
        "1",
        "└ 6 (+0)",
        "  └ 8 (+7)",
        "2",
        "└ 7 (+3)",
        "3",
        "4",
        "9",
        "10",
    ]


def test_a_deep_tree() -> None:
    """A lineage of thousands of generations is no problem."""
    stream = new_stream(1)
    shard = name(0)
    for _ in range(2000):
        shard, _ = stream.split(shard)[::-1]
        stream.shards[shard].hash_end = 2**128 - 1
        stream.shards[shard].hash_start = 0
    assert len(grow(stream.list_shards())) == 4001
