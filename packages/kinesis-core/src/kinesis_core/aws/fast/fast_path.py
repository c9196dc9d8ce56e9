"""
The three calls whose number grows with shards and records, past most of botocore.

A call through a botocore client takes about 0.7 ms of CPU; sending and receiving are a third of that. So the first call of
an action on a stream goes through the client. Later calls repeat its request with another body and signature. Endpoint,
credentials and their renewal, proxies, certificates, connections and the texts of errors stay botocore's. If anything
is not as expected, the call goes through the client, like the first one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime, timezone
from typing import Any

from attrs import define, field
from botocore import xform_name
from botocore.awsrequest import AWSPreparedRequest, AWSRequest
from botocore.client import BaseClient
from botocore.credentials import Credentials, ReadOnlyCredentials
from botocore.exceptions import ClientError
from botocore.hooks import first_non_none_response
from botocore.parsers import create_parser

from kinesis_core.aws.fast.direct_transport import DirectTransport
from kinesis_core.aws.fast.signing import RequestTemplate, find_template
from kinesis_core.aws.fast.wire_format import CBOR_TYPE, is_cbor, verify_refusal, verify_success
from kinesis_core.aws.retry import log_retry
from kinesis_core.aws.service_errors import is_final
from kinesis_core.aws.transport import HttpResponse, HttpTransport, Transport
from kinesis_core.aws.wire_choice import WireFormat
from kinesis_core.budget import admit
from kinesis_credentials.failures import ErrorResponse
from kinesis_credentials.logs import get_logger

log = get_logger("kinesis_core")

BODY = "KinesisCoreBody"
"""The key of a response's undecoded body. The caller decodes it: botocore's parser takes longest of all."""
SUMMARY = "KinesisCoreSummary"
"""The key in the response of DescribeStreamSummary with all that Kinesis reports, also what botocore is too old to know."""
_CALL = "KinesisCoreCall"
_PLACEHOLDERS: Mapping[str, Mapping[str, Any]] = {
    "GetShardIterator": {"ShardId": "-", "ShardIteratorType": "LATEST"},
    "GetRecords": {"ShardIterator": "-"},
    "PutRecords": {"Records": ({"Data": b"", "PartitionKey": "-"},)},
}
"""Parameters that botocore checks and serializes in place of the ready-made body."""


@define
class _WholeCall:
    """A call through the client, and the requests that it made."""

    body: bytes
    wire_format: WireFormat
    requests: list[AWSRequest] = field(factory=list)


def install_raw_bodies(client: BaseClient, wire_format: WireFormat = WireFormat.JSON) -> None:
    """
    Let the three calls of *client* take ready-made bodies, and return the bodies of successful responses unparsed.

    With CBOR as the *wire_format*, errors in CBOR are parsed like those in JSON.
    """
    events = client.meta.events
    for action in _PLACEHOLDERS:
        events.register(f"provide-client-params.kinesis.{action}", _set_aside)
        events.register(f"before-call.kinesis.{action}", _give_body)
        events.register(f"before-parse.kinesis.{action}", _take_body)
        if wire_format is WireFormat.CBOR:
            events.register(f"before-parse.kinesis.{action}", _translate_error)
    events.register_last("request-created", _note_request)  # after the signing


def install_raw_listing(client: BaseClient) -> None:
    """Let ListShards of *client* return its body unparsed: a page has up to 10,000 shards, and botocore takes 20 us for each."""
    client.meta.events.register("before-parse.kinesis.ListShards", _take_body)


def install_whole_summary(client: BaseClient) -> None:
    """Let DescribeStreamSummary of *client* return `SUMMARY`."""
    client.meta.events.register("before-parse.kinesis.DescribeStreamSummary", _take_summary)


def _take_summary(response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: Any) -> None:
    with suppress(
        ValueError, LookupError, TypeError, AttributeError
    ):  # botocore reports what is wrong with such a response
        facts = json.loads(response_dict["body"])["StreamDescriptionSummary"]
        customized_response_dict[SUMMARY] = {name: fact for name, fact in facts.items() if fact is not None}


def _set_aside(params: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
    context[_CALL] = params.pop(_CALL)  # botocore knows no such parameter


def _give_body(params: dict[str, Any], **_: Any) -> None:
    call: _WholeCall = params["context"][_CALL]
    params["body"] = call.body
    if call.wire_format is WireFormat.CBOR:
        params["headers"]["Content-Type"] = CBOR_TYPE  # templates repeat it


def _note_request(request: AWSRequest, **_: Any) -> None:
    call: _WholeCall | None = request.context.get(_CALL)
    if call is not None:
        call.requests.append(request)


def _take_body(response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: Any) -> None:
    if response_dict["status_code"] < 300:
        customized_response_dict[BODY] = response_dict["body"]
        response_dict["body"] = b"{}"


def _translate_error(response_dict: dict[str, Any], **_: Any) -> None:
    """Put JSON, which botocore parses, in place of an error in CBOR."""
    if response_dict["status_code"] >= 300 and is_cbor(response_dict["headers"].get("content-type")):
        from kinesis_core.aws.fast.wire_cbor import error_as_json

        response_dict["body"] = error_as_json(response_dict["body"])


def _utc_now() -> datetime:
    return datetime.now(timezone.utc)


@define
class FastPath:
    """
    The calls on one stream through *client*, which signs with *credentials*. Safe in threads.

    `install_raw_bodies` was called with the client.
    """

    client: Any
    credentials: Credentials
    chosen: Transport = Transport.DIRECT
    wire_format: WireFormat = WireFormat.JSON
    """The format of bodies given to `call`, and of those that it returns."""
    _utc_now: Callable[[], datetime] = _utc_now
    _templates: dict[str, RequestTemplate] = field(factory=dict, init=False)
    _transport: HttpTransport | None = field(init=False)
    """None: the client signs and sends every call."""

    @_transport.default
    def _find_transport(self) -> HttpTransport | None:
        # These names are not documented: with a botocore that lacks them, the client sends every call.
        session = getattr(getattr(self.client, "_endpoint", None), "http_session", None)
        return DirectTransport(session) if session and self.chosen is Transport.DIRECT else None

    def __attrs_post_init__(self) -> None:
        used = Transport.DIRECT if self._transport else Transport.BOTOCORE
        log.debug("transport.chosen", transport=used.value, endpoint=self.client.meta.endpoint_url)

    def call(self, action: str, stream: Mapping[str, str], body: bytes) -> dict[str, Any]:
        """
        Return the response with its `BODY`. *stream* holds the parameters that choose the endpoint.

        Raises:
            `CALL_ERRORS`, as the client does; a `NotCborError` among them.
        """
        keys = self.credentials.get_frozen_credentials()
        template, response = self._templates.get(action), None
        try:
            if self._transport is not None and template is not None and template.keys == keys:
                request = template.make(body, self._utc_now())
                response = self._call_directly(self._transport, action, stream, request)
            if response is None:
                response = self._call_whole(action, stream, body, keys)
        except ClientError as refusal:
            if self.wire_format is WireFormat.CBOR:
                verify_refusal(refusal, action, self.client.meta.endpoint_url)
            raise
        if self.wire_format is WireFormat.CBOR:
            verify_success(response, response[BODY], action, self.client.meta.endpoint_url)
        return response

    def _call_whole(
        self, action: str, stream: Mapping[str, str], body: bytes, keys: ReadOnlyCredentials
    ) -> dict[str, Any]:
        if action == "GetRecords":
            admit(None)  # botocore does not say how long a body is before it reads it
        self._templates.pop(action, None)
        call = _WholeCall(body, self.wire_format)
        request = {**stream, **_PLACEHOLDERS[action], _CALL: call}
        response: dict[str, Any] = getattr(self.client, xform_name(action))(**request)
        if len(call.requests) == 1 and self._transport is not None:
            template = find_template(call.requests[0].prepare(), keys)
            if template is not None:
                self._templates[action] = template
        return response

    def _call_directly(
        self, transport: HttpTransport, action: str, stream: Mapping[str, str], request: AWSPreparedRequest
    ) -> dict[str, Any] | None:
        """Return the response, or None if the client has to make the call: keys may be stale, or the endpoint another."""
        handled = self.client.meta.events.emit(f"before-send.kinesis.{action}", request=request)
        instead = first_non_none_response(handled)
        if instead is None:
            response = transport.send(request, is_changed=bool(handled))
        else:  # a hook of the user responds instead of the service
            response = HttpResponse(instead.status_code, instead.headers, instead.content)
        if response.status < 300:
            return {BODY: response.body, "ResponseMetadata": {"HTTPHeaders": response.headers}}
        refusal = self._parse_refusal(action, response)
        # Every other refusal changed nothing, so the call may be repeated.
        code = ErrorResponse.of(refusal).code
        if response.status >= 500 or is_final(code):
            raise refusal
        log_retry(action, code, 1, 0.0, stream="".join(stream.values()))
        return None

    def _parse_refusal(self, action: str, response: HttpResponse) -> ClientError:
        model = self.client.meta.service_model.operation_model(action)
        facts = {"status_code": response.status, "headers": response.headers, "body": bytes(response.body)}
        if self.wire_format is WireFormat.CBOR:
            _translate_error(facts)
        parser = create_parser(model.metadata["protocol"])
        return ClientError(parser.parse(facts, model.output_shape), action)
