"""Any offset as `kinesis offset show` prints it."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout

from hypothesis import given

from kinesis_cli.saved_offsets import SavedOffsets, show_saved
from kinesis_core.model import Offset
from property.test_offset_texts import offsets


def printed(offset: Offset, *, as_json: bool) -> str:
    with redirect_stdout(io.StringIO()) as out:
        show_saved(SavedOffsets("a", [offset]), as_json=as_json)
    return out.getvalue()


@given(offsets)
def test_json_has_all_of_an_offset(offset: Offset) -> None:
    """It is one line of the form of version 1, and the same offset."""
    line, end = printed(offset, as_json=True).split("\n")
    assert end == ""
    assert json.loads(line)["version"] == 1
    assert Offset.from_json(json.loads(line)) == offset


@given(offsets)
def test_tables_have_each_shard(offset: Offset) -> None:
    """There are two lines for each stream, and one for each shard."""
    lines = printed(offset, as_json=False).count("\n")
    assert lines >= sum(2 + len(stream.shards) for stream in offset.streams.values())
