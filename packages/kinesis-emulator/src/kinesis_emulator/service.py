"""The service: the streams, the settings and the clock that all operations share, and how a request gets its response."""

from __future__ import annotations

import json
import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from kinesis_emulator.calls import Calls
from kinesis_emulator.errors import AwsError, access_denied, dry_run_succeeded, invalid_argument
from kinesis_emulator.events import log_failure
from kinesis_emulator.faults import EventFault, Fault
from kinesis_emulator.limits import Limits, RateWindow
from kinesis_emulator.partial_faults import list_some, put_some, stand_still
from kinesis_emulator.requests import Request
from kinesis_emulator.signatures import check_signature_date
from kinesis_emulator.statuses import check_status
from kinesis_emulator.store import Store, Stream, stream_arn


class EventStream(Protocol):
    """The result of an operation that responds with events for minutes instead of one body."""

    fault: EventFault | None

    def frames(self) -> Generator[bytes, None, None]:
        """
        Yield frames, the first one at once, and `b""` from time to time while there is no frame to send.

        Raises:
            CutConnectionError: A fault cuts the connection.
        """


Result = dict[str, Any] | bytes | EventStream | None
Operation = Callable[["Service", Request], Result]


@dataclass
class Settings:
    """The behaviour of the emulator. Every field may be changed while it runs."""

    limits: Limits = field(default_factory=Limits)
    region: str = "us-east-1"
    """The region of unsigned calls and of `Emulator`'s methods. A signed call has its own."""
    account_id: str = "000000000000"
    """The account of `Emulator`'s methods, and of calls whose access key is not an account's 12 digits."""
    shard_end: Literal["with_last_records", "page_of_its_own"] = "with_last_records"
    """The page with the null NextShardIterator of a closed shard: the last one with records, or an empty one after it."""
    scan_ms: int | None = None
    """The range of arrival times that one GetRecords call searches; None: all. It gives empty pages with lag."""
    iterator_life_s: float = 300.0
    token_life_s: float = 300.0
    keep_trimmed: bool = True
    """Whether expired records stay in memory for `Emulator.records`."""
    shard_capacity_records: int | None = None
    """A shard keeps at least this many records, and may remove older ones before they expire. None: only by retention."""
    creating_s: float = 0.0
    """How long a new stream is CREATING. Kinesis then refuses to list, read and write it."""
    settling_s: float = 0.0
    """For this time after a new stream is ACTIVE by its description, calls are still refused as if it was CREATING."""
    updating_s: float = 0.0
    """How long a stream is UPDATING after a change, such as a reshard. Further changes are refused meanwhile."""
    deleting_s: float = 0.0
    """How long a deleted stream is DELETING, with its name in use."""
    consumer_creating_s: float = 0.0
    """How long a registered consumer is CREATING."""
    consumer_deleting_s: float = 0.0
    """How long a deregistered consumer is DELETING, with its name in use."""
    subscription_life_s: float = 300.0
    resubscribe_after_s: float = 5.0
    """For this time after a SubscribeToShard another one for the same consumer and shard is refused."""
    taken_over: Literal["ends", "fails"] = "fails"
    """How a subscription ends that another one takes over: normally, or with a ResourceInUseException."""
    heartbeat_s: float = 5.0
    """How long a subscription waits for records before it sends an empty event."""
    deny: set[str] = field(default_factory=set)
    """The actions that fail with AccessDeniedException."""
    knows_dry_run: bool = True
    """Whether `DryRun` is supported. A server from before September 2026 ignores it and carries the call out."""
    fault: Callable[[Request], Fault | None] | None = None
    """Called before each call, by several threads at once: a function, a `FaultScript` or `RandomFaults`."""
    hide_children_s: float = 0.0
    """For this time after a split or merge ListShards and DescribeStream leave the children out."""
    trimmed_start: Literal["oldest_record", "empty_pages"] = "oldest_record"
    """Reading from an expired position continues at the oldest record, or returns empty pages for ever."""
    readable_after_s: float = 0.0
    """How long after its acknowledgement a record can be read. Until then readers have a lag."""
    signed_within_s: float | None = None
    """The maximum distance of a signature's date from the clock in seconds; AWS's value is 300. None: no check."""
    arrival_jitter_ms: int = 0
    """Arrival times are up to this much before the clock, at random, and so out of order."""
    jitter: random.Random = field(default_factory=lambda: random.Random(0))  # noqa: S311 - not secret
    """The randomness of arrival times. Set one with a seed of your own."""


@dataclass(frozen=True)
class Response:
    """
    Status and body of a response: JSON as bytes, or events.

    A body of None closes the connection without a response.
    """

    status: int
    body: bytes | EventStream | None
    fault: Fault | None = None
    """A fault while the response is sent."""


