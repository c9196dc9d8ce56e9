"""Trouble on demand: what `Settings.fault` may answer."""

from __future__ import annotations

from dataclasses import dataclass


class CutConnectionError(Exception):
    """The connection is to be cut in the middle of *frame*."""

    def __init__(self, frame: bytes) -> None:
        super().__init__(f"cut within a frame of {len(frame)} bytes")
        self.frame = frame


@dataclass(frozen=True)
class EventFault:
    """
    What happens inside a stream of events that SubscribeToShard opened.

    First come `after_events` events as usual. Then, in this order, each if asked for: nothing for `pause_s` of the
    emulator's clock since the last event; `empty_events` without records that are `millis_behind` behind and do not go on in the shard;
    and one end. A *code* ends the stream with that exception, `cut` breaks the connection in the middle of the next
    event, `silence` keeps it open with nothing ever coming. Without an end, all goes on as usual.
    """

    after_events: int = 0
    pause_s: float = 0.0
    empty_events: int = 0
    millis_behind: int = 60_000
    code: str | None = None
    message: str = "Injected by the emulator."
    cut: bool = False
    silence: bool = False


@dataclass(frozen=True)
class Fault:
    """
    What happens to a call instead of, or beside, its work.

    A *code* answers with that error, a *body* with those bytes, and neither does the work. `drop_request` closes
    the connection before the work, `drop_response` after it; with `reset`, by TCP's RST. `cut_response` closes it in the
    middle of the answer, `stall_s` waits there. `delay_s` waits first.

    `fail_every` is for PutRecords: with 3, the third, sixth, ... record fails. `empty_page` is for GetRecords: no
    records, `millis_behind`, and an iterator that has not gone on. `hide_shards` and `hide_every` are for ListShards and
    DescribeStream: the answer leaves these shards out, or every so many-th of those that it names. `events` happens
    after the work, in the stream of events that it opened. Elsewhere these five do nothing.
    """

    code: str | None = None
    message: str = "Injected by the emulator."
    status: int = 400
    body: bytes | None = None
    delay_s: float = 0.0
    drop_request: bool = False
    drop_response: bool = False
    reset: bool = False
    cut_response: bool = False
    stall_s: float = 0.0
    content_type: str | None = None
    fail_every: int = 0
    empty_page: bool = False
    millis_behind: int = 60_000
    hide_shards: tuple[str, ...] = ()
    hide_every: int = 0
    events: EventFault | None = None
