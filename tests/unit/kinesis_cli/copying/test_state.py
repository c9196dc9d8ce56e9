"""The file that keeps the position of a copy."""

from __future__ import annotations

from pathlib import Path

import pytest

from kinesis_cli.copying import StateFile
from kinesis_cli.ending import CommandError

OFFSET = {"version": 1, "streams": {}}


def test_round_trip(tmp_path: Path) -> None:
    """What is saved is read again. Without a file there is nothing."""
    file = StateFile(tmp_path / "state", "a", "b")
    assert file.read() is None
    file.save(OFFSET, 5)
    file.save(OFFSET, 7)
    state = file.read()
    assert state is not None
    assert (state.offset, state.reached_ms) == (OFFSET, 7)
    assert [path.name for path in tmp_path.iterdir()] == ["state"]


def test_another_copy(tmp_path: Path) -> None:
    """The file of another source or destination is refused."""
    StateFile(tmp_path / "state", "a", "b").save(OFFSET, 5)
    for source, destination in (("a", "c"), ("c", "b")):
        with pytest.raises(CommandError, match="belongs to a copy from a to b"):
            StateFile(tmp_path / "state", source, destination).read()


@pytest.mark.parametrize("text", [b"", b"{}", b"\xff", b'{"version": 1'])
def test_damaged(tmp_path: Path, text: bytes) -> None:
    """A file that is no state is refused, and not replaced."""
    path = tmp_path / "state"
    path.write_bytes(text)
    with pytest.raises(CommandError, match="is no state of a copy"):
        StateFile(path, "a", "b").read()
    assert path.read_bytes() == text


def test_no_file_or_a_huge_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A device has no end, and a dump that is given by mistake is large. Neither is read whole."""
    with pytest.raises(CommandError, match=r"^/dev/zero cannot be written: name a file"):
        StateFile(Path("/dev/zero"), "a", "b").read()
    monkeypatch.setattr("kinesis_cli.copying.state._MAX_BYTES", 10)
    StateFile(tmp_path / "state", "a", "b").save(OFFSET, 5)
    with pytest.raises(CommandError, match="is no state of a copy"):
        StateFile(tmp_path / "state", "a", "b").read()


def test_another_version(tmp_path: Path) -> None:
    """A later version may mean something else."""
    path = tmp_path / "state"
    StateFile(path, "a", "b").save(OFFSET, 5)
    path.write_bytes(path.read_bytes().replace(b'"version":1,"source"', b'"version":2,"source"'))
    with pytest.raises(CommandError, match="another version"):
        StateFile(path, "a", "b").read()
