"""The consumer of one stream that a plain Python program uses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import frozen

from kinesis_core.aws import (
    Connection,
    Consumer,
    ConsumerApi,
    StreamRef,
    SubscribeApi,
    consumer_client,
    subscription_client,
)
from kinesis_core.clock import Clock
from kinesis_core.errors import OptionError
from kinesis_core.model import Page, RangeGroup, ShardRange
from kinesis_core.reading.concurrent import read_concurrently
from kinesis_core.reading.fan_out.consumers import check_permission, find_consumer, remove_consumer
from kinesis_core.reading.fan_out.range_reader import FanOutRangeReader
from kinesis_core.reading.polling import PollingRangeReader
from kinesis_core.reading.settings import FanOutSettings


@frozen
class StreamConsumer:
    """An ACTIVE consumer of a stream. `close` removes it if it was given by name and is not kept."""

    consumer: Consumer
    settings: FanOutSettings
    subscriptions: SubscribeApi
    _consumers: ConsumerApi | None = None
    """Removes the consumer at the end. None: it stays."""

    @staticmethod
    def open(
        connection: Connection,
        stream_arn: str,
        name_or_arn: str,
        keep: bool,
        settings: FanOutSettings,
        clock: Clock,
    ) -> StreamConsumer:
        """
        Find or register the consumer of the stream in *connection*, and wait until it is ACTIVE.

        Raises:
            OptionError: The ARN belongs to a consumer of another stream, or HTTP/2 is asked for and not installed.
            ServiceError: The consumer cannot be found or registered, is not ACTIVE in time, or SubscribeToShard is denied.
        """
        is_arn = name_or_arn.startswith("arn:")
        if is_arn and name_or_arn.partition("/consumer/")[0] != stream_arn:
            raise OptionError(
                f"'{name_or_arn}' is not a consumer of {stream_arn}. Give the name or the ARN of a consumer of this stream."
            )
        ref: StreamRef = connection.streams[0]
        consumers = consumer_client(connection, ref)
        found = find_consumer(
            consumers, name_or_arn, settings.timeout_s, clock, keep=keep, tags=settings.consumer_tags
        )
        deregister_on_stop = not (is_arn or keep)
        try:
            subscriptions = subscription_client(connection, ref, found.arn, settings.transport)
            check_permission(subscriptions)
        except BaseException:
            if deregister_on_stop:
                remove_consumer(consumers, found)
            raise
        return StreamConsumer(found, settings, subscriptions, consumers if deregister_on_stop else None)

    @staticmethod
    def again(connection: Connection, consumer: Consumer, settings: FanOutSettings) -> StreamConsumer:
        """Return a consumer that is open elsewhere, for another process. It makes no call, and does not remove the consumer."""
        (ref,) = connection.streams
        subscriptions = subscription_client(connection, ref, consumer.arn, settings.transport)
        return StreamConsumer(consumer, settings, subscriptions)

    def read(
        self, groups: Sequence[RangeGroup], polling: PollingRangeReader, clock: Clock
    ) -> Iterator[tuple[ShardRange, Page]]:
        """Yield the pages of all *groups* as `read_concurrently` does. *polling* reads what subscriptions cannot."""
        ranges = FanOutRangeReader(lambda _: self.subscriptions, polling, self.settings, polling.rng)
        settings = polling.settings
        yield from read_concurrently(groups, ranges, settings.threads, clock, settings.max_buffered_bytes)
        ranges.log_polled()

    def close(self) -> None:
        """Remove the consumer if it was given by name and is not kept."""
        if self._consumers is not None:
            remove_consumer(self._consumers, self.consumer)
