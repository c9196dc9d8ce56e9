"""Calls on one stream through a botocore client, with retries and errors of this package."""

from __future__ import annotations

import random
import threading
from collections import deque
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from functools import lru_cache, partial
from typing import Any, TypeVar

import botocore.exceptions
from attrs import define, field
from botocore import xform_name

from kinesis_core.aws.retry import RetryBudget, RetryPolicy, Throttles, call_with_retries
from kinesis_core.aws.service_errors import CALL_ERRORS, MALFORMED, malformed, not_ready, translate
from kinesis_core.clock import Clock
from kinesis_core.errors import (
    InvalidRequestError,
    MalformedResponseError,
    ResourceInUseError,
    ServiceError,
    StreamNotFoundError,
)
from kinesis_core.model import CLOCK_MARGIN_MS
from kinesis_credentials.failures import ErrorResponse, cause_of

_REMEMBERED = 64
_STEP_MS = 3000
"""If a response shows a time this much earlier than others did, it was very slow, or our own clock was set forward."""


@define
class ServiceClock:
    """
    A lower bound of the service's clock. It is needed because Kinesis refuses timestamps in the future.

    A Date header is cut to the second, so each response shows the least by which the service is ahead of our clock. The
    largest of the last values is right to within the length of a call, however wrong our own clock is.
    """

    _clock: Clock
    _ahead_ms: deque[float] = field(factory=lambda: deque(maxlen=_REMEMBERED), init=False)
    _most_ms: float = field(default=-CLOCK_MARGIN_MS, init=False)
    """The largest of them. A plan asks for the time more often than it makes calls."""
    _lock: threading.Lock = field(factory=threading.Lock, init=False)

    def note(self, date: str | None) -> None:
        """Learn from the Date header of a response that has just come; a missing or malformed header changes nothing."""
        service_s = _epoch_s(date or "")
        if service_s is None:
            return
        with self._lock:
            ahead_ms = (service_s - self._clock.now_s()) * 1000
            if self._most_ms > ahead_ms + _STEP_MS:
                self._ahead_ms.clear()
            self._ahead_ms.append(ahead_ms)
            self._most_ms = max(self._ahead_ms)

    def forget(self) -> None:
        """Forget all headers: a request was refused, perhaps because its time is in the service's future."""
        with self._lock:
            self._ahead_ms.clear()
            self._most_ms = -CLOCK_MARGIN_MS

    def now_ms(self) -> int:
        return int(self._clock.now_s() * 1000 + self._most_ms)


@lru_cache(maxsize=4)
def _epoch_s(date: str) -> float | None:
    """Return the seconds of a Date header; None if it is malformed. All responses of a second have the same one."""
    try:
        return parsedate_to_datetime(date).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None


T = TypeVar("T")

DESCRIBE = "DescribeStreamSummary"
_USABLE = ("CREATING", "ACTIVE", "UPDATING")
"""The statuses of a stream that can be used, if not yet."""


def read_text(facts: Mapping[str, Any], name: str) -> str:
    """Return the text *name* of a response. botocore does not check types."""
    value = facts[name]
    if not isinstance(value, str):
        raise TypeError(repr(name))
    return value


def read_optional_text(facts: Mapping[str, Any], name: str) -> str | None:
    return None if facts.get(name) is None else read_text(facts, name)


@define
class BotoCaller:
    """Shared by all clients of one stream. Requests name the stream by its ARN if that is known."""

    client: Any
    name: str
    arn: str | None
    policy: RetryPolicy
    clock: Clock
    rng: random.Random
    budget: RetryBudget = field(factory=RetryBudget, kw_only=True)
    _service: ServiceClock = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._service = ServiceClock(self.clock)

    def now_ms(self) -> int:
        """Return the service's clock in milliseconds since the epoch: a lower bound, learned from Date headers."""
        return self._service.now_ms()

    @property
    def _stream(self) -> dict[str, str]:
        return {"StreamARN": self.arn} if self.arn else {"StreamName": self.name}

    def ask(self, action: str, parse: Callable[[dict[str, Any]], Any] = dict, /, **request: Any) -> Any:
        """Return what *parse* reads from the response to an action that no other method calls, such as `DescribeLimits`."""
        call = getattr(self.client, xform_name(action))
        return self._ask(action, lambda: call(**request), parse)

    def _ask(
        self,
        action: str,
        call: Callable[[], dict[str, Any]],
        parse: Callable[[dict[str, Any]], T],
        throttles: Throttles = Throttles.WAITED_OUT,
        **where: str,
    ) -> T:
        """Return what *parse* reads from the response to *call*, which is retried."""
        return call_with_retries(
            action,
            partial(self._ask_once, action, call, parse, **where),
            self.policy,
            self.clock,
            self.rng,
            self.budget,
            throttles=throttles,
            stream=self.arn or self.name,
            **where,
        )

    def _ask_once(
        self,
        action: str,
        call: Callable[[], dict[str, Any]],
        parse: Callable[[dict[str, Any]], T],
        **where: str,
    ) -> T:
        response = self._call(action, call, **where)
        try:
            return parse(response)
        except MALFORMED as error:
            raise self._malformed(action, where, error, response) from error

    def _call(self, action: str, call: Callable[[], dict[str, Any]], **where: str) -> dict[str, Any]:
        try:
            response = call()
        except CALL_ERRORS as error:
            refusal = self._explain(action, where, error)
            if isinstance(refusal, InvalidRequestError):
                self._service.forget()
            if isinstance(error, botocore.exceptions.ClientError):
                self._note_time(error.response)
            raise refusal from cause_of(error)
        except MALFORMED as error:
            raise self._malformed(action, where, error, {}) from error
        self._note_time(response)
        return response

    def _explain(self, action: str, where: Mapping[str, str], error: Exception) -> ServiceError:
        """
        Return our error for one of `CALL_ERRORS`. It says that the stream is not ready, if a description contradicts a refusal.

        Just after a stream is ACTIVE, some of Kinesis' servers do not know it yet, or take it for one that is CREATING.
        """
        refusal = translate(action, self._where(where), error)
        text = _text_about_stream(error, refusal)
        status = self._status() if text and action != DESCRIBE else ""
        if status not in _USABLE:
            return refusal
        what = (
            f"{refusal.code} (request id {refusal.request_id or 'none'}): {text}, but its status is {status}"
        )
        return not_ready(action, self._where(where), what, refusal.code, refusal.request_id)

    def _status(self) -> str:
        """Return the status of the stream by one call; "" if that fails, too."""
        try:
            response = self.client.describe_stream_summary(**self._stream)
            return read_text(response["StreamDescriptionSummary"], "StreamStatus")
        except (*CALL_ERRORS, *MALFORMED):  # the refusal is reported
            return ""

    def _malformed(
        self, action: str, where: Mapping[str, str], error: Exception, response: Mapping[str, Any]
    ) -> MalformedResponseError:
        endpoint_url, metadata = self.client.meta.endpoint_url, response.get("ResponseMetadata", {})
        return malformed(action, self._where(where), error, endpoint_url=endpoint_url, metadata=metadata)

    def _where(self, where: Mapping[str, str]) -> dict[str, str]:
        return {"stream": self.arn or self.name, **where}

    def _note_time(self, response: Mapping[str, Any]) -> None:
        self._service.note(response.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date"))


def _text_about_stream(error: Exception, refusal: ServiceError) -> str:
    """Return the text of a refusal that concerns the stream as a whole, and no shard or consumer of it; else ""."""
    is_refusal = isinstance(refusal, (StreamNotFoundError, ResourceInUseError))
    text = ErrorResponse.of(error).message if is_refusal else ""
    return text if text.startswith("Stream ") else ""
