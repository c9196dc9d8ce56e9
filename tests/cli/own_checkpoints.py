"""The checkpoint directory of a query with our source, as Spark leaves it, without Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kinesis_core import Stream
from kinesis_credentials import StaticKeys
from kinesis_emulator import Emulator


def own_connection(emulator: Emulator) -> dict[str, Any]:
    """Return the arguments of `Stream.open` that lead to *emulator*."""
    return {
        "endpoint_url": emulator.endpoint_url,
        "region": emulator.settings.region,
        "credentials": StaticKeys("AKIDEXAMPLE", "example"),
    }


def leave_own_checkpoint(folder: Path, emulator: Emulator, stream: str, batch: int = 0) -> Path:
    """Leave the checkpoint of a query that has read everything in *stream*, and committed *batch*."""
    with Stream.open(stream, **own_connection(emulator)) as opened:
        offset = json.dumps(opened.read("TRIM_HORIZON").offset, separators=(",", ":"))
    return leave(folder, batch, f'v1\n{{"batchTimestampMs":1}}\n{offset}')


def leave(folder: Path, batch: int, offsets: str) -> Path:
    """Write a file of the offset log, and that its batch was committed."""
    for name, text in {f"offsets/{batch}": offsets, f"commits/{batch}": "v1\n{}"}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder
