"""
The SDKs of AWS in other languages make all calls of streams and consumers, each with its own defaults.

With `WRITE_RESULTS=1` and `-n0` they write the file of results, from which `docs.generate_sdks` makes the tables of the documentation.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any

import pytest
from attrs import define, field

from kinesis_emulator import Emulator, EventFault, Fault, Limits, Request, Settings, StoredRecord
from kinesis_emulator.client_settings import environment
from kinesis_emulator.operations import OPERATIONS
from kinesis_emulator.service import Calls
from sdks import results
from sdks.expected import BY_NAME, EVENT_ERROR, SECOND, STREAM, expected
from sdks.programs import PROGRAMS
from support.waiting import PATIENCE_S
from support.witness import WitnessUnavailableError, require

pytestmark = [pytest.mark.witness, pytest.mark.sdks]
Line = dict[str, Any]
BY_TLS = [name for name, program in PROGRAMS.items() if not program.without_tls]


@define
class Watched:
    """
    An emulator whose streams refuse what their names say, with statuses as by default and without rates.

    Attributes:
        stored: The records of the stream, as they were when it was deleted.
    """

    emulator: Emulator
    started_s: float = field(factory=time.time)
    stored: list[StoredRecord] = field(factory=list)

    def fault(self, request: Request) -> Fault | None:
        if request.stream_name in BY_NAME:
            return Fault(request.stream_name, status=500 if "Internal" in request.stream_name else 400)
        if request.action == "SubscribeToShard" and request.shard_id == SECOND:
            return Fault(events=EventFault(after_events=1, pause_s=0.5, code=EVENT_ERROR))
        if request.action in ("PutRecord", "PutRecords"):
            self.emulator.advance(0.007)  # so that records arrive at different times
        elif request.action == "DeleteStream":
            self.stored = self.emulator.records(STREAM)
        return None


@contextmanager
def watched(*, tls: bool) -> Iterator[Watched]:
    # Go closes the connection of a new subscription itself once in a thousand times. Its SDK then subscribes again at once.
    settings = Settings(limits=Limits.unlimited(), resubscribe_after_s=0)
    with Emulator(settings=settings, tls=tls) as emulator:
        found = Watched(emulator)
        emulator.settings.fault = found.fault
        yield found


def run(command: list[str], emulator: Emulator) -> list[Line]:
    """Run a program, and return its lines."""
    certificate = None if emulator.certificate is None else str(emulator.certificate)
    variables = environment(emulator.endpoint_url, emulator.settings.region, certificate)
    if certificate is not None:
        variables["SSL_CERT_FILE"] = certificate  # for the control endpoint, which Go calls without the SDK
    ran = subprocess.run(
        command,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-2000:]
    return [json.loads(line) for line in ran.stdout.splitlines()]


def protocols_of(calls: Calls) -> Iterator[str]:
    """Yield how the calls came: their versions of HTTP, each with the formats of the bodies."""
    for http_version, wire_format in product(("1.1", "2"), ("json", "cbor")):
        if calls.count(http_version=http_version, wire_format=wire_format):
            yield f"HTTP/{http_version}, {wire_format.upper()}"


def wrong_lines(lines: list[Line], details: dict[str, Any]) -> list[Line]:
    """Return the lines of calls that failed, or that show something else than *details*."""

    def is_right(line: Line) -> bool:
        if line["ok"] is None:  # the SDK cannot make this call, for the reason that the line has
            return bool(line["detail"])
        wanted = details[line["call"]]
        return bool(line["ok"] and (wanted(line["detail"]) if callable(wanted) else wanted == line["detail"]))

    return [line for line in lines if not is_right(line)]


@pytest.mark.parametrize(
    ("name", "tls"), [*((name, False) for name in PROGRAMS), *((name, True) for name in BY_TLS)]
)
def test_every_call(name: str, tls: bool) -> None:
    """Each call succeeds and shows what the emulator has, and each error comes as the SDK's own exception."""
    program = PROGRAMS[name]
    try:
        command = program.build()
    except WitnessUnavailableError as error:
        require(error)
    with watched(tls=tls) as server:
        lines = run(command, server.emulator)
        calls = server.emulator.calls
        called, protocols = calls.by_action(), list(protocols_of(calls))
    created_ms = range(int(server.started_s - 1) * 1000, int(time.time() + 1) * 1000)
    details = dict(expected(created_ms, server.stored))
    assert [line for line in lines if line["call"] not in details] == []
    assert wrong_lines(lines, details) == []
    assert sorted(line["call"] for line in lines) == sorted(details)
    reasons = {line["call"]: line["detail"] for line in lines if line["ok"] is None}
    assert set(OPERATIONS) - set(called) == {call for call in reasons if call in OPERATIONS}
    found = {
        "title": program.title,
        "version": program.version,
        "protocols": {
            **results.read().get(name, {}).get("protocols", {"TLS": program.without_tls}),
            "TLS" if tls else "plain": "; ".join(protocols),
        },
        "calls": {call: reasons.get(call, True) for call in details},
    }
    if os.environ.get("WRITE_RESULTS") == "1":
        results.write({**results.read(), name: found})
    assert results.read()[name] == found


def test_the_table_has_all() -> None:
    """There is a result of every SDK, and every operation that the emulator has is a row."""
    assert list(results.read()) == list(PROGRAMS)
    assert set(OPERATIONS) <= set(expected(range(0), []))
