"""Frames of an event stream in pieces of any size, and bytes that are not frames."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from kinesis_core.aws import MALFORMED
from kinesis_core.aws.event_stream import Frame, read_frames
from kinesis_core.budget import IN_FLIGHT, ByteBudget, receiving
from kinesis_emulator.wire_formats import encode_frame
from support.waiting import PATIENCE_S, wait_until

HEADERS = {":message-type": "event", ":event-type": "SubscribeToShardEvent"}
payloads = st.lists(st.binary(max_size=300), max_size=6)


def cut(data: bytes, indexes: list[int]) -> Iterator[bytes]:
    edges = [0, *sorted(index % (len(data) + 1) for index in indexes), len(data)]
    return (data[start:end] for start, end in pairwise(edges))


@given(payloads, st.lists(st.integers(0, 2000), max_size=12))
def test_frames_come_whole(sent: list[bytes], indexes: list[int]) -> None:
    """A stream of frames gives the same frames, whatever its pieces are."""
    data = b"".join(encode_frame(HEADERS, payload) for payload in sent)
    frames = list(read_frames(cut(data, indexes)))
    assert [frame.payload for frame in frames] == sent
    assert all(frame.headers == HEADERS for frame in frames)


def test_an_event_counts_before_it_is_received() -> None:
    """Once its length is known, an event needs room in the budget of its thread. What comes in one piece is in memory already."""
    data, budget = encode_frame(HEADERS, bytes(5000)), ByteBudget(100_000)
    share = budget.share()
    with receiving(share):
        list(read_frames([data]))
        assert share.size_bytes == 0
        list(read_frames([data[:100], data[100:]]))
    assert share.size_bytes == IN_FLIGHT * len(data)


def test_an_event_waits_as_long_as_its_reader() -> None:
    """An event for which there is no room is no error, however impatient calls are: its subscription waits."""
    data, budget = encode_frame(HEADERS, bytes(5000)), ByteBudget(1)
    page, share, frames = budget.share(), budget.share(patience_s=0), list[Frame]()
    page.reserve(1)

    def read() -> None:
        with receiving(share):
            frames.extend(read_frames([data[:100], data[100:]]))

    reader = threading.Thread(target=read)
    reader.start()
    wait_until(lambda: budget.is_waiting(share) or not reader.is_alive())
    page.release()
    reader.join(PATIENCE_S)
    assert len(frames) == 1


def test_byte_by_byte() -> None:
    """Pieces of one byte are enough."""
    data = encode_frame(HEADERS, b"one") + encode_frame({}, b"") + encode_frame(HEADERS, b"two")
    assert [f.payload for f in read_frames(bytes([b]) for b in data)] == [b"one", b"", b"two"]


@given(payloads, st.integers(0, 3000))
def test_a_cut_stream_gives_what_came_whole(sent: list[bytes], length: int) -> None:
    """A stream that ends in the middle of a frame gives the complete frames. The rest is dropped."""
    frames = [encode_frame(HEADERS, payload) for payload in sent]
    data = b"".join(frames)[:length]
    found = [frame.payload for frame in read_frames([data])]
    assert found == sent[: len(found)]
    assert len(data) - sum(map(len, frames[: len(found)])) < max([1, *map(len, frames)])


@given(st.binary(max_size=200), st.integers(0, 2000), st.integers(1, 255))
def test_no_bit_may_be_wrong(payload: bytes, index: int, change: int) -> None:
    """A frame with a change anywhere is refused or never complete. It is never read as another frame."""
    good = encode_frame(HEADERS, payload)
    bad = bytearray(good)
    bad[index % len(bad)] ^= change
    with suppress(*MALFORMED):
        assert list(read_frames([bytes(bad)])) == []


@given(st.binary(max_size=400))
def test_anything_else_is_refused(data: bytes) -> None:
    """Bytes that are not frames never give a frame, and no error but ours."""
    with suppress(*MALFORMED):
        assert list(read_frames([data])) == []


@pytest.mark.parametrize("length", [0, 15, 32 * 1024 * 1024 + 1, 2**32 - 1])
def test_a_length_out_of_bounds_is_refused_at_once(length: int) -> None:
    """An impossible length is refused at once, so that memory is bounded."""
    with pytest.raises(MALFORMED, match=f"{length} bytes"):
        list(read_frames([length.to_bytes(4, "big")]))
