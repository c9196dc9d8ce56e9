"""
The only package that calls AWS; only it imports botocore.

It exports StreamApi and PutApi for one stream, ConsumerApi and SubscribeApi for enhanced fan-out. It handles retries, rate limits,
signing and AWS's errors.
"""

from typing import TYPE_CHECKING

from kinesis_credentials.lazy import lazy_names

if TYPE_CHECKING:
    from kinesis_core.aws.account import list_streams
    from kinesis_core.aws.boto_dry_runs import dry_run_client
    from kinesis_core.aws.calls import read_text
    from kinesis_core.aws.client import BotoStreamApi
    from kinesis_core.aws.clients import find_session, make_client, stream_client, tables_client
    from kinesis_core.aws.connection import Connection, StreamRef
    from kinesis_core.aws.consumer_api import Consumer, ConsumerApi, SubscribeApi
    from kinesis_core.aws.dry_runs import check_reading, check_writing
    from kinesis_core.aws.permission_types import KEY, Call, Location, Purpose, Resource
    from kinesis_core.aws.permissions import CALLS, KEY_USES
    from kinesis_core.aws.rate_limits import ReadRateLimiter
    from kinesis_core.aws.retry import (
        RetryBudget,
        RetryPolicy,
        Throttles,
        call_with_retries,
        log_renewal,
        log_retry,
    )
    from kinesis_core.aws.service_errors import (
        ADVICE_BY_CODE,
        CALL_ERRORS,
        MALFORMED,
        class_of,
        is_retryable,
        malformed,
        translate,
    )
    from kinesis_core.aws.stream_api import PutApi, StreamApi
    from kinesis_core.aws.subscription_clients import consumer_client, subscription_client
    from kinesis_core.aws.transport import FanOutTransport, Transport, check_http2
    from kinesis_core.aws.wire_choice import WireFormat, check_cbor
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "kinesis_core.aws.account": "list_streams",
            "kinesis_core.aws.boto_dry_runs": "dry_run_client",
            "kinesis_core.aws.calls": "read_text",
            "kinesis_core.aws.client": "BotoStreamApi",
            "kinesis_core.aws.clients": "find_session make_client stream_client tables_client",
            "kinesis_core.aws.connection": "Connection StreamRef",
            "kinesis_core.aws.consumer_api": "Consumer ConsumerApi SubscribeApi",
            "kinesis_core.aws.dry_runs": "check_reading check_writing",
            "kinesis_core.aws.permission_types": "KEY Call Location Purpose Resource",
            "kinesis_core.aws.permissions": "CALLS KEY_USES",
            "kinesis_core.aws.rate_limits": "ReadRateLimiter",
            "kinesis_core.aws.retry": (
                "RetryBudget RetryPolicy Throttles call_with_retries log_renewal log_retry"
            ),
            "kinesis_core.aws.service_errors": (
                "ADVICE_BY_CODE CALL_ERRORS MALFORMED class_of is_retryable malformed translate"
            ),
            "kinesis_core.aws.stream_api": "PutApi StreamApi",
            "kinesis_core.aws.subscription_clients": "consumer_client subscription_client",
            "kinesis_core.aws.transport": "FanOutTransport Transport check_http2",
            "kinesis_core.aws.wire_choice": "WireFormat check_cbor",
        },
    )

__all__ = [
    "ADVICE_BY_CODE",
    "BotoStreamApi",
    "CALLS",
    "CALL_ERRORS",
    "Call",
    "Connection",
    "Consumer",
    "ConsumerApi",
    "FanOutTransport",
    "KEY",
    "KEY_USES",
    "Location",
    "MALFORMED",
    "Purpose",
    "PutApi",
    "ReadRateLimiter",
    "Resource",
    "RetryBudget",
    "RetryPolicy",
    "StreamApi",
    "StreamRef",
    "SubscribeApi",
    "Throttles",
    "Transport",
    "WireFormat",
    "call_with_retries",
    "check_cbor",
    "check_http2",
    "check_reading",
    "check_writing",
    "class_of",
    "consumer_client",
    "dry_run_client",
    "find_session",
    "is_retryable",
    "list_streams",
    "log_renewal",
    "log_retry",
    "make_client",
    "malformed",
    "read_text",
    "stream_client",
    "subscription_client",
    "tables_client",
    "translate",
]
