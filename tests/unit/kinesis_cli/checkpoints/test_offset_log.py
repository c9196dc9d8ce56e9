"""Spark's logs: which batch is committed, and the offsets of its sources."""

from __future__ import annotations

import pytest

from kinesis_cli.checkpoints.offset_log import Batches, find_batches, read_offsets
from kinesis_cli.ending import CommandError


@pytest.mark.parametrize(
    ("offsets", "commits", "expected"),
    [
        ([], [], Batches(None, None)),
        (["0"], [], Batches(None, 0)),
        (["0"], ["0"], Batches(0, None)),
        (["8", "9", "10"], ["8", "9"], Batches(9, 10)),
        (["9", "10", ".10.crc", ".9.tmp", "x", "²"], ["10", ".10.crc"], Batches(10, None)),
        (["10", "11"], ["9", "10"], Batches(10, 11)),
    ],
)
def test_batches(offsets: list[str], commits: list[str], expected: Batches) -> None:
    """The last batch with a commit says where the query is. A later one is planned. Other files do not count."""
    assert find_batches(offsets, commits) == expected


@pytest.mark.parametrize(
    "text",
    [
        'v1\n{"conf":{}}\n-\n{"a":1}\n\n{"b":"x:-"}',
        'v2\n{"conf":{}}\nfirst:-\nsecond:{"a":1}\n\n3:{"b":"x:-"}\n',
    ],
)
def test_sources(text: str) -> None:
    """A source without an offset is left out, in both versions of the log. The others keep their index."""
    found = read_offsets(text, "offsets/3")
    assert found.metadata == '{"conf":{}}'
    assert found.sources == [(1, '{"a":1}'), (3, '{"b":"x:-"}')]


@pytest.mark.parametrize(
    ("text", "what"), [("v3\n{}\n-", "'v3'"), ("", "''"), ("v1", "cut off"), ("garbage", "'garbage'")]
)
def test_other_files(text: str, what: str) -> None:
    """A file that is not of the log is refused by name."""
    with pytest.raises(CommandError, match=f"^cp/offsets/3 .*{what}"):
        read_offsets(text, "cp/offsets/3")
