"""The checkpoint directory of a query of another connector, as it is on disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

BATCH = "7"
"""The last batch that was committed."""
AWSLABS_LOG, QUBOLE_LOG = "shard-source", "shard-commit"

ShardOffset = dict[str, Any]


def after(sequence_number: str, **more: object) -> ShardOffset:
    """Return the position after a record, or after one of its user records."""
    return {"iteratorType": "AFTER_SEQUENCE_NUMBER", "iteratorPosition": sequence_number, **more}


def leave_checkpoint(
    folder: Path, log: str, stream: str, started: dict[str, ShardOffset], ended: dict[str, ShardOffset]
) -> None:
    """Write start and end of a batch into the directory *log* of the query's source, and that it was committed."""
    offset = {"metadata": {"streamName": stream, "batchId": BATCH}, **started}
    lines = ["v1", '{"batchWatermarkMs":0,"batchTimestampMs":1790000020000,"conf":{}}', json.dumps(offset)]
    texts = {f"offsets/{BATCH}": "\n".join(lines), f"commits/{BATCH}": 'v1\n{"nextBatchWatermarkMs":0}'}
    for shard_id, position in ended.items():
        texts[f"sources/0/{log}/{BATCH}/{shard_id}"] = json.dumps({"shardId": shard_id, **position})
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
