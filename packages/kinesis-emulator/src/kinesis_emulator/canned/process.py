"""The canned stream's server in a child process."""

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
    A Kinesis for benchmarks of readers, with one stream whose responses are made before the first call.

        with CannedKinesis(CannedStream(shards=4, pages=10), latency_s=0.02) as kinesis:
            client = boto3.client("kinesis", endpoint_url=kinesis.endpoint_url, ...)

    It serves DescribeStreamSummary, ListShards, GetShardIterator and GetRecords, without checks and limits.

    Args:
        stream: The stream to serve.
        latency_s: The duration of each call in seconds.
        tls: The files of a certificate and its key, to serve HTTPS.
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
        """Return how often each action was called so far. The counts are approximate when calls overlap."""
        trust = None if self._certificate is None else ssl.create_default_context(cafile=self._certificate)
        with urllib.request.urlopen(self.endpoint_url + CALLS, timeout=10, context=trust) as response:  # noqa: S310 # our own server
            calls: dict[str, int] = json.load(response)
        return calls
