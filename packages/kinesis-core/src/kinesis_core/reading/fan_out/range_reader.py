"""Reads ranges by subscription, and by polling where a subscription fails."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Generator

from attrs import field, frozen

from kinesis_core.aws import SubscribeApi
from kinesis_core.clock import Clock
from kinesis_core.errors import AccessDeniedError, ServiceError
from kinesis_core.model import Page, ShardRange
from kinesis_core.reading.fan_out.subscription_reader import SubscriptionReader
from kinesis_core.reading.polling import PollingRangeReader
from kinesis_core.reading.range_log import logged
from kinesis_core.reading.settings import FanOutSettings
from kinesis_core.shards import STALLED_PAGES
from kinesis_credentials.logs import get_logger

log = get_logger("kinesis_core")


@frozen
class FanOutRangeReader:
    """
    Reads ranges by subscription, through the API that *api_for* returns for a stream's name.

    When a subscription fails, *polling* reads the rest of the range, unless `fallback_to_polling` is off or access is
    denied.
    """

    api_for: Callable[[str], SubscribeApi]
    polling: PollingRangeReader
    settings: FanOutSettings
    rng: random.Random
    _reasons: list[str] = field(factory=list, init=False)
    """An error code for each range that was polled."""

    def read(self, shard_range: ShardRange, clock: Clock) -> Generator[Page, None, None]:
        """Return the pages of *shard_range* that have records, in order and trimmed to the range."""
        reader = SubscriptionReader(
            self.api_for(shard_range.stream),
            shard_range,
            self.settings,
            self.polling.settings.fail_on_data_loss,
            clock,
            self.rng,
            self.polling.check(shard_range, clock),
            self.polling.with_data,
        )
        return logged(self._pages(reader, clock), reader.progress, clock)

    def _pages(self, reader: SubscriptionReader, clock: Clock) -> Generator[Page, None, None]:
        try:
            yield from reader.pages()
        except ServiceError as error:
            if not self.settings.fallback_to_polling or isinstance(error, AccessDeniedError):
                raise
            self._reasons.append(error.code)
            reader.progress.max_idle_pages = STALLED_PAGES
            yield from self.polling.rest(reader.progress, clock)

    def log_polled(self) -> None:
        """Log how many ranges were polled, in whole or in part, and why. Without such ranges nothing is logged."""
        if self._reasons:
            log.info("fan_out.polled", ranges=len(self._reasons), reasons=dict(Counter(self._reasons)))
