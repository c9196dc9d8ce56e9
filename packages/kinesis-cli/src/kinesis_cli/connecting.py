"""The options of every command that calls AWS. Keys are never options: other users of the machine see command lines."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import frozen
from cyclopts import Group, Parameter

from kinesis_cli.ending import UsageError
from kinesis_cli.waiting import note_silence

if TYPE_CHECKING:
    from kinesis_core import Producer, ProducerSettings, Stream
    from kinesis_core.aws import Connection
    from kinesis_credentials import CredentialSpec

GROUP = Group("Connection", sort_key=100)
_SESSION_NAME = "kinesis-cli"


@Parameter(name="*", group=GROUP)
@frozen(kw_only=True)
class Connect:
    """How to reach AWS. All of it may come from the environment and from the AWS configuration files instead."""

    region: str | None = None
    "The region. Default: the region of the ARN, of the endpoint, or of the AWS configuration."
    endpoint_url: str | None = None
    "Another endpoint of Kinesis, such as a local server. Default: AWS_ENDPOINT_URL, else AWS."
    profile: str | None = None
    "A profile of the AWS configuration files. Default: AWS_PROFILE, else what botocore finds."
    role_arn: str | None = None
    "A role to assume with these credentials."
    external_id: str | None = None
    "The external ID that the role asks for."
    role_session_name: str = _SESSION_NAME
    "The name of the role's session, as CloudTrail shows it."

    @property
    def credentials(self) -> CredentialSpec | None:
        """The source of the credentials. None is botocore's chain, which finds keys in the environment."""
        from kinesis_credentials import AssumeRole, DefaultChain, Profile

        base = Profile(self.profile) if self.profile else None
        if self.role_arn is None:
            if self.external_id is not None:
                raise UsageError("--external-id needs --role-arn.")
            return base
        return AssumeRole(base or DefaultChain(), self.role_arn, self.role_session_name, self.external_id)

    @property
    def _arguments(self) -> dict[str, Any]:
        return {
            "region": self.region,
            "endpoint_url": self.endpoint_url,
            "credentials": self.credentials,
        }

    def to(self, stream: str) -> Connection:
        """
        Return the connection to *stream*, a name or ARN. It makes no call.

        Raises:
            OptionError: It is neither, or the endpoint is no URL.
            RegionError: No region is found.
        """
        from kinesis_core.aws import Connection

        return note_silence(Connection.to_stream(stream, **self._arguments))

    def region_source(self, stream: str) -> str:
        """Return where the region of *stream* comes from, for people."""
        if self.region is not None:
            return "--region"
        if stream.startswith("arn:"):
            return "the ARN"
        for variable in ("AWS_DEFAULT_REGION", "AWS_REGION"):
            if os.environ.get(variable):
                return variable
        return "the endpoint or the AWS configuration"

    def to_account(self) -> Connection:
        """
        Return the connection to the account and region, for its streams and tables. It makes no call.

        Raises:
            OptionError: The endpoint is no URL.
            RegionError: No region is found.
        """
        from kinesis_core.aws import Connection

        return note_silence(Connection.to_account(**self._arguments))

    def open(self, stream: str, *, consumer: str | None = None, consumer_tags: str | None = None) -> Stream:
        """
        Return *stream*, a name or ARN, to read from: by polling, or by enhanced fan-out as *consumer*.

        A consumer that does not exist is registered with *consumer_tags*, and removed when the stream is closed. One that exists is
        kept.

        Raises:
            UsageError: The tags are malformed, or there is no consumer to have them.
            StreamNotFoundError, ServiceError, CredentialsError: As in `Stream.open`.
        """
        from kinesis_core import FanOutSettings, Stream

        if consumer_tags is not None and consumer is None:
            raise UsageError("--consumer-tags needs --efo.")
        fan_out = FanOutSettings(consumer_tags=_parse_tags(consumer_tags) if consumer_tags else {})
        connection = self.to(stream)  # with the same session as that of the stream
        is_kept = consumer is not None and _has_consumer(connection, consumer)
        return Stream.open(
            stream, consumer=consumer, keep_consumer=is_kept, fan_out=fan_out, **self._arguments
        )

    def open_producer(self, stream: str, settings: ProducerSettings) -> Producer:
        """
        Return a producer for *stream*, a name or ARN. It makes two calls.

        Raises:
            StreamNotFoundError, ServiceError, CredentialsError: As in `Producer.open`.
        """
        from kinesis_core import Producer

        self.to(stream)  # with the same session as that of the producer
        return Producer.open(stream, settings=settings, **self._arguments)


@Parameter(name="*", group=GROUP)
@frozen(kw_only=True)
class ConnectWithTables(Connect):
    """The same, for commands that also look at leases."""

    dynamodb_endpoint_url: str | None = None
    "Another endpoint of DynamoDB. Default: AWS_ENDPOINT_URL_DYNAMODB, else AWS."
    leases: Path | None = None
    "The file of SQLite in which consumer groups keep their leases. Default: a table of DynamoDB."


def _parse_tags(text: str) -> Mapping[str, str]:
    from kinesis_core.options import BadValueError, tags

    parser = tags()
    try:
        return parser.parse(text)
    except BadValueError as error:
        raise UsageError(
            f"--consumer-tags is '{text}'. Use {parser.domain}. {error.hint}".rstrip()
        ) from error


def _has_consumer(connection: Connection, name_or_arn: str) -> bool:
    from kinesis_core import StreamNotFoundError
    from kinesis_core.aws import consumer_client

    try:
        found = consumer_client(connection, connection.streams[0]).describe_consumer(name_or_arn)
    except StreamNotFoundError:
        return False
    return found.status != "DELETING"  # by a command before this one: it will be registered again


DEFAULT = Connect()
WITH_TABLES = ConnectWithTables()
