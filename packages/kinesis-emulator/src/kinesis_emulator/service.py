"""The service: the streams, the settings and the clock that all operations share, and how a request gets its response."""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

from kinesis_emulator.errors import AwsError, access_denied, dry_run_succeeded, invalid_argument
from kinesis_emulator.events import log_failure
from kinesis_emulator.faults import EventFault, Fault
from kinesis_emulator.iterators import decode_iterator, encode_iterator
from kinesis_emulator.limits import RateWindow
from kinesis_emulator.requests import Request, check_signature_date
from kinesis_emulator.reshards import finish
from kinesis_emulator.settings import Settings
from kinesis_emulator.shards import canonical_shard_id
from kinesis_emulator.statuses import check_status
from kinesis_emulator.store import Store, StoredStream, stream_arn
from kinesis_emulator.validation import MODEL, check_request

CarryOut = Callable[[Request], Any]
_FAILED = {"ErrorCode": "InternalFailure", "ErrorMessage": "Internal service failure."}


class Calls:
    """How often each action was called, per stream, shard, format and version of HTTP."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, str | None, str | None, str, str]] = Counter()

    def add(self, call: Request) -> None:
        counted = (call.action, call.stream_name, call.shard_id, call.wire_format, call.http_version)
        with self._lock:
            self._counts[counted] += 1

    def count(
        self,
        action: str | None = None,
        stream: str | None = None,
        shard_id: str | None = None,
        *,
        wire_format: str | None = None,
        http_version: str | None = None,
    ) -> int:
        """
        Return the number of calls that match; None matches everything.

        *wire_format* is "json" or "cbor", and *http_version* "1.1" or "2".
        """
        wanted = (action, stream, shard_id, wire_format, http_version)
        with self._lock:
            return sum(
                count
                for call, count in self._counts.items()
                if all(want is None or want == have for want, have in zip(wanted, call, strict=True))
            )

    def by_action(self) -> dict[str, int]:
        """Return the number of calls of each action."""
        totals: Counter[str] = Counter()
        with self._lock:
            for (action, *_), count in self._counts.items():
                totals[action] += count
        return dict(totals)

    def clear(self) -> None:
        """Set all counts to zero."""
        with self._lock:
            self._counts.clear()


class EventStream(Protocol):
    """The result of an operation that responds with events for minutes instead of one body."""

    fault: EventFault | None

    def frames(self) -> Generator[bytes, None, None]:
        """
        Yield frames, the first one at once, and `b""` from time to time while there is no frame to send.

        Raises:
            CutConnectionError: A fault cuts the connection.
        """


ActionResult = dict[str, Any] | bytes | EventStream | None
"""Bytes are in the format of the request."""
Operation = Callable[["Service", Request], ActionResult]


@dataclass(frozen=True)
class Response:
    """
    Status and body of a response: an object, bytes that are sent as they are, or events.

    A body of None closes the connection without a response.
    """

    status: int
    body: dict[str, Any] | bytes | EventStream | None
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

    def find_stream(self, request: Request) -> StoredStream:
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

    def shard_id(self, request: Request, member: str) -> str:
        """Return the id of the shard that *member* of *request* names, in the form of responses."""
        return canonical_shard_id(request.text(member), request.stream_name or "", self.account_of(request))

    def usable_stream(self, arn: str, action: str) -> StoredStream:
        """Return the stream with this ARN if its status allows *action*."""
        now_ms = self.now_ms()
        stream = self.stream(arn, now_ms)
        check_status(stream, action, now_ms)
        return stream

    def stream(self, arn: str, now_ms: int) -> StoredStream:
        """Return the stream with this ARN as it is now: what is due by the clock is done."""
        self.store.bury(now_ms)
        stream = self.store.get(arn)
        finish(self.store, stream, now_ms)
        return stream

    def open_shards(self, region: str, account_id: str) -> int:
        """Return the number of open shards of one region and account in its provisioned streams."""
        for stream in self.store.list(region, account_id):
            finish(self.store, stream, self.now_ms())
        return self.store.open_shards(region, account_id)

    @contextmanager
    def change(self, request: Request) -> Iterator[StoredStream]:
        """
        Yield the stream that *request* changes, locked.

        It is UPDATING from the end of the block on, unless that raises an error or leaves the stream as it was.
        """
        stream = self.find_stream(request)
        with stream.lock:
            check_status(stream, request.action, self.now_ms())  # another change may have come before
            before = stream.version()
            yield stream
            if stream.version() != before:
                stream.begin("UPDATING", self.now_ms(), self.settings.stream_updating_s)
                stream.save()

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
            if not self._rates[action, resource].take(rate, now_s):
                raise AwsError("LimitExceededException", f"Rate exceeded for {resource}.")

    def response(self, request: Request) -> Response:
        """Carry out *request*, and return its response, which may be an error."""
        self.calls.add(request)
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

    def _do_partly(self, fault: Fault, request: Request) -> ActionResult:
        if fault.fail_every and isinstance(request.params.get("Records"), list):
            return put_some(self._result, request, fault.fail_every)
        if fault.empty_page and request.action == "GetRecords":
            return stand_still(self._result, request, fault.millis_behind, self.now_ms())
        if (fault.hide_shards or fault.hide_every) and request.action in ("ListShards", "DescribeStream"):
            return list_some(self._result, request, fault.hide_shards, fault.hide_every)
        return self._result(request)

    def _result(self, request: Request) -> ActionResult:
        operation = self._operations.get(request.action)
        if operation is None:
            raise AwsError("UnknownOperationException", _why_unknown(request.action))
        check_request(request.action, request.params, request.wire_format)
        if request.action in self.settings.deny:
            raise access_denied(request.action, self._resource(request), self.account_of(request))
        return operation(self, request)

    def _resource(self, request: Request) -> str:
        """Return the ARN that an IAM policy has to allow."""
        given = request.optional_text("ConsumerARN") or request.optional_text("StreamARN")
        return given or stream_arn(request.region, self.account_of(request), request.stream_name or "*")


def _why_unknown(action: str) -> str:
    if action in MODEL["operations"]:
        return (
            f"The emulator does not have the operation {action}: queues and channels are other products on top of a stream, "
            "and only streams and their consumers are built."
        )
    return f"Kinesis has no operation {action}."


def _response(result: ActionResult) -> Response:
    return Response(200, b"" if result is None else result)


def error_response(error: AwsError) -> Response:
    name = "Message" if error.code == "SerializationException" else "message"
    return Response(error.status, {"__type": error.code, name: error.message})


def put_some(carry_out: CarryOut, request: Request, fail_every: int) -> dict[str, Any]:
    """Put all records of *request* except every *fail_every*-th, and return PutRecords' response for all of them."""
    records = request.params["Records"]
    fails = [i % fail_every == 0 for i in range(1, len(records) + 1)]
    taken = [record for record, is_lost in zip(records, fails, strict=True) if not is_lost]
    response: dict[str, Any] = {"FailedRecordCount": 0, "Records": []}
    if taken:
        response = carry_out(replace(request, params={**request.params, "Records": taken}))
    results = iter(response["Records"])
    merged = [dict(_FAILED) if is_lost else next(results) for is_lost in fails]
    return {**response, "FailedRecordCount": response["FailedRecordCount"] + sum(fails), "Records": merged}


def stand_still(carry_out: CarryOut, request: Request, millis_behind: int, now_ms: int) -> dict[str, Any]:
    """Return an empty page of GetRecords whose iterator does not advance. Errors of the call are raised as usual."""
    carry_out(request)
    iterator = replace(decode_iterator(request.text("ShardIterator")), created_ms=now_ms)
    return {
        "Records": [],
        "MillisBehindLatest": millis_behind,
        "NextShardIterator": encode_iterator(iterator),
    }


def list_some(
    carry_out: CarryOut, request: Request, hidden: Collection[str], hide_every: int
) -> dict[str, Any]:
    """Return the response of ListShards or DescribeStream without the *hidden* shards and every *hide_every*-th one."""
    response: dict[str, Any] = carry_out(request)
    holder = response.get("StreamDescription", response)
    listed = enumerate(holder["Shards"], 1)
    holder["Shards"] = [
        shard
        for i, shard in listed
        if shard["ShardId"] not in hidden and not (hide_every and i % hide_every == 0)
    ]
    return response
