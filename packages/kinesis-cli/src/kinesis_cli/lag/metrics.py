"""
Serves the lag of readers to Prometheus.

What Prometheus gets is the result of the last measurement. So a scrape makes no call to AWS, and metrics of shards that are gone end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from attrs import define, frozen

from kinesis_cli.ending import CommandError, UsageError
from kinesis_cli.lag.readings import Reader
from kinesis_cli.lag.repeating import Failed, Measure, ProblemNotes, measurements, problems_of
from kinesis_cli.lag.results import ReaderLag, StreamLag
from kinesis_cli.output import note

if TYPE_CHECKING:
    from prometheus_client.core import GaugeMetricFamily

LOOPBACK = "127.0.0.1"
_READER = ("stream", "reader")


@frozen
class Address:
    """Where to serve."""

    host: str
    port: int

    @staticmethod
    def parse(text: str) -> Address:
        """
        Return the address `[HOST]:PORT`, also `PORT`. Without a host it is the loopback interface.

        Raises:
            UsageError: It is none.
        """
        host, _, port = text.rpartition(":")
        if not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
            raise UsageError(
                f"--serve is '{text}'. Use [HOST]:PORT. Examples: :9400 (this machine only), 0.0.0.0:9400"
            )
        return Address(host.strip("[]") or LOOPBACK, int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@define(eq=False)  # the registry keeps collectors in a dictionary
class LagCollector:
    """What Prometheus collects. The thread that measures sets `lag`, those that serve read it."""

    stream: str
    names: Sequence[str]
    lag: StreamLag | Failed | None = None
    """None until the first measurement is done: then nothing is known. While measurements fail no reader is up."""

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """Return the metrics of the last measurement."""
        lag = self.lag
        families = _families()
        if lag is None:
            return list(families.values())
        if isinstance(lag, Failed):
            for name in self.names:
                families["up"].add_metric([self.stream, name], 0)
            return list(families.values())
        families["retention"].add_metric([self.stream], lag.retention_ms / 1000)
        families["measured"].add_metric([self.stream], lag.measured_ms / 1000)
        for reader in lag.readers:
            _add(families, [self.stream, reader.reader], reader)
        return list(families.values())


def serve_lag(
    stream: str, readers: Sequence[Reader], measure: Measure, address: Address, period_s: float
) -> None:
    """
    Serve what *measure* returns, and measure every *period_s* seconds, until the command is ended.

    It listens before the first measurement: a port that is taken is reported at once, and an outage leaves the endpoint up. While the
    stream cannot be reached, the readers are down, and a line says why.

    Raises:
        CommandError: prometheus-client is not installed, or the address cannot be used.
    """
    collector = LagCollector(stream, [reader.name for reader in readers])
    _start(collector, address)
    note(f"Serving metrics at http://{address}/metrics, measured every {period_s:g} s. Ctrl-C ends it.")
    notes = ProblemNotes()
    for lag in measurements(measure, period_s, must_begin=False):
        collector.lag = lag
        notes.write(problems_of(lag))


def _start(collector: LagCollector, address: Address) -> None:
    try:
        from prometheus_client import CollectorRegistry, start_http_server
    except ImportError as error:
        raise CommandError(
            '--serve needs prometheus-client: pip install "kinesis-cli[prometheus]"'
        ) from error
    registry = CollectorRegistry()
    registry.register(collector)
    try:
        start_http_server(address.port, addr=address.host, registry=registry)
    except OSError as error:
        raise CommandError(
            f"{address} cannot be served: {error.strerror or error}. Choose another port or host."
        ) from error


def _families() -> dict[str, GaugeMetricFamily]:
    from prometheus_client.core import GaugeMetricFamily

    declared = {
        "lag": (
            "kinesis_reader_lag_seconds",
            "Age of the oldest unread record of the shard.",
            (*_READER, "shard"),
        ),
        "max": ("kinesis_reader_max_lag_seconds", "The largest lag of the reader's shards.", _READER),
        "behind": (
            "kinesis_reader_behind_shards",
            "Shards with records that the reader has not read.",
            _READER,
        ),
        "expiring": (
            "kinesis_reader_expiring_shards",
            "Shards whose unread records will expire soon.",
            _READER,
        ),
        "lost": (
            "kinesis_reader_lost_shards",
            "Shards with records that expired unread, or may have.",
            _READER,
        ),
        "committed": (
            "kinesis_reader_committed_timestamp_seconds",
            "When the reader last committed a batch.",
            _READER,
        ),
        "up": ("kinesis_reader_up", "1 if the reader's position is known, else 0.", _READER),
        "retention": ("kinesis_stream_retention_seconds", "How long the stream keeps records.", ("stream",)),
        "measured": ("kinesis_reader_measured_timestamp_seconds", "When the lag was measured.", ("stream",)),
    }
    return {
        key: GaugeMetricFamily(name, text, labels=labels) for key, (name, text, labels) in declared.items()
    }


def _add(families: dict[str, GaugeMetricFamily], labels: list[str], reader: ReaderLag) -> None:
    is_up = reader.problem is None
    families["up"].add_metric(labels, int(is_up))
    if not is_up:
        return
    if reader.committed_ms is not None:
        families["committed"].add_metric(labels, reader.committed_ms / 1000)
    if reader.lag_ms is not None:
        families["max"].add_metric(labels, reader.lag_ms / 1000)
    for key in ("behind", "expiring", "lost"):
        families[key].add_metric(labels, getattr(reader, key))
    for shard in reader.shards:
        if shard.lag_ms is not None:
            families["lag"].add_metric([*labels, shard.shard_id], shard.lag_ms / 1000)
