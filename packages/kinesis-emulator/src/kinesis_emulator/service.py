"""What all operations share: the streams, the settings, the clock, and the way from a request to its answer."""

from __future__ import annotations

import json
import logging
import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from kinesis_emulator.calls import Calls
from kinesis_emulator.errors import AwsError, access_denied, dry_run_succeeded, invalid_argument
from kinesis_emulator.faults import EventFault, Fault
from kinesis_emulator.limits import Limits, RateWindow
from kinesis_emulator.partial_faults import list_some, put_some, stand_still
from kinesis_emulator.requests import Request
from kinesis_emulator.signatures import check_signature_date
from kinesis_emulator.store import Store, Stream, stream_arn

_log = logging.getLogger("kinesis_emulator")


class EventStream(Protocol):
    """What an operation returns that answers with events for minutes instead of with one body."""

    fault: EventFault | None

    def frames(self) -> Generator[bytes, None, None]:
        """
        Yield frames as they come, the first at once, and `b""` now and then while there is nothing to send.

        Raises:
            CutConnectionError: A fault wants the connection cut.
        """


Result = dict[str, Any] | bytes | EventStream | None
Operation = Callable[["Service", Request], Result]


@dataclass
class Settings:
    """How the emulator behaves. Every field may be changed while it runs."""

    limits: Limits = field(default_factory=Limits)
    region: str = "us-east-1"
    """The region of unsigned calls and of the in-process helpers; a signed call brings its own."""
    account_id: str = "000000000000"
    """The account of calls whose access key is not an account's 12 digits, and of the in-process helpers."""
    shard_end: Literal["with_last_records", "page_of_its_own"] = "with_last_records"
    """Where the null NextShardIterator of a closed shard comes."""
    scan_ms: int | None = None
    """How much arrival time one GetRecords call looks through; None: all of it. Makes empty pages with lag."""
    iterator_life_s: float = 300.0
    token_life_s: float = 300.0
    keep_trimmed: bool = True
    """Whether records that left retention stay in memory, for `Emulator.records`."""
    shard_capacity_records: int | None = None
    """How many records a shard holds at least; what is older may leave before its retention is over."""
    consumer_creating_s: float = 0.0
    """How long a registered consumer is CREATING."""
    consumer_deleting_s: float = 0.0
    """How long a deregistered consumer is DELETING, and its name in use."""
    subscription_life_s: float = 300.0
    subscription_seat_s: float = 5.0
    """How long after a SubscribeToShard another one for the same consumer and shard is refused."""
    taken_over: Literal["ends", "fails"] = "fails"
    """Whether a subscription that another one takes over just ends, or with a ResourceInUseException."""
    heartbeat_s: float = 5.0
    """How long a subscription waits for records before it sends an event without any."""
    deny: set[str] = field(default_factory=set)
    """Actions that are answered with AccessDeniedException."""
    knows_dry_run: bool = True
    """Whether `DryRun` counts; a server from before September 2026 carries the call out."""
    fault: Callable[[Request], Fault | None] | None = None
    """Asked before each call, by several threads at once; a function, a `FaultScript` or `RandomFaults`."""
    hide_children_s: float = 0.0
    """How long after a split or merge ListShards and DescribeStream leave the children out."""
    trimmed_start: Literal["oldest_record", "empty_pages"] = "oldest_record"
    """What reading from a place that left retention does: go on at the oldest record, or never get anywhere."""
    readable_after_s: float = 0.0
    """How long after its acknowledgement a record can be read; readers are behind until then."""
    signed_within_s: float | None = None
    """How far the date of a signature may be from the clock, before or after; AWS takes 300. None: any date will do."""
    arrival_jitter_ms: int = 0
    """By how much arrival times may fall behind the clock, at random: they are out of order then."""
    jitter: random.Random = field(default_factory=lambda: random.Random(0))  # noqa: S311 - not secret
    """Where that chance comes from; give it a seed of your own."""


@dataclass(frozen=True)
class Response:
    """
    Status and body of an answer: bytes of JSON, or events.

    A body of None means that the connection is closed without one.
    """

    status: int
    body: bytes | EventStream | None
    fault: Fault | None = None
    """What happens on the answer's way."""


class Service:
    """The emulated service. Thread-safe: the store's locks guard what changes."""

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
        """Return when a record that is put now can be read; 0 for at once."""
        after_s = self.settings.readable_after_s
        return round((self.clock() + after_s) * 1000) if after_s else 0

    def account_of(self, request: Request) -> str:
        """Return the account that *request* is signed for: its access key when that is 12 digits, as accounts are."""
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
        return self.store.get(arn)

    def end_dry_run(self, request: Request) -> None:
        """
        End a dry run whose request is good.

        Operations call this after their checks, and before they count, read or write anything.

        Source: https://docs.aws.amazon.com/streams/latest/dev/kds-dryrun-validation.html
        """
        if self.settings.knows_dry_run and request.is_dry_run:
            raise dry_run_succeeded()

    def admit(self, action: str, resource: str, rate: int | None) -> None:
        """Count a control-plane call on *resource*, or refuse it with a LimitExceededException."""
        now_s = self.clock()
        with self._rates_lock:
            window = self._rates[action, resource]
            if not window.admits(rate, now_s):
                raise AwsError("LimitExceededException", f"Rate exceeded for {resource}.")
            window.add(rate, now_s)

    def response(self, request: Request) -> Response:
        """Carry out *request* and return its answer, errors included."""
        self.calls.add(request.action, request.stream_name, request.shard_id)
        try:
            if self.settings.signed_within_s is not None:
                check_signature_date(request.signed_at, self.clock(), self.settings.signed_within_s)
            fault = self.settings.fault(request) if self.settings.fault else None
            response = _response(self._result(request)) if fault is None else self._suffer(fault, request)
            self.store.tidy_journal()
            return response
        except AwsError as error:
            return error_response(error)
        except Exception:  # noqa: BLE001 - logged, and answered with a 500 as the service would
            _log.exception("%s failed inside the emulator", request.action)
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
            message = f"The emulator does not know the operation {request.action}."
            raise AwsError("UnknownOperationException", message)
        if request.action in self.settings.deny:
            raise access_denied(request.action, self._resource(request), self.account_of(request))
        return operation(self, request)

    def _resource(self, request: Request) -> str:
        """Return the ARN that a policy would have to allow."""
        given = request.optional_text("ConsumerARN") or request.optional_text("StreamARN")
        return given or stream_arn(request.region, self.account_of(request), request.stream_name or "*")


def _response(result: Result) -> Response:
    return Response(200, _json(result) if result is None or isinstance(result, dict) else result)


def error_response(error: AwsError) -> Response:
    return Response(error.status, _json({"__type": error.code, "message": error.message}))


def _json(value: dict[str, Any] | None) -> bytes:
    return b"" if value is None else json.dumps(value, separators=(",", ":")).encode()
