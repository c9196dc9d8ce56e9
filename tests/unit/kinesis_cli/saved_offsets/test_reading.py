"""Where `kinesis offset show` finds offsets."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from kinesis_cli.ending import CommandError, UsageError
from kinesis_cli.saved_offsets import SavedOffsets, read_saved
from kinesis_core.model import After, Offset, ShardOffset, StreamOffset

HEAD = 'v1\n{"batchWatermarkMs":0}\n'


def offset(number: int, *streams: str) -> Offset:
    shards = {f"shardId-{i:012d}": ShardOffset(After(number + i)) for i in range(3)}
    return Offset({stream: StreamOffset(1, shards, 24) for stream in streams or ("orders",)})


def text_of(number: int) -> str:
    """Return the text of a packed offset."""
    return json.dumps(offset(number).to_json(max_shards=1))


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """The directory of a query whose batch 7 is committed, and 8 is planned. Its first source is none of ours."""
    for name, number in {"6": 60, "7": 70, "8": 80}.items():
        (tmp_path / "offsets").mkdir(exist_ok=True)
        (tmp_path / "offsets" / name).write_text(f'{HEAD}{{"orders":{{"0":5}}}}\n{text_of(number)}')
    (tmp_path / "commits").mkdir()
    for name in ("6", "7"):
        (tmp_path / "commits" / name).write_text("v1\n{}")
    return tmp_path


@pytest.mark.parametrize(
    ("batch", "number", "state"),
    [(None, 80, "8 (planned)"), (7, 70, "7 (committed)"), (6, 60, "6 (committed)")],
)
def test_a_checkpoint_directory(checkpoint: Path, batch: int | None, number: int, state: str) -> None:
    """The offset of the last planned batch is read, or that of the batch that is asked for."""
    assert read_saved(str(checkpoint), batch) == SavedOffsets(
        f"{checkpoint}, batch {state}", [offset(number)]
    )


def test_a_checkpoint_directory_between_batches(checkpoint: Path) -> None:
    """Without a planned batch, it is the committed one."""
    (checkpoint / "offsets" / "8").unlink()
    assert read_saved(str(checkpoint), None).where.endswith("batch 7 (committed)")


def test_several_sources(checkpoint: Path) -> None:
    """Each source of a query that reads Kinesis has an offset."""
    file = checkpoint / "offsets" / "8"
    file.write_text(f"{file.read_text()}\n{text_of(90)}")
    assert read_saved(str(checkpoint), None).offsets == [offset(80), offset(90)]


def test_texts(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An offset is also in a file of the offset log, in a file of JSON on several lines, in a text, and in the standard input."""
    file = checkpoint / "offset.json"
    file.write_text(json.dumps(offset(50).to_json(), indent=2))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text_of(40).encode())))
    sources = {str(checkpoint / "offsets" / "7"): 70, str(file): 50, "-": 40, f" {text_of(30)}": 30}
    for source, number in sources.items():
        assert read_saved(source, None).offsets == [offset(number)]
        if source != "-":
            with pytest.raises(UsageError, match="--batch names a batch of a checkpoint"):
                read_saved(source, 7)


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("{}/missing", "There is no folder .*missing"),
        ("{}/commits", "has no folder 'offsets', so it is not a checkpoint directory"),
        ('{{"orders": 5}}', "^The text has no offset of a Kinesis source"),
        ("{{", "^The text has no offset of a Kinesis source"),
        (
            '{{"version": 3, "streams": {{}}}}',
            r"^The text: The saved offset has version 3; this release reads versions 1 and 2",
        ),
        ('{{"version": 1, "streams": []}}', r"^The text: The saved offset is damaged"),
        ("{}/commits/7", "commits/7 has no offset of a Kinesis source"),
    ],
)
def test_no_offset(checkpoint: Path, source: str, what: str) -> None:
    """The error says what is there instead."""
    with pytest.raises(CommandError, match=what):
        read_saved(source.format(checkpoint), None)


def test_a_batch_that_is_gone(checkpoint: Path) -> None:
    """The error names the newest one."""
    with pytest.raises(CommandError, match=r"has no batch 5\. The newest one is 8"):
        read_saved(str(checkpoint), 5)


def test_a_choice() -> None:
    """One stream is chosen by its name, and shards by their ids or numbers. What has none of them is left out."""
    empty = StreamOffset(1)
    saved = SavedOffsets("cp", [Offset({**offset(1, "a", "b").streams, "c": empty}), offset(2, "d")])
    assert saved.only(None, ()) == saved
    assert saved.only("a", ()).offsets == [offset(1, "a")]
    assert saved.only("d", ()).offsets == [offset(2, "d")]
    shards = [
        {name: [*found.shards] for name, found in each.streams.items()}
        for each in saved.only(None, ("0", "shardId-000000000002")).offsets
    ]
    chosen = ["shardId-000000000000", "shardId-000000000002"]
    assert shards == [{"a": chosen, "b": chosen}, {"d": chosen}]
    with pytest.raises(UsageError, match=r"^cp has no stream e\. It has: a, b, c, d\.$"):
        saved.only("e", ())
    with pytest.raises(UsageError, match=r"^cp has no shard shardId-000000000009\.$"):
        saved.only("a", ("0", "9"))
