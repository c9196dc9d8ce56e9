"""Faults on demand: the values that `Settings.fault` may return."""

from __future__ import annotations

from dataclasses import dataclass


class CutConnectionError(Exception):
    """A fault that cuts the connection in the middle of *frame*."""

    def __init__(self, frame: bytes) -> None:
        super().__init__(f"cut within a frame of {len(frame)} bytes")
        self.frame = frame


@dataclass(frozen=True)
class EventFault:
    """
    A fault inside the event stream of a SubscribeToShard call.

    The first `after_events` events come as usual. Then, in this order:

    * no event for `pause_s` seconds of the emulator's clock, counted from the last event
    * `empty_events` events without records, with `millis_behind` and a continuation that does not advance
    * one end: *code* ends the stream with that exception, `cut` breaks the connection in the middle of the next event,
      `silence` keeps it open without further events. Without an end the stream continues as usual.
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
    A fault of one call.

    `delay_s` waits before anything else. These replace the call's work:

    * *code*: respond with this error, with `message` and `status`
    * *body*: respond with these bytes, with `status` and `content_type`
    * `drop_request`: close the connection before the work, with `reset` by a TCP RST

    These change the response after the work:

    * `drop_response`: close the connection without a response, with `reset` by a TCP RST
    * `cut_response`: close the connection in the middle of the response
    * `stall_s`: wait in the middle of the response

    These apply to some actions only, and have no effect on others:

    * `fail_every` (PutRecords): with 3, every third record fails
    * `empty_page` (GetRecords): respond without records, with `millis_behind` and an iterator that does not advance
    * `hide_shards` (ListShards, DescribeStream): leave out these shards
    * `hide_every` (ListShards, DescribeStream): with 3, leave out every third shard of the response
    * `events` (SubscribeToShard): a fault inside the event stream
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
