"""
Pictures of the screens. `pytest --snapshot-update` draws them again, and the difference of the SVG files shows what has changed.

They change with textual, too, and the plugin names them by its version. With other versions they are not compared.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import pytest
from textual.pilot import Pilot

from kinesis_cli.screens import Top
from unit.kinesis_cli.screens.live_source import FixedSource
from unit.kinesis_cli.screens.screens import SIZE

DRAWN_WITH = {"textual": "8.2.", "pytest-textual-snapshot": "1.1."}
pytestmark = pytest.mark.skipif(
    not all(version(package).startswith(start) for package, start in DRAWN_WITH.items()),
    reason=f"the pictures were drawn with {DRAWN_WITH}",
)
_EVERY_S = 3600.0
"""Nothing changes while a picture is taken."""


_KEYS = ("Sort", "Pause", "Quit")
_ORDERS = ("enhanced fan-out", "12 min 34 s", "hot 97%", "ACTIVE", *_KEYS)
_STREAMS = ("teas", "provisioned", "on-demand", "24 h", *_KEYS)


@pytest.mark.parametrize(
    ("stream", "last"), [("orders", _ORDERS), (None, _STREAMS)], ids=["stream", "account"]
)
def test_screens(snap_compare: Any, stream: str | None, last: tuple[str, ...]) -> None:
    """The screens look as in their pictures."""

    async def ready(pilot: Pilot[Any]) -> None:
        strips = pilot.app.screen._compositor.render_strips
        while not all(any(text in strip.text for strip in strips()) for text in last):
            await pilot.pause(0.01)  # until the columns are wide enough, and the keys are shown

    assert snap_compare(Top(FixedSource(), stream, _EVERY_S), terminal_size=SIZE, run_before=ready)
