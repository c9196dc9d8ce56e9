"""The emulator in this process: a server thread, and methods that bypass HTTP."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from kinesis_emulator import client_settings, control, reads, registration, streams
from kinesis_emulator.addresses import HOST, client_host, is_loopback
from kinesis_emulator.clocks import ManualClock, ShiftedClock
from kinesis_emulator.errors import consumer_not_found
from kinesis_emulator.exchange import Exchange
from kinesis_emulator.folder import Folder
from kinesis_emulator.operations import OPERATIONS
from kinesis_emulator.records import to_base64
from kinesis_emulator.reshards import Reshard, carry_out
from kinesis_emulator.server import HttpServer, OpenConnection, protocols
from kinesis_emulator.service import Calls, Service
from kinesis_emulator.settings import Settings
from kinesis_emulator.shards import StoredRecord
from kinesis_emulator.store import DistributionStrategy, EncryptionType, Store, StoredStream, stream_arn
from kinesis_emulator.validation import check_request
from kinesis_emulator.writes import append, make_entry

if TYPE_CHECKING:
    import ssl

    from kinesis_emulator.tls import MadeCertificate


class Emulator:
    """
    A local Kinesis, in threads of this process. It runs in its `with` block, or from `start` to `stop`.

        with Emulator() as emulator:
            emulator.create_stream("orders", shards=4)
            emulator.put("orders", b"data", partition_key="customer-1")
            client = boto3.client("kinesis", endpoint_url=emulator.endpoint_url, ...)

    Its methods change the streams of `settings.region` and `settings.account_id` directly, without HTTP, and take no time: a stream
    that `create_stream` makes is ACTIVE. They ignore AWS's limits of numbers, rates and record sizes. Where Kinesis would refuse a call for another reason, such as an unknown stream, they raise an `AwsError`.

    Args:
        port: The port to listen on; 0 takes any free port.
        settings: How the emulator behaves; you may change it while the emulator runs. By default all of AWS's limits apply to calls
            over HTTP.
        clock: A function that returns seconds since the epoch, such as a `ManualClock()`.
        data: A folder that keeps the streams for the next start. By default they are in memory only.
        host: The address to listen on. With another one than the default, others on the network can read and write.
        tls: Whether the port speaks TLS, with a certificate that is made now by the package cryptography, which the extra `tls`
            brings; or the files of your own certificate and its key, in PEM.
        cors: The origins of the web pages that may call, such as `http://localhost:3000`; `*` allows all.
        http2: Whether it speaks HTTP/2. Otherwise a client with TLS is offered HTTP/1.1 only.

    Attributes:
        port: The port on which it listens.
        certificate: The file that clients must trust if the port speaks TLS: that of the authority, or your own certificate. It is
            removed by `stop` if it was made.
        settings: As given.

    Raises:
        OSError: The port, the folder or the certificate cannot be used, such as a folder that another emulator uses.
        ValueError: The file in the folder is damaged, or of another version. Or the certificate and the key do not fit, or cannot be
            made.
    """

    def __init__(
        self,
        port: int = 0,
        *,
        settings: Settings | None = None,
        clock: Callable[[], float] = time.time,
        data: str | Path | None = None,
        host: str = HOST,
        tls: bool | tuple[str | Path, str | Path] = False,
        cors: Collection[str] = (),
        http2: bool = True,
    ) -> None:
        self.settings = Settings() if settings is None else settings
        self._clock = clock if isinstance(clock, ManualClock) else ShiftedClock(clock)
        self._host = host
        self._made_certificate: MadeCertificate | None = None
        self.certificate: Path | None = None
        folder = None if data is None else Folder(Path(data))
        try:
            self._store = Store(folder, keep_trimmed=self.settings.keep_trimmed)
            self._service = Service(OPERATIONS, self.settings, self._clock, self._store)
            exchange = Exchange(
                self._service.response,
                partial(control.respond, self),
                self._clock,
                self.settings,
                cors,
            )
            self._server = HttpServer(
                host, port, exchange, self._context(host, tls, protocols(http2)), http2=http2
            )
        except (OSError, ValueError):
            if folder is not None:
                folder.close()
            self._remove_certificate()
            raise
        self.port = self._server.port

    @property
    def endpoint_url(self) -> str:
        """The URL for clients of Kinesis on this machine, such as `http://127.0.0.1:4567`."""
        scheme = "http" if self.certificate is None else "https"
        return f"{scheme}://{client_host(self._host, self._server.address)}:{self.port}"

    @property
    def is_local(self) -> bool:
        """Whether only programs on this machine can connect."""
        return is_loopback(self._server.address)

    @property
    def spark_options(self) -> dict[str, str]:
        """The options of `.format("kinesis")` with which Spark uses this emulator: region, endpoint and keys."""
        return client_settings.spark_options(self.endpoint_url, self.settings.region)

    @property
    def calls(self) -> Calls:
        """The number of HTTP calls per action, stream and shard."""
        return self._service.calls

    def start(self) -> None:
        """Start to serve requests. A `with` block does this."""
        self._clock.watch(self._service.store.wake)
        self._server.start()

    def stop(self) -> None:
        """Stop to serve requests, and close all connections. Without a data folder the streams are lost."""
        self._clock.unwatch(self._service.store.wake)
        self._server.stop(self._service.store.wake)
        self._store.close()
        self._remove_certificate()

    def __enter__(self) -> Emulator:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def advance(self, seconds: float) -> None:
        """Move the emulator's clock on by *seconds*, as `ManualClock.advance` does."""
        self._clock.advance(seconds)

    def clear(self) -> None:
        """Remove all streams and settings of all accounts, the faults, and the counts of calls."""
        self.settings.fault = None
        for stream in self._store.every():
            self._store.delete(stream)
        self._store.forget_accounts()
        self.calls.clear()

    def create_stream(
        self,
        name: str,
        shards: int = 1,
        *,
        encryption: EncryptionType = "NONE",
        retention_hours: int = 24,
        max_record_kib: int = 1024,
        strategy: DistributionStrategy | None = None,
    ) -> str:
        """
        Create a stream and return its ARN.

        Args:
            name: The stream's name.
            shards: The number of its shards.
            encryption: "NONE", or "KMS": then responses say so, but nothing is encrypted.
            retention_hours: How long it keeps records.
            max_record_kib: The maximum size of a record over HTTP, in KiB.
            strategy: For an on-demand stream: whether keys choose the shards (`USER_PARTITION_KEY`), or Kinesis does (`AUTO`). By
                default the stream is provisioned.
        """
        stream = StoredStream(
            name,
            self.settings.region,
            self.settings.account_id,
            self._service.now_ms(),
            max_record_kib=max_record_kib,
            encryption=encryption,
            retention_hours=retention_hours,
            mode="PROVISIONED" if strategy is None else "ON_DEMAND",
            strategy=strategy or "USER_PARTITION_KEY",
        )
        self._service.store.create(stream, shards)
        return stream.arn

    def set_status(
        self,
        stream: str,
        status: Literal["CREATING", "UPDATING", "DELETING"],
        for_s: float,
        settling_s: float = 0.0,
    ) -> None:
        """
        Let a stream be in *status* from now on.

        Args:
            stream: The stream's name.
            status: After CREATING and UPDATING it is ACTIVE, after DELETING it is gone.
            for_s: How long, in seconds of the clock.
            settling_s: How long it refuses calls after it was CREATING, although it is ACTIVE by its description.
        """
        target = self._stream(stream)
        if status == "DELETING":
            streams.delete(self._service, target, for_s)
            return
        with target.lock:
            target.begin(status, self._service.now_ms(), for_s, settling_s)
            target.save()

    def has_stream(self, name: str) -> bool:
        """Return whether the stream exists."""
        streams = self._service.store.list(self.settings.region, self.settings.account_id)
        return any(stream.name == name for stream in streams)

    def delete_stream(self, name: str) -> None:
        """Delete a stream, with its consumers."""
        streams.delete(self._service, self._stream(name), 0.0)

    def distribute(self, stream: str, strategy: DistributionStrategy) -> None:
        """Change an on-demand stream: keys choose the shards (`USER_PARTITION_KEY`), or Kinesis does (`AUTO`)."""
        target = self._stream(stream)
        with target.lock:
            streams.distribute(target, strategy)

    def put(
        self,
        stream: str,
        data: bytes | str,
        partition_key: str = "key",
        explicit_hash_key: int | str | None = None,
        *,
        arrived_s: float | None = None,
        omit: Collection[str] = (),
    ) -> StoredRecord:
        """
        Put one record, and return it.

        Args:
            stream: The stream's name.
            data: The payload; text is encoded as UTF-8.
            partition_key: Chooses the shard if there is no explicit hash key.
            explicit_hash_key: Chooses the shard.
            arrived_s: The arrival time in seconds since the epoch, in any order. The default is the clock's time.
            omit: Members that GetRecords leaves out: `PartitionKey`, `ApproximateArrivalTimestamp`.
        """
        raw = data.encode() if isinstance(data, str) else data
        explicit = None if explicit_hash_key is None else str(explicit_hash_key)
        check_request("PutRecord", {"Data": "", "PartitionKey": partition_key, "ExplicitHashKey": explicit})
        entry = make_entry(to_base64(raw), partition_key, explicit)
        target = self._stream(stream)
        with target.lock:
            shard = target.route(entry.hash_key)
            arrived_ms = self._service.now_ms() if arrived_s is None else round(arrived_s * 1000)
            append(target, shard, entry, arrived_ms, self._service.readable_ms(), omit)
            target.save_records()
            return shard.newest_record()

    def records(self, stream: str) -> list[StoredRecord]:
        """Return all records of the stream, also trimmed ones that `settings.keep_trimmed` keeps, in shard order."""
        target = self._stream(stream)
        with target.lock:
            return [record for shard in target.shards for record in shard.stored_records()]

    def trim(self, stream: str, shard_id: str, records: int) -> None:
        """Remove the oldest *records* of a shard, as if they had expired."""
        target = self._stream(stream)
        with target.lock:
            shard = reads.known_shard(target, shard_id, self._service.now_ms())
            shard.trim_to(records, keep=self.settings.keep_trimmed)
            target.save()

    def shard_ids(self, stream: str) -> list[str]:
        """Return the ids of the open shards in the order of their hash keys."""
        target = self._stream(stream)
        with target.lock:
            return [shard.shard_id for shard in target.open_shards]

    def hide_shards(self, stream: str, shard_ids: Collection[str], for_s: float) -> None:
        """
        Leave these shards out of ListShards and DescribeStream for *for_s* seconds of the clock, like a stale listing.

        Writing and reading them works as before.
        """
        target, now_ms = self._stream(stream), self._service.now_ms()
        with target.lock:
            for shard_id in shard_ids:
                shard = reads.known_shard(target, shard_id, now_ms)
                shard.hidden_until_ms = now_ms + round(for_s * 1000)

    def split(self, stream: str, shard_id: str, new_starting_hash_key: int | None = None) -> list[str]:
        """Split a shard, by default in the middle, and return the ids of its children."""
        return self._reshard(stream, ["split", shard_id, new_starting_hash_key])

    def merge(self, stream: str, shard_id: str, adjacent_shard_id: str) -> str:
        """Merge two shards with adjacent hash keys, the lower ones first, and return the id of their child."""
        return self._reshard(stream, ["merge", shard_id, adjacent_shard_id])[0]

    def scale(self, stream: str, target_shards: int) -> None:
        """Split and merge until *target_shards* shards share the hash keys evenly."""
        self._reshard(stream, ["scale", target_shards])

    def _reshard(self, stream: str, reshard: Reshard) -> list[str]:
        """Do a reshard at once, and return the ids of the children of a split or a merge."""
        opened = carry_out(self._store, self._stream(stream), reshard, self._service.now_ms())
        return [shard.shard_id for shard in opened]

    def register_consumer(self, stream: str, name: str) -> str:
        """Register a consumer for enhanced fan-out and return its ARN."""
        return registration.register(self._service, self._stream(stream), name, 0.0).arn

    def deregister_consumer(self, stream: str, name: str) -> None:
        """Remove a consumer for enhanced fan-out."""
        target = self._stream(stream)
        with target.lock:
            consumer = target.consumers.get(name, self._service.now_ms())
        if consumer is None:
            raise consumer_not_found(name, target.account_id)
        registration.deregister(self._service, target, consumer, 0.0)

    def subscriptions(self, stream: str) -> list[tuple[str, str]]:
        """Return the consumer name and shard id of each open subscription."""
        target = self._stream(stream)
        with target.lock:
            return [
                (consumer.name, shard_id)
                for consumer in target.consumers.known(self._service.now_ms())
                for shard_id, subscription in consumer.subscriptions.items()
                if subscription.is_open
            ]

    def connections(self) -> list[OpenConnection]:
        """Return the open connections of clients that have begun to speak, in the order in which they came."""
        return self._server.connections()

    def _context(
        self, host: str, tls: bool | tuple[str | Path, str | Path], offered: list[str]
    ) -> ssl.SSLContext | None:
        """Return what a port with TLS needs, and set `certificate`."""
        if not tls:
            return None
        from kinesis_emulator.tls import MadeCertificate, given_certificate  # ssl takes time

        if isinstance(tls, tuple):
            certificate, key = map(Path, tls)
            self.certificate = certificate
            return given_certificate(certificate, key, offered)
        self._made_certificate = MadeCertificate(host, offered)
        self.certificate = self._made_certificate.authority
        return self._made_certificate.context

    def _remove_certificate(self) -> None:
        if self._made_certificate is not None:
            self._made_certificate.remove()

    def _stream(self, name: str) -> StoredStream:
        arn = stream_arn(self.settings.region, self.settings.account_id, name)
        return self._service.stream(arn, self._service.now_ms())
