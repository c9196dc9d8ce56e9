"""Says what a command waits for when a service does not respond to its first call. The core retries in silence."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from attrs import define, field

from kinesis_cli.output import note

if TYPE_CHECKING:
    from kinesis_core.aws import Connection

SILENT_S = 2.0
"""A service responds in milliseconds. A connection over half the world takes less than this."""
_SERVICES = ("kinesis", "dynamodb")
_ID = "kinesis-cli-waiting"


def _start_thread(watch: Callable[[], None]) -> None:
    threading.Thread(target=watch, name="kinesis-waiting", daemon=True).start()


@define
class FirstResponse:
    """Whether one endpoint has responded yet. Its methods take botocore's events."""

    say: Callable[[str], None] = note
    start: Callable[[Callable[[], None]], None] = _start_thread
    is_there: threading.Event = field(factory=threading.Event)
    url: str = ""
    """The endpoint, once it is called."""
    error: str = ""
    """Why the last call failed, if it did."""

    def called(self, **event: Any) -> None:
        """Note that a call is made. With the first one the wait begins."""
        if not self.url:
            self.url = event["params"]["url"]
            self.start(self.watch)

    def failed(self, **event: Any) -> None:
        """Note that a call brought no response."""
        self.error = type(event["exception"]).__name__

    def responded(self, **event: Any) -> None:
        """Note that a call brought a response. One of a broken server is none."""
        status: int = event["http_response"].status_code
        if status < 500:
            self.is_there.set()
        else:
            self.error = f"HTTP status {status}"

    def watch(self, wait: Callable[[float], bool] | None = None) -> None:
        """Say what is waited for if *wait*, called with a number of seconds, returns that there is no response."""
        if not (wait or self.is_there.wait)(SILENT_S):
            how = f"does not respond: {self.error}; trying again" if self.error else "has not responded yet"
            self.say(f"{self.url} {how}. Ctrl-C ends.")


@define(eq=False)  # botocore compares handlers
class _Endpoints:
    """The endpoints of one service that the clients of a session call. Its methods are handlers of botocore's events."""

    make: Callable[[], FirstResponse]
    known: dict[str, FirstResponse] = field(factory=dict)

    def called(self, **event: Any) -> None:
        host = urlsplit(event["params"]["url"]).netloc
        first = self.known.get(host) or self.known.setdefault(host, self.make())
        event["context"][_ID] = first  # later events of the call have the same context, and no URL
        first.called(**event)

    def failed(self, **event: Any) -> None:
        event["context"][_ID].failed(**event)

    def responded(self, **event: Any) -> None:
        event["context"][_ID].responded(**event)


def note_silence(connection: Connection, make: Callable[[], FirstResponse] = FirstResponse) -> Connection:
    """
    Return *connection*. All clients for it that are made from now on say when the first response does not come.

    *make* makes what watches over one endpoint.
    """
    from kinesis_core.aws import find_session
    from kinesis_credentials import CredentialsError

    with suppress(CredentialsError):  # the first call reports it
        session = find_session(connection)
        for service in _SERVICES:
            endpoints = _Endpoints(make)
            for event, handler in (
                ("before-call", endpoints.called),
                ("after-call", endpoints.responded),
                ("after-call-error", endpoints.failed),
            ):
                session.register(f"{event}.{service}", handler, unique_id=f"{_ID}-{event}-{service}")
    return connection
