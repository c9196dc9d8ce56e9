"""How the results of a run are read."""

from __future__ import annotations

from support.aggregates import aggregate
from tools.chaos.results import unpack
from tools.chaos.verdict import Stored


def test_unpack() -> None:
    """The data of a stream is that of its user records, in aggregates or alone."""
    packed = aggregate([("a", None, b"a 1"), ("b", None, b"\xff 1")])
    assert unpack([Stored("shard-0", 1, "a", packed), Stored("shard-0", 2, "a", b"a 2")]) == [
        b"a 1",
        b"\xff 1",
        b"a 2",
    ]
