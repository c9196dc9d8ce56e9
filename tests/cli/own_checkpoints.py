"""The checkpoint directory of a query with our source, as Spark leaves it, without Spark."""

from __future__ import annotations

import json
from pathlib import Path

from kinesis_core import Stream
from kinesis_credentials import StaticKeys
from kinesis_emulator import Emulator


def leave_own_checkpoint(folder: Path, emulator: Emulator, stream: str, batch: int = 0) -> Path:
    """Leave the checkpoint of a query that has read everything in *stream*, and committed *batch*."""
    keys, region = StaticKeys("AKIDEXAMPLE", "example"), emulator.settings.region
    with Stream.open(stream, endpoint_url=emulator.endpoint_url, region=region, credentials=keys) as opened:
        offset = json.dumps(opened.read("TRIM_HORIZON").offset, separators=(",", ":"))
    files = {"offsets": f'v1\n{{"batchTimestampMs":1}}\n{offset}', "commits": "v1\n{}"}
    for name, text in files.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / str(batch)).write_text(text)
    return folder