class Service:
    """The emulated service. Thread-safe: the store's locks guard all changes."""

    def __init__(
        self,
        operations: Mapping[str, Operation],
        settings: Settings,
        clock: Callable[[], float],
        store: Store,
    ) -> None:
        self._operations = operations
        self.settings = settings
        self.clock = clock
        self.store = store
        self.calls = Calls()
        self._rates: defaultdict[tuple[str, str], RateWindow] = defaultdict(RateWindow)
        self._rates_lock = threading.Lock()

    def now_ms(self) -> int:
        return round(self.clock() * 1000)

    def readable_ms(self) -> int:
        """Return the time from which a record that is put now can be read; 0 means at once."""
        after_s = self.settings.readable_after_s
        return round((self.clock() + after_s) * 1000) if after_s else 0

    def account_of(self, request: Request) -> str:
        """Return the account of *request*: its access key if that has 12 digits like an account, else the default."""
        key = request.access_key
        return key if len(key) == 12 and key.isdecimal() else self.settings.account_id

    def find_stream(self, request: Request) -> Stream:
        """Return the stream that *request* names by StreamARN or StreamName."""
        arn = request.optional_text("StreamARN")
        name = request.optional_text("StreamName")
        if arn is None and name is None:
            raise invalid_argument("Either StreamName or StreamARN must be specified.")
        if arn is None:
            arn = stream_arn(request.region, self.account_of(request), name or "")
        elif name is not None and not arn.endswith(f"/{name}"):
            raise invalid_argument(f"StreamARN {arn} and StreamName {name} do not name the same stream.")
        return self.usable_stream(arn, request.action)

    def usable_stream(self, arn: str, action: str) -> Stream:
        """Return the stream with this ARN if its status allows *action*."""
        now_ms = self.now_ms()
        self.store.bury(now_ms)
        stream = self.store.get(arn)
        check_status(stream, action, self.settings, now_ms)
        return stream

    def end_dry_run(self, request: Request) -> None:
        """
        End a dry run whose request is valid.

        Operations call this after their checks, before they count, read or write anything.

        Source: https://docs.aws.amazon.com/streams/latest/dev/kds-dryrun-validation.html
        """
        if self.settings.knows_dry_run and request.is_dry_run:
            raise dry_run_succeeded()

    def admit(self, action: str, resource: str, rate: int | None) -> None:
        """Count a control-plane call on *resource*; raise a LimitExceededException above *rate* calls a second."""
        now_s = self.clock()
        with self._rates_lock:
            window = self._rates[action, resource]
            if not window.admits(rate, now_s):
                raise AwsError("LimitExceededException", f"Rate exceeded for {resource}.")
            window.add(rate, now_s)

    def response(self, request: Request) -> Response:
        """Carry out *request*, and return its response, which may be an error."""
        self.calls.add(request.action, request.stream_name, request.shard_id, request.wire_format)
        try:
            if self.settings.signed_within_s is not None:
                check_signature_date(request.signed_at, self.clock(), self.settings.signed_within_s)
            fault = self.settings.fault(request) if self.settings.fault else None
            return _response(self._result(request)) if fault is None else self._suffer(fault, request)
        except AwsError as error:
            return error_response(error)
        except Exception:  # noqa: BLE001 - it is logged, and the client gets a 500 as from the service
            log_failure(request.action)
            return error_response(
                AwsError("InternalFailure", "The emulator failed; see its log.", status=500)
            )

    def _suffer(self, fault: Fault, request: Request) -> Response:
        if fault.delay_s:
            time.sleep(fault.delay_s)
        if fault.drop_request:
            return Response(0, None, fault)
        if fault.body is not None:
            return Response(fault.status, fault.body, fault)
        if fault.code is not None:
            raise AwsError(fault.code, fault.message, fault.status)
        result = self._do_partly(fault, request)
        if fault.drop_response:
            return Response(0, None, fault)
        if result is not None and not isinstance(result, dict | bytes):
            result.fault = fault.events
        return replace(_response(result), fault=fault)

    def _do_partly(self, fault: Fault, request: Request) -> Result:
        if fault.fail_every and request.action == "PutRecords":
            return put_some(self._result, request, fault.fail_every)
        if fault.empty_page and request.action == "GetRecords":
            return stand_still(self._result, request, fault.millis_behind, self.now_ms())
        if (fault.hide_shards or fault.hide_every) and request.action in ("ListShards", "DescribeStream"):
            return list_some(self._result, request, fault.hide_shards, fault.hide_every)
        return self._result(request)

    def _result(self, request: Request) -> Result:
        operation = self._operations.get(request.action)
        if operation is None:
            message = f"The emulator does not support the operation {request.action}."
            raise AwsError("UnknownOperationException", message)
        if request.action in self.settings.deny:
            raise access_denied(request.action, self._resource(request), self.account_of(request))
        return operation(self, request)

    def _resource(self, request: Request) -> str:
        """Return the ARN that an IAM policy has to allow."""
        given = request.optional_text("ConsumerARN") or request.optional_text("StreamARN")
        return given or stream_arn(request.region, self.account_of(request), request.stream_name or "*")


def _response(result: Result) -> Response:
    return Response(200, _json(result) if result is None or isinstance(result, dict) else result)


def error_response(error: AwsError) -> Response:
    return Response(error.status, _json({"__type": error.code, "message": error.message}))


def _json(value: dict[str, Any] | None) -> bytes:
    return b"" if value is None else json.dumps(value, separators=(",", ":")).encode()
