"""How to reach the streams: what options are parsed into, and what `open` takes."""

from __future__ import annotations

from attrs import field, frozen

from kinesis_core.aws.retry import RetryPolicy
from kinesis_core.aws.transport import Transport
from kinesis_core.aws.wire_choice import WireFormat
from kinesis_core.errors import OptionError
from kinesis_core.model import STREAM_NAME
from kinesis_credentials import CredentialSpec, DefaultChain, Setting, find_arn_region, resolve_region
from kinesis_credentials.endpoints import KIND_OF_URL, BadUrlError, verify_url

_DEFAULT_CREDENTIALS = DefaultChain()
_DEFAULT_RETRY = RetryPolicy()


@frozen
class StreamRef:
    """A stream as the user named it."""

    name: str
    arn: str | None = None

    @staticmethod
    def parse(name_or_arn: str) -> StreamRef:
        """
        Return the stream that goes by *name_or_arn*.

        Raises:
            OptionError: It is neither a stream's name nor its ARN.
        """
        arn = name_or_arn if name_or_arn.startswith("arn:") else None
        name = name_or_arn.rpartition("/")[2] if arn else name_or_arn
        if not STREAM_NAME.fullmatch(name):
            raise OptionError(
                f"'{name_or_arn}' is not the name of a stream. Give its ARN, or its name of 1 to 128 letters, digits, '_', '.' and '-'."
            )
        return StreamRef(name, arn)

    @property
    def label(self) -> str:
        """The name of the stream in offsets: the ARN or name that the user gave."""
        return self.arn or self.name

    @property
    def region(self) -> str | None:
        """The region in its ARN."""
        return None if self.arn is None else find_arn_region(self.arn)


def verify_endpoint(url: object) -> None:
    """
    Verify *endpoint_url*, if it is given.

    Raises:
        OptionError: It is no http or https URL of a host, or may hold a secret. Then it is not shown.
    """
    if url is None:
        return
    if not isinstance(url, str):
        raise OptionError(f"is of type {type(url).__name__}. Use {KIND_OF_URL}.", about=Setting.ENDPOINT)
    try:
        verify_url(url)
    except BadUrlError as error:
        raise OptionError(str(error), about=Setting.ENDPOINT) from None


@frozen
class Connection:
    """Everything needed to call Kinesis. It pickles, and its repr shows no secret."""

    streams: tuple[StreamRef, ...]
    region: str
    """The region of STS and DynamoDB."""
    endpoint_url: str | None = None
    credentials: CredentialSpec = _DEFAULT_CREDENTIALS
    retry: RetryPolicy = _DEFAULT_RETRY
    proxy_url: str | None = field(default=None, repr=False)
    """It may hold a password."""
    stream_region: str | None = None
    """The region of streams that are named without an ARN, if that is not *region*."""
    transport: Transport | None = None
    """None: as the environment variable KINESIS_HTTP_TRANSPORT says, else direct."""
    check_permissions: bool = True
    """Whether a query starts with a check of its IAM permissions."""
    wire_format: WireFormat = WireFormat.JSON

    @staticmethod
    def to_stream(
        name_or_arn: str,
        *,
        region: str | None = None,
        endpoint_url: str | None = None,
        credentials: CredentialSpec | None = None,
        wire_format: WireFormat = WireFormat.JSON,
    ) -> Connection:
        """
        Return the connection to one stream, with defaults for everything else. It makes no call.

        Without *region*, the region comes from the ARN, the endpoint or botocore's chain. Without *credentials*, the credentials
        come from botocore's chain.

        Raises:
            OptionError: As in `StreamRef.parse` and `verify_endpoint`.
            CredentialsError: No region is found, or *region* and the ARN contradict each other.
        """
        stream = StreamRef.parse(name_or_arn)
        verify_endpoint(endpoint_url)
        spec = credentials or _DEFAULT_CREDENTIALS
        arns = (stream.arn,) if stream.arn else ()
        found = resolve_region(spec, region=region, arns=arns, endpoint_url=endpoint_url)
        return Connection((stream,), found, endpoint_url, spec, wire_format=wire_format)

    @staticmethod
    def to_account(
        *,
        region: str | None = None,
        endpoint_url: str | None = None,
        credentials: CredentialSpec | None = None,
    ) -> Connection:
        """
        Return the connection to an account and region, for calls that concern no stream in particular. It makes no call.

        Raises:
            OptionError: As in `verify_endpoint`.
            CredentialsError: No region is found.
        """
        verify_endpoint(endpoint_url)
        spec = credentials or _DEFAULT_CREDENTIALS
        found = resolve_region(spec, region=region, arns=(), endpoint_url=endpoint_url)
        return Connection((), found, endpoint_url, spec)

    def region_of(self, stream: StreamRef) -> str:
        """Return the region to call *stream* in."""
        return stream.region or self.stream_region or self.region
