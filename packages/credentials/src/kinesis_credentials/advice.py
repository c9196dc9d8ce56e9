"""
What to do about an error, as values, and the words in which a front door says it.

Spark, plain Python, a consumer group and a command have different names for the same setting, and not each of them has every
setting. So an error holds an `Advice`, and the front door through which it reaches a user has a `Vocabulary`.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class Setting(str, Enum):
    """A setting that each interface has its own name for. In an `Advice`, the value in braces stands for this name."""

    STREAM = "stream"
    START = "start"
    END = "end"
    REGION = "region"
    ENDPOINT = "endpoint"
    TABLES_ENDPOINT = "tables_endpoint"
    STS_ENDPOINT = "sts_endpoint"
    SKIP_LOST = "skip_lost"


class Advice(Enum):
    """
    What to do. The value is the sentence, with settings in braces. The vocabulary of an interface can replace it by its own sentence.

    The names in a value that are not in braces are those of plain Python.
    """

    GIVE_CREDENTIALS = "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, run `aws configure` or `aws sso login`, or pass StaticKeys or Profile."
    RENEW_KEYS = (
        "The source of the credentials has no newer ones. StaticKeys are never refreshed: pass new keys, or use a source that "
        "refreshes itself, such as AssumeRole, Profile or the default chain."
    )
    GIVE_REGION = "Set {region} (such as 'eu-west-1'), name the stream by its ARN, set AWS_DEFAULT_REGION, or give the profile a region."
    ADD_PROFILE = "Correct the name, or add the profile."
    USE_ANOTHER_SOURCE = "Give the instance a role, and a container on it a hop limit of 2; or use other credentials than InstanceProfile."
    GIVE_CLASS = "Give the dotted path of a class in a module that Python finds."
    MOVE_CLASS = "Move the class from the program into a module that Python finds, and give its dotted path."
    CHECK_STS = "Is {sts_endpoint} the endpoint of STS?"
    CHANGE_STS = "Activate STS in the region, or set {sts_endpoint} to the endpoint of another region."

    CHECK_STREAM = "Check {stream}, the region, the account and {endpoint}."
    CHECK_NETWORK = "Check {endpoint}, region, network and proxy."
    CHECK_ENDPOINT = "Is {endpoint} a Kinesis endpoint? A proxy may have responded instead."
    USE_JSON = "Set wire_format=WireFormat.JSON."
    INSTALL_CBOR = "Run pip install 'kinesis-core[cbor]', or leave wire_format at WireFormat.JSON."
    INSTALL_HTTP2 = "Run pip install 'kinesis-core[http2]', or leave transport of FanOutSettings at FanOutTransport.HTTP_1_1."

    CHECK_TABLE = "Check the name of the table, region and account."
    NAME_ANOTHER_TABLE = "Name another table: a missing one is created."
    CHECK_TABLES_NETWORK = "Check region, network and proxy (and {tables_endpoint})."
    CHECK_TABLES_ENDPOINT = "Is {tables_endpoint} a DynamoDB endpoint? A proxy may have responded instead."
    CHOOSE_TABLES_ENDPOINT = "Set AWS_ENDPOINT_URL_DYNAMODB (or {tables_endpoint}) to a local DynamoDB, or to this URL if it is meant."

    CHANGE_ORDER = "Exchange {start} and {end}, or correct one of them."
    GIVE_POSITION = "Pass it as json.loads returns it, or give a position such as TRIM_HORIZON."
    GIVE_END = "Give a time, or LATEST."
    USE_ITS_RELEASE = "Use the release that wrote it, or give a position such as TRIM_HORIZON."
    RESTORE = "Restore the saved offset, or start without it."
    START_ANEW = "Start without the saved offset."
    START_AGAIN = "Start again."
    SKIP_LOST = "To continue with the oldest record that is left, set {skip_lost}. The expired records are then skipped for good. Or start without the saved offset."
    SKIP_EXPIRED = "Start at TRIM_HORIZON, or at that time or later. Or set {skip_lost} to start at the oldest record that is left."
    SKIP_LOST_IN_BATCH = "To read the records that are left and skip the others for good, set {skip_lost}. Set it only until the batch is done."
    UNPACK = "Leave out deaggregate=False until the record is passed."

    AWAIT_CONSUMER = "Start again, raise timeout_s of FanOutSettings, or name another consumer."
    REGISTER_CONSUMER = (
        "Register it first, or give a name in place of the ARN: then a consumer of that name is registered."
    )
    POLL = "Raise timeout_s of FanOutSettings, or leave fallback_to_polling=True so that the shard is polled."

    WRITE_AGAIN = "Write them again."
    SLOW_DOWN = "Give the stream more shards, run fewer producers at once, or raise record_ttl_s."
    STOP_AGGREGATING = "Or set aggregation_enabled=False."


Advices = Advice | str | tuple[Advice | str, ...]
"""What to do about one error. A text says the same at every front door."""


class Vocabulary:
    """How one front door says what to do."""

    def __init__(
        self, names: Mapping[str, str], sentences: Mapping[Advice, str], subject: str = "'{}'"
    ) -> None:
        """*names* has every setting; *sentences* those that differ from the values of `Advice`; *subject* shows a name."""
        self.names, self.sentences, self.subject = names, sentences, subject

    def say(self, advice: Advice | str) -> str:
        """Return *advice* as sentences."""
        if isinstance(advice, str):
            return advice
        return self.sentences.get(advice, advice.value).format_map(self.names)

    def show(self, setting: Setting) -> str:
        """Return the name of *setting* as a sentence begins with it."""
        return self.subject.format(self.names[setting])


PLAIN = Vocabulary(
    {
        Setting.STREAM: "the stream's name or ARN",
        Setting.START: "start",
        Setting.END: "end",
        Setting.REGION: "region",
        Setting.ENDPOINT: "endpoint_url",
        Setting.TABLES_ENDPOINT: "dynamodb_endpoint_url",
        Setting.STS_ENDPOINT: "sts_endpoint_url",
        Setting.SKIP_LOST: "fail_on_data_loss=False in PlanSettings and ReadSettings",
    },
    {},
)
"""The words of plain Python, in which an error speaks until a front door has taken it."""
