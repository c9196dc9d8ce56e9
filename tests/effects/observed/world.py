"""The environment of effects: servers that an option may name, and the two halves that have options."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from attrs import define, field, frozen

from effects.observed.wire import Wire
from kinesis_core.aws import Connection
from kinesis_core.errors import ServiceError
from kinesis_credentials import CredentialsError
from kinesis_emulator import Emulator
from kinesis_emulator.faults import Fault
from kinesis_emulator.requests import Request
from spark_kinesis_sink.options import SinkOptions
from spark_kinesis_source import KinesisDataSource
from spark_kinesis_source.options import SourceOptions
from support.halves import open_writer
from support.key_services import KeyServices
from support.lease_tables import DynamoDb
from support.streams import KEY_ID, REGION, SECRET

Options = Mapping[str, Any]
STREAM = "orders"


@frozen
class Half:
    """Source or sink, as far as they share options."""

    name: str
    touch: Callable[[Options], object]
    """Makes the half call Kinesis. The first call describes the stream."""
    parse: Callable[[Options], SourceOptions | SinkOptions]

    def connect(self, options: Options) -> Connection:
        return self.parse(options).connection


SOURCE = Half("source", lambda options: KinesisDataSource(dict(options)).schema(), SourceOptions.parse)
SINK = Half("sink", open_writer, SinkOptions.parse)


@define
class World:
    """Servers on 127.0.0.1: a Kinesis with the streams *orders* and *returns*, and others that options may name."""

    half: Half
    emulator: Emulator
    wire: Wire
    sts: KeyServices
    database: DynamoDb
    requests: list[Request] = field(factory=list)
    """The requests to Kinesis."""
    refuse: Callable[[Request], Fault | None] = lambda _: None
    consumer_arn: str = field(init=False)
    """The ARN of the consumer *known*."""
    _numbers: Iterator[int] = field(factory=itertools.count, init=False)

    def __attrs_post_init__(self) -> None:
        for name in (STREAM, "returns"):
            self.emulator.create_stream(name)
        self.consumer_arn = self.emulator.register_consumer(STREAM, "known")
        self.emulator.settings.fault = self._note

    def _note(self, request: Request) -> Fault | None:
        self.requests.append(request)
        return self.refuse(request)

    def options(self, given: Options) -> dict[str, Any]:
        """Return *given* with the addresses of servers filled in, and the options that every source and sink has here."""
        addresses = {
            "emulator": self.emulator.endpoint_url,
            "wire": self.wire.url,
            "wire_port": self.wire.port,
            "sts": self.sts.url,
            "dynamodb": self.database.endpoint_url,
            "table": self.database.table,
            "consumer": self.consumer_arn,
        }
        base = {
            "streamName": STREAM,
            "endpointUrl": "{emulator}",
            "region": REGION,
            "awsAccessKeyId": KEY_ID,
            "awsSecretKey": SECRET,
            "maxRetries": "0",
        }
        return {
            name: value.format(**addresses) for name, value in {**base, **given}.items() if value is not None
        }

    def options_of_new_stream(self, given: Options, shards: int = 1) -> dict[str, Any]:
        """Return the same for a new stream."""
        name = f"{STREAM}-{next(self._numbers)}"
        self.emulator.create_stream(name, shards)
        return {**self.options(given), "streamName": name}

    def touch(self, given: Options) -> None:
        """Make the half call Kinesis. Errors of the service are ignored."""
        with suppress(ServiceError, CredentialsError):
            self.half.touch(self.options(given))


Observe = Callable[[World, Options], object]


@frozen
class Effect:
    """The effect of one option."""

    observe: Observe
    """Returns what the effect is visible in, for some options."""
    then: Options
    """Options that set the option."""
    after: object
    before: object
    first: Options = field(factory=dict)
    """Options instead of *then*, for the value *before*."""
    both: Options = field(factory=dict)
    """Options in both cases. None removes an option that every source and sink has here."""

    def options(self) -> tuple[Options, Options]:
        return {**self.both, **self.first}, {**self.both, **self.then}
