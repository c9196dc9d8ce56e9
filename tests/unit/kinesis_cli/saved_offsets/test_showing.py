"""What `kinesis offset show` prints."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from kinesis_cli.saved_offsets import SavedOffsets, show_saved
from kinesis_core.model import Offset

GOLDEN = Path(__file__).parents[3] / "golden" / "offsets"
TEXT = """\
a: arn:aws:kinesis:eu-west-1:000000000000:stream/returns, 0 shards, created 2026-05-28 20:26:40.001 UTC
shard  position  arrived  empty until  first

a: orders, 7 shards, created 2026-05-28 20:26:40 UTC
shard                 position                              arrived                      empty until  first
shardId-000000000000  SHARD_END                             -                            -            -
shardId-000000000001  SHARD_END                             -                            -            …000000000010
shardId-000000000002  AFTER …000000000022                   2026-09-21 14:13:32.345 UTC  -            …000000000020
shardId-000000000003  AFTER …000000000031                   -                            -            -
shardId-000000000004  AT …000000000041                      2026-09-21 14:13:32.377 UTC  -            …000000000040
shardId-000000000005  AT_TIMESTAMP 2026-09-21 14:13:20 UTC  -                            -            -
shardId-000000000006  TRIM_HORIZON                          -                            -            -
"""


def saved(*names: str) -> SavedOffsets:
    texts = [(GOLDEN / f"{name}.json").read_text() for name in names]
    return SavedOffsets("a", [Offset.from_json(json.loads(text)) for text in texts])


@pytest.mark.parametrize("name", ["v1", "v2"])
def test_tables(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each stream has a line and a table. Packed shards look like others."""
    show_saved(saved(name), as_json=False)
    assert capsys.readouterr().out == TEXT


def test_retention_and_skips(capsys: pytest.CaptureFixture[str]) -> None:
    """The retention, times at which a shard was empty, and user records that are left out are shown where there are any."""
    show_saved(saved("v2-retention", "v2-half-read"), as_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "a: orders, 4 shards, created 2026-05-28 20:26:40 UTC, retention 24 h"
    empty, half_read, carried = (re.split("  +", lines[index])[1:] for index in (3, 9, 10))
    assert empty == ["AFTER …000000000031", "-", "2026-09-21 14:14:14.321 UTC", "-"]
    assert half_read == ["AT …000000000040 (skip 3)", "2026-09-21 14:13:32.377 UTC", "-", "-"]
    assert carried[-1] == "…000000000050 (skip 2)"
