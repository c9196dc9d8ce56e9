"""Runs the full-screen program without a terminal, through textual's own harness."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from attrs import frozen
from textual.pilot import Pilot

from kinesis_cli.live import ViewSource
from kinesis_cli.screens import Top
from support.waiting import PATIENCE_S

SIZE = (100, 24)


@frozen
class Seen:
    """The program, and what is on its screen."""

    app: Top
    pilot: Pilot[Any]

    @property
    def lines(self) -> list[str]:
        return [strip.text.rstrip() for strip in self.app.screen._compositor.render_strips()]

    async def wait_for(self, text: str) -> list[str]:
        """Wait until a line has *text*, and return all lines."""
        return await self.wait_until(lambda lines: any(text in line for line in lines))

    async def wait_until(self, holds: Callable[[list[str]], bool]) -> list[str]:
        async with asyncio.timeout(PATIENCE_S) if hasattr(asyncio, "timeout") else _no_limit():
            while not holds(self.lines):
                await self.pilot.pause(0.01)
        return self.lines


@asynccontextmanager
async def _no_limit() -> AsyncIterator[None]:
    yield


def run(
    source: ViewSource,
    stream: str | None,
    script: Callable[[Seen], Awaitable[object]],
    size: tuple[int, int] = SIZE,
) -> Top:
    """Run the program with *source* while *script* looks at it, and return it after its end."""

    async def main() -> Top:
        app = Top(source, stream, every_s=0.2)
        async with app.run_test(size=size) as pilot:
            await script(Seen(app, pilot))
        return app

    return asyncio.run(main())
