"""The file that keeps the position of a copy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kinesis_cli.copying import StateFile
from kinesis_cli.ending import CommandError
from kinesis_core.model import Offset, StreamSummary

CREATED_MS = 1_700_000_000_000
OFFSET = {"version": 1, "streams": {"orders": {"created": CREATED_MS, "shards": {}}}}
SHARDS = {"shardId-0": {"AFTER": "5"}, "shardId-1": {"AFTER": "6"}}
PACKED = Offset.from_json(
    {"version": 1, "streams": {"orders": {"created": CREATED_MS, "shards": SHARDS}}}
).to_json(max_shards=1)
"""The offset of a stream of thousands of shards, but with two."""


def stream(arn: str, created_ms: int = CREATED_MS) -> StreamSummary:
    return StreamSummary("orders", arn, "ACTIVE", created_ms, 24)


A, B, C = map(stream, "abc")


@pytest.mark.parametrize("offset", [OFFSET, PACKED], ids=["plain", "packed"])
def test_round_trip(tmp_path: Path, offset: dict[str, Any]) -> None:
    """What is saved is read again. Without a file there is nothing."""
    file = StateFile(tmp_path / "state", A, B)
    assert file.read() is None
    file.save(OFFSET, 5)
    file.save(offset, 7)
    state = file.read()
    assert state is not None
    assert (state.offset, state.reached_ms) == (offset, 7)
    assert [path.name for path in tmp_path.iterdir()] == ["state"]


def test_another_copy(tmp_path: Path) -> None:
    """The file of another source or destination is refused."""
    StateFile(tmp_path / "state", A, B).save(OFFSET, 5)
    for source, destination in ((A, C), (C, B)):
        with pytest.raises(CommandError, match="belongs to a copy from a to b"):
            StateFile(tmp_path / "state", source, destination).read()


def test_recreated_streams(tmp_path: Path) -> None:
    """A stream that was deleted and created again has not what was copied before, or has other records."""
    StateFile(tmp_path / "state", A, B).save(OFFSET, 5)
    for source, destination in ((stream("a", 7), B), (A, stream("b", 7))):
        with pytest.raises(
            CommandError, match=r"orders was deleted and created again since .*state was written"
        ):
            StateFile(tmp_path / "state", source, destination).read()


def test_a_state_of_an_older_release(tmp_path: Path) -> None:
    """It does not say when the destination was created."""
    path = tmp_path / "state"
    StateFile(path, A, B).save(OFFSET, 5)
    path.write_bytes(path.read_bytes().replace(b'"destinationCreatedMs":%d,' % CREATED_MS, b""))
    assert b"CreatedMs" not in path.read_bytes()
    assert StateFile(path, A, stream("b", 7)).read() is not None


def test_a_symbolic_link(tmp_path: Path) -> None:
    """The file is where the link leads."""
    (tmp_path / "link").symlink_to(tmp_path / "state")
    StateFile(tmp_path / "link", A, B).save(OFFSET, 5)
    assert (tmp_path / "link").is_symlink()
    assert StateFile(tmp_path / "state", A, B).read() is not None


@pytest.mark.parametrize(
    "offset", [{}, {"version": 1, "streams": {}}, {"version": 1, "streams": {"orders": {}}}]
)
def test_a_damaged_offset(tmp_path: Path, offset: dict[str, Any]) -> None:
    """The error names the file."""
    StateFile(tmp_path / "state", A, B).save(offset, 5)
    with pytest.raises(CommandError, match="state is not a state of a copy"):
        StateFile(tmp_path / "state", A, B).read()


@pytest.mark.parametrize("text", [b"", b"{}", b"\xff", b'{"version": 1'])
def test_damaged(tmp_path: Path, text: bytes) -> None:
    """A file that is no state is refused, and not replaced."""
    path = tmp_path / "state"
    path.write_bytes(text)
    with pytest.raises(CommandError, match="is not a state of a copy"):
        StateFile(path, A, B).read()
    assert path.read_bytes() == text


@pytest.mark.parametrize("path", ["/dev/zero", "{}", "{}/missing/state"])
def test_no_file(tmp_path: Path, path: str) -> None:
    """What cannot be written later is refused before anything is copied. A device, which has no end, is not read."""
    state = Path(path.format(tmp_path))
    with pytest.raises(CommandError, match=f"^{state} cannot be written: name a file"):
        StateFile(state, A, B).read()


def test_a_huge_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dump that is given by mistake is large. It is not read whole."""
    monkeypatch.setattr("kinesis_cli.copying.state._MAX_BYTES", 10)
    StateFile(tmp_path / "state", A, B).save(OFFSET, 5)
    with pytest.raises(CommandError, match="is not a state of a copy"):
        StateFile(tmp_path / "state", A, B).read()


def test_another_version(tmp_path: Path) -> None:
    """A later version may mean something else."""
    path = tmp_path / "state"
    StateFile(path, A, B).save(OFFSET, 5)
    path.write_bytes(path.read_bytes().replace(b'"version":1,"source"', b'"version":2,"source"'))
    with pytest.raises(CommandError, match="another version"):
        StateFile(path, A, B).read()
