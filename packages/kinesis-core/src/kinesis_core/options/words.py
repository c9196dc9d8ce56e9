"""What Spark's source and sink say about an error: they name options."""

from __future__ import annotations

from kinesis_credentials.advice import Advice, Setting, Vocabulary

_GIVE_POSITION = "Give a position such as TRIM_HORIZON. A query continues from a saved offset only with its checkpoint directory."
SPARK = Vocabulary(
    {
        Setting.STREAM: "streamName or streamARN",
        Setting.START: "startingPosition",
        Setting.END: "endingPosition",
        Setting.REGION: "the option 'region'",
        Setting.ENDPOINT: "endpointUrl",
        Setting.TABLES_ENDPOINT: "dynamodbEndpointUrl",
        Setting.STS_ENDPOINT: "stsEndpointUrl",
        Setting.SKIP_LOST: "failOnDataLoss=false",
    },
    {
        Advice.GIVE_CREDENTIALS: (
            "Set awsAccessKeyId and awsSecretKey, or awsProfile. Or configure driver and executors: set AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY, or run `aws configure` or `aws sso login`."
        ),
        Advice.RENEW_KEYS: (
            "The source of the credentials has no newer ones. Keys in options are never refreshed: pass new keys, or use a "
            "source that refreshes itself, such as stsRoleArn, awsProfile or the default chain."
        ),
        Advice.ADD_PROFILE: "Correct the name, or add it on driver and executors.",
        Advice.USE_ANOTHER_SOURCE: (
            "Give the instance a role, and a container on it a hop limit of 2; or leave awsUseInstanceProfile out."
        ),
        Advice.GIVE_CLASS: (
            "Give the dotted path of a class in a module that driver and executors have (spark.submit.pyFiles)."
        ),
        Advice.MOVE_CLASS: (
            "A class of the program or notebook exists only there: other processes make the calls. Move it into a file such as vault.py, call "
            "spark.sparkContext.addPyFile('vault.py') (or set spark.submit.pyFiles), and give vault.Vault."
        ),
        Advice.USE_JSON: "Set wireFormat=json.",
        Advice.INSTALL_CBOR: (
            "Run pip install 'kinesis-core[cbor]' on the driver and the executors, or leave wireFormat at json."
        ),
        Advice.INSTALL_HTTP2: (
            "Run pip install 'kinesis-core[http2]' on the driver and the executors, or leave fanOutTransport at HTTP/1.1."
        ),
        Advice.CHECK_TABLE: "Check the name of the table (dynamodbTableName), region and account.",
        Advice.NAME_ANOTHER_TABLE: "Name another table with dynamodbTableName: a missing one is created.",
        Advice.GIVE_POSITION: _GIVE_POSITION,
        Advice.USE_ITS_RELEASE: _GIVE_POSITION,
        Advice.RESTORE: "Restore the checkpoint directory, or start with a new one.",
        Advice.START_ANEW: "Start with a new checkpoint directory.",
        Advice.START_AGAIN: "Start the query again.",
        Advice.SKIP_LOST: (
            "To continue with the oldest record that is left, set failOnDataLoss=false. The expired records are then skipped for "
            "good. Or start with a new checkpoint."
        ),
        Advice.UNPACK: "Leave out deaggregate=false until the query has passed that record.",
        Advice.AWAIT_CONSUMER: "Start the query again, raise subscribeTimeout, or name another consumer.",
        Advice.REGISTER_CONSUMER: (
            "Register it first, or use consumerName: the query registers a consumer of that name."
        ),
        Advice.POLL: "Raise subscribeTimeout, or leave fanOutFallback=true so that the shard is polled.",
        Advice.WRITE_AGAIN: "The batch is written again.",
        Advice.SLOW_DOWN: "Give the stream more shards, run fewer producers at once, or raise recordTtlMs.",
        Advice.STOP_AGGREGATING: "Or set aggregationEnabled=false.",
    },
    subject="Option '{}'",
)
