"""The prepared stream's server in a process of its own."""

from __future__ import annotations

import json
import ssl
import urllib.request
from dataclasses import asdict
from pathlib import Path

from kinesis_emulator.canned.server import CALLS
from kinesis_emulator.canned.stream import CannedStream
from kinesis_emulator.child import ChildProcess


class CannedKinesis(ChildProcess):
    """
    A Kinesis for benchmarks of readers, with one stream whose answers are ready before the first call.

        with CannedKinesis(CannedStream(shards=4, pages=10), latency_s=0.02) as kinesis:
            client = boto3.client("kinesis", endpoint_url=kinesis.endpoint_url, ...)

    It answers DescribeStreamSummary, ListShards, GetShardIterator and GetRecords, checks nothing and knows no limits.

    Args:
        stream: What is in it.
        latency_s: How long each call takes.
        tls: Files of a certificate and its key, to be called over HTTPS.
    """

    def __init__(
        self, stream: CannedStream, *, latency_s: float = 0.0, tls: tuple[Path, Path] | None = None
    ) -> None:
        options = ["--stream", json.dumps(asdict(stream)), f"--latency-s={latency_s}"]
        super().__init__(
            "kinesis_emulator.canned",
            options if tls is None else [*options, "--tls", *(str(file) for file in tls)],
        )
        self._certificate = None if tls is None else tls[0]

    def calls(self) -> dict[str, int]:
        """Return how often each call came so far; nearly, when several came at once."""
        trust = None if self._certificate is None else ssl.create_default_context(cafile=self._certificate)
        with urllib.request.urlopen(self.endpoint_url + CALLS, timeout=10, context=trust) as response:  # noqa: S310 # our own server
            calls: dict[str, int] = json.load(response)
        return calls
