"""The screens of `kinesis top`, with a source of fixed values."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import attrs
import pytest

from kinesis_cli.ending import Status
from kinesis_cli.screens.cells import stream_cells
from kinesis_cli.signals import TerminatedError
from kinesis_cli.stream_lines import StreamLine
from kinesis_core import ThrottledError
from support.lineages import name
from unit.kinesis_cli.screens.live_source import AT_MS, FixedSource
from unit.kinesis_cli.screens.screens import Seen, run


def shards(lines: list[str]) -> list[int]:
    """Return the numbers of the shards on the screen, from top to bottom."""
    return [int(line.split()[0][8:]) for line in lines if line.lstrip().startswith("shardId-")]


def test_a_stream() -> None:
    """A stream has its sums, its shards by load with bars and rates, and its readers with their lag."""

    async def script(seen: Seen) -> None:
        lines = await seen.wait_for("fraud")
        assert lines[0] == " orders  ACTIVE, provisioned, 4 open shards  2026-09-21T14:13:20.000Z"
        assert lines[1] == " in 1,890 records/s, 553.7 KiB/s"
        assert shards(lines) == [1, 3, 0, 2]
        (hot,) = [line for line in lines if name(1) in line]
        assert hot.split() == [
            name(1),
            "······██████············",
            "970",
            "284.2",
            "KiB",
            "██████████",
            "hot",
            "97%",
        ]
        readers = [line.split() for line in lines if line.startswith((" billing", " reports", " fraud"))]
        assert readers == [
            ["billing", "application", "850", "ms", "700", "ms", "ago", "-", "-"],
            ["reports", "checkpoint", "12", "min", "34", "s", "8", "min", "ago", "-", "-"],
            ["fraud", "enhanced", "fan-out", "ACTIVE", *("-" for _ in range(4))],
        ]

    assert run(FixedSource(), "orders", script).return_value is None


def test_sorting() -> None:
    """`s` sorts by hash keys, and again by load. The cursor stays on its shard."""

    async def script(seen: Seen) -> None:
        await seen.wait_for(name(0))
        await seen.pilot.press("down", "s")
        lines = await seen.wait_until(lambda lines: shards(lines) == [0, 1, 2, 3])
        assert lines
        rows = seen.app.screen.query_one("#rows")
        assert rows.cursor_row == 3  # type: ignore[attr-defined]
        await seen.pilot.press("s")
        await seen.wait_until(lambda lines: shards(lines) == [1, 3, 0, 2])

    run(FixedSource(), "orders", script)


def test_the_speed_of_readers() -> None:
    """A reader whose lag grows as time passes has a low speed. One that has committed nothing has none, and says since when."""
    source = FixedSource()

    async def script(seen: Seen) -> None:
        await seen.wait_for("billing")
        source.lag("orders", 0, 850, AT_MS + 10_000)
        await seen.wait_for("1.0x")
        await seen.wait_for("~1,890/s")  # what comes into all shards
        source.lag("orders", 0, 10_850, AT_MS + 20_000)
        await seen.wait_for("0.5x")
        lines = await seen.wait_for("8 min 20 s ago")  # a column gets its width after its text
        (reports,) = (line.split() for line in lines if "reports" in line)
        assert reports[-2:] == ["-", "-"]

    run(source, "orders", script)


@pytest.mark.tests
def test_pausing() -> None:
    """`p` stops the calls and says so, and starts them again."""
    source = FixedSource()

    async def script(seen: Seen) -> None:
        await seen.wait_for(name(0))
        await seen.pilot.press("p")
        await seen.wait_for("PAUSED")
        await seen.pilot.pause(0.3)  # a call may have been under way
        calls = len(source.calls)
        await seen.pilot.pause(0.5)
        assert len(source.calls) == calls
        await seen.pilot.press("p")
        await seen.wait_until(
            lambda lines: len(source.calls) > calls and not any("PAUSED" in one for one in lines)
        )

    run(source, "orders", script)


def test_an_error_is_a_line() -> None:
    """An error of Kinesis is shown above the last values, on as many lines as it needs, and as it is written."""
    source = FixedSource()

    async def script(seen: Seen) -> None:
        await seen.wait_for(name(0))
        source.problem = ThrottledError("Too many calls. [stream=orders]")
        lines = await seen.wait_for("Too many calls. [stream=orders]")
        assert shards(lines) == [1, 3, 0, 2]

    run(source, "orders", script)


def test_an_error_of_our_own_ends_it() -> None:
    """An error that no user can act on ends the program, and is returned."""
    problem = ZeroDivisionError("a bug")

    async def script(seen: Seen) -> None:
        while seen.app.return_value is None:
            await seen.pilot.pause(0.01)

    assert run(FixedSource(problem), "orders", script).return_value is problem


@pytest.mark.tests
def test_the_list_of_streams() -> None:
    """Streams are listed, also those that are not described yet. Enter opens one, and Escape returns."""
    source = FixedSource()

    async def script(seen: Seen) -> None:
        lines = await seen.wait_for("clicks")
        assert lines[0] == " 3 streams. Enter opens one."
        assert [line.split() for line in lines[2:5]] == [
            ["clicks", "ACTIVE", "on-demand", "40", "2", "24", "h"],
            ["orders", "ACTIVE", "provisioned", "4", "1", "24", "h"],
            ["teas", *["..."] * 5],
        ]
        await seen.pilot.press("down", "enter")
        await seen.wait_for("billing")
        await seen.pilot.press("escape")
        await seen.wait_for("3 streams.")
        await seen.pilot.press("escape", "s")
        await seen.wait_for("3 streams.")

    run(source, None, script)
    assert {"", "orders"} == set(source.calls)


def test_a_stream_that_may_not_be_described() -> None:
    """The line of such a stream has the code of the error in place of its status."""
    cells = stream_cells(StreamLine("secret", problem="AccessDeniedException"))
    assert [cell.plain for cell in cells] == ["secret", "AccessDeniedException", "-", "-", "-", "-"]


@pytest.mark.parametrize(("key", "ended"), [("q", type(None)), ("ctrl+c", TerminatedError)])
def test_how_it_ends(key: str, ended: type) -> None:
    """`q` ends it without an error, Ctrl-C as an interrupt."""

    async def script(seen: Seen) -> None:
        await seen.wait_for(name(0))
        await seen.pilot.press(key)

    assert isinstance(run(FixedSource(), "orders", script).return_value, ended)


@contextmanager
def raising(number: signal.Signals) -> Iterator[None]:
    """Let a signal raise an error wherever the program is, as the command line does."""

    def break_in(*_: object) -> None:
        raise TerminatedError(Status(128 + number))

    before = signal.signal(number, break_in)
    try:
        yield
    finally:
        signal.signal(number, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_in_a_task(number: signal.Signals) -> None:
    """A signal that comes while a task runs ends the program in order, and not only that task."""
    broken_tasks: list[BaseException] = []

    async def script(seen: Seen) -> None:
        await seen.wait_for(name(0))
        try:
            signal.raise_signal(number)
        except TerminatedError as error:
            broken_tasks.append(error)
            return
        while seen.app.return_value is None:
            await seen.pilot.pause(0.01)

    with raising(number):
        ended = run(FixedSource(), "orders", script).return_value
    assert not broken_tasks
    assert isinstance(ended, TerminatedError)
    assert ended.status == 128 + number


def test_a_stream_with_too_many_shards() -> None:
    """Shards that are not read have no figures, and the line above says how many are read."""
    source = FixedSource()
    view = source.views["orders"]
    last = view.shards[-1]
    source.views["orders"] = attrs.evolve(
        view, shards=(*view.shards[:-1], attrs.evolve(last, sample=None)), unread_shards=1
    )

    async def script(seen: Seen) -> None:
        lines = await seen.wait_for("4 open shards, the first 3 are read")
        assert any(line.split()[2:5] == ["?", "?", "░░░░░░░░░░"] for line in lines if name(3) in line)

    run(source, "orders", script)
