//! All calls of streams and consumers, by the SDK for Rust as it is, but without TLS. Region, endpoint and credentials come from the
//! environment. Prints one line for each call: see expected.py.
use aws_sdk_kinesis::client::Waiters;
use aws_sdk_kinesis::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_kinesis::primitives::{Blob, DateTime};
use aws_sdk_kinesis::types::*;
use aws_sdk_kinesis::{Client, Config, Error};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::time::Duration;

const NAME: &str = "orders";
const KEY: &str = "é漢𝄞";
const FIRST: &str = "shardId-000000000000";
const SECOND: &str = "shardId-000000000001";
const NOTHING: Value = Value::Null;

fn print(call: &str, ok: bool, detail: Value) {
    println!("{}", json!({"call": call, "ok": ok, "detail": detail}));
}

fn call(name: &str, result: Result<Value, Error>) {
    match result {
        Ok(detail) => print(name, true, detail),
        Err(error) => print(name, false, json!(format!("{error:?}"))),
    }
}

/// Prints the variant of the SDK's error: it is that of the service, or `Unhandled`.
fn refused<T, E: Into<Error>>(name: &str, result: Result<T, E>) {
    match result {
        Ok(_) => print(name, false, json!("it succeeded")),
        Err(error) => {
            let shown = format!("{:?}", error.into());
            let variant = shown.split('(').next().unwrap_or_default();
            print(name, variant != "Unhandled", json!(variant));
        }
    }
}

/// Makes a call, and shows its response with a closure. The call may use `?` for all errors of the SDK.
macro_rules! call {
    ($name:expr, $work:expr) => {
        call($name, async { Ok::<Value, Error>($work) }.await)
    };
}

/// Makes a change, and waits until the stream is ACTIVE again.
macro_rules! change {
    ($client:expr, $name:expr, $work:expr) => {
        call!($name, {
            let shown = $work;
            while summary($client).await?.stream_status() != &StreamStatus::Active {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            shown
        })
    };
}

async fn summary(client: &Client) -> Result<StreamDescriptionSummary, Error> {
    let response = client.describe_stream_summary().stream_name(NAME).send().await?;
    Ok(response.stream_description_summary().unwrap().clone())
}

/// Rounds: the SDK reads seconds as a float, so that a time may be some nanoseconds before its millisecond.
fn millis(time: Option<&DateTime>) -> i64 {
    (time.unwrap().as_secs_f64() * 1000.0).round() as i64
}

async fn iterator(client: &Client, start: ShardIteratorType, at: Option<DateTime>) -> Result<String, Error> {
    let request = client.get_shard_iterator().stream_name(NAME).shard_id(FIRST);
    let response = request.shard_iterator_type(start).set_timestamp(at).send().await?;
    Ok(response.shard_iterator().unwrap().to_owned())
}

async fn read(client: &Client, iterator: String) -> Result<Vec<Record>, Error> {
    Ok(client.get_records().shard_iterator(iterator).send().await?.records().to_vec())
}

fn shown(records: &[Record]) -> Vec<Value> {
    let show = |record: &Record| {
        let data = base64(record.data().as_ref());
        let arrived = millis(record.approximate_arrival_timestamp());
        json!([data, record.partition_key(), arrived, record.sequence_number()])
    };
    records.iter().map(show).collect()
}

fn base64(data: &[u8]) -> String {
    aws_smithy_types::base64::encode(data)
}

fn tags(tags: &[Tag]) -> Value {
    tags.iter().map(|tag| json!([tag.key(), tag.value()])).collect()
}

async fn stream_tags(client: &Client) -> Result<Value, Error> {
    Ok(tags(client.list_tags_for_stream().stream_name(NAME).send().await?.tags()))
}

fn names(consumers: &[Consumer]) -> Vec<Value> {
    consumers.iter().map(|each| json!(each.consumer_name())).collect()
}

async fn subscribe(client: &Client, consumer: &str, shard: &str, most: usize) -> Result<Vec<Value>, Error> {
    let start = StartingPosition::builder().r#type(ShardIteratorType::TrimHorizon).build().unwrap();
    let request = client.subscribe_to_shard().consumer_arn(consumer).shard_id(shard);
    let mut events = request.starting_position(start).send().await?.event_stream;
    let mut found = vec![];
    while found.len() < most {
        match events.recv().await? {
            Some(event) => found.extend(shown(event.as_subscribe_to_shard_event().unwrap().records())),
            None => break,
        }
    }
    Ok(found)
}

async fn put(client: &Client, stream: &str, dry_run: bool) -> Result<(), Error> {
    let request = client.put_record().stream_name(stream).partition_key("a").data(Blob::new("a"));
    request.dry_run(dry_run).send().await?;
    Ok(())
}

/// Moves the emulator's clock on.
fn advance(endpoint: &str, seconds: u32) -> std::io::Result<()> {
    let body = format!("{{\"seconds\": {seconds}}}");
    let mut connection = std::net::TcpStream::connect(endpoint.trim_start_matches("http://"))?;
    let head = format!(
        "POST /_control/advance HTTP/1.0\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    connection.write_all((head + &body).as_bytes())?;
    connection.read_to_string(&mut String::new()).map(|_| ())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let given = |name: &str| std::env::var(name).unwrap();
    let endpoint = given("AWS_ENDPOINT_URL_KINESIS");
    let config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .region(Region::new(given("AWS_REGION")))
        .credentials_provider(Credentials::new(
            given("AWS_ACCESS_KEY_ID"),
            given("AWS_SECRET_ACCESS_KEY"),
            None,
            None,
            "environment",
        ))
        .endpoint_url(&endpoint);
    let client = &Client::from_conf(config.build());
    let long = Duration::from_secs(300);
    call!("CreateStream", {
        client.create_stream().stream_name(NAME).shard_count(2).tags("team", "é").send().await?;
        NOTHING
    });
    let waited = client.wait_until_stream_exists().stream_name(NAME).wait(long).await;
    print(
        "waiter StreamExists",
        waited.is_ok(),
        waited.map_or_else(|error| json!(error.to_string()), |_| NOTHING),
    );

    // Descriptions
    let stream = summary(client).await?;
    let (arn, created) = (stream.stream_arn(), *stream.stream_creation_timestamp());
    call!("DescribeStreamSummary", {
        let mode = stream.stream_mode_details().unwrap().stream_mode().as_str();
        json!([arn, stream.stream_status().as_str(), mode, stream.open_shard_count(), millis(Some(&created))])
    });
    call!("DescribeStream", {
        let response = client.describe_stream().stream_name(NAME).send().await?;
        let shards = response.stream_description().unwrap().shards().iter();
        shards
            .map(|shard| json!([shard.shard_id(), shard.hash_key_range().unwrap().ending_hash_key()]))
            .collect()
    });
    call!("ListStreams", json!(client.list_streams().send().await?.stream_names()));
    call!("ListShards", {
        let response =
            client.list_shards().stream_name(NAME).stream_creation_timestamp(created).send().await?;
        response.shards().iter().map(|shard| json!(shard.shard_id())).collect()
    });
    call!("DescribeLimits", json!(client.describe_limits().send().await?.open_shard_count()));

    // Records
    call!("PutRecord", {
        let request = client.put_record().stream_name(NAME).partition_key(KEY).explicit_hash_key("0");
        json!(request.data(Blob::new((0..=255).collect::<Vec<u8>>())).send().await?.shard_id())
    });
    call!("PutRecords", {
        let entry = |data: &str| {
            let entry = PutRecordsRequestEntry::builder().partition_key(KEY).explicit_hash_key("0");
            entry.data(Blob::new(data)).build().unwrap()
        };
        let response =
            client.put_records().stream_name(NAME).records(entry("ü")).records(entry("")).send().await?;
        let shards: Vec<_> = response.records().iter().map(|result| result.shard_id()).collect();
        json!([response.failed_record_count(), shards])
    });
    call!("GetShardIterator", {
        iterator(client, ShardIteratorType::TrimHorizon, None).await?;
        json!("string")
    });
    let records = read(client, iterator(client, ShardIteratorType::TrimHorizon, None).await?).await?;
    call!("GetRecords", json!(shown(&records)));
    call!("start AT_TIMESTAMP", {
        let mut counts = vec![];
        for record in &records {
            for more in [0, 1] {
                let at = DateTime::from_millis(millis(record.approximate_arrival_timestamp()) + more);
                counts.push(
                    read(client, iterator(client, ShardIteratorType::AtTimestamp, Some(at)).await?)
                        .await?
                        .len(),
                );
            }
        }
        json!(counts)
    });

    // Consumers
    let registered =
        client.register_stream_consumer().stream_arn(arn).consumer_name("readers").send().await?;
    let consumer = registered.consumer().unwrap();
    let reader = consumer.consumer_arn();
    call!("RegisterStreamConsumer", json!([consumer.consumer_name(), consumer.consumer_status().as_str()]));
    call!(
        "DescribeStreamConsumer",
        loop {
            let response = client.describe_stream_consumer().consumer_arn(reader).send().await?;
            let found = response.consumer_description().unwrap();
            if found.consumer_status() == &ConsumerStatus::Active {
                break json!([found.consumer_name(), millis(Some(found.consumer_creation_timestamp()))]);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    );
    call!("ListStreamConsumers", {
        let request = client.list_stream_consumers().stream_arn(arn);
        json!(names(request.stream_creation_timestamp(created).send().await?.consumers()))
    });
    call!("SubscribeToShard", json!(subscribe(client, reader, FIRST, 3).await?));
    refused("exception in SubscribeToShardEventStream", subscribe(client, reader, SECOND, 1).await);

    // Tags and policies
    call!("ListTagsForStream", stream_tags(client).await?);
    call!("AddTagsToStream", {
        client.add_tags_to_stream().stream_name(NAME).tags("stage", "").send().await?;
        stream_tags(client).await?
    });
    call!("RemoveTagsFromStream", {
        client.remove_tags_from_stream().stream_name(NAME).tag_keys("team").send().await?;
        stream_tags(client).await?
    });
    call!("TagResource", {
        client.tag_resource().resource_arn(reader).tags("a", "1").tags("b", "2").send().await?;
        NOTHING
    });
    call!("UntagResource", {
        client.untag_resource().resource_arn(reader).tag_keys("a").send().await?;
        NOTHING
    });
    call!(
        "ListTagsForResource",
        tags(client.list_tags_for_resource().resource_arn(reader).send().await?.tags())
    );
    call!("PutResourcePolicy", {
        let policy = r#"{"Version":"2012-10-17","Statement":[]}"#;
        client.put_resource_policy().resource_arn(arn).policy(policy).send().await?;
        NOTHING
    });
    call!("GetResourcePolicy", json!(client.get_resource_policy().resource_arn(arn).send().await?.policy()));
    call!("DeleteResourcePolicy", {
        client.delete_resource_policy().resource_arn(arn).send().await?;
        NOTHING
    });

    // Paginators
    for page in ["PageA", "PageB", "PageC"] {
        client.create_stream().stream_name(page).shard_count(1).send().await?;
    }
    call!("paginator ListStreams", {
        let (mut found, mut pages) = (vec![], client.list_streams().limit(1).into_paginator().send());
        while let Some(page) = pages.next().await {
            found.extend(page?.stream_names().to_vec());
        }
        json!(found)
    });
    client.register_stream_consumer().stream_arn(arn).consumer_name("others").send().await?;
    call!("paginator ListStreamConsumers", {
        let request = client.list_stream_consumers().stream_arn(arn).max_results(1);
        let (mut found, mut pages) = (vec![], request.into_paginator().send());
        while let Some(page) = pages.next().await {
            found.extend(names(page?.consumers()));
        }
        json!(found)
    });

    // Changes
    let metrics =
        |metrics: &[MetricsName]| -> Value { metrics.iter().map(|name| json!(name.as_str())).collect() };
    change!(client, "IncreaseStreamRetentionPeriod", {
        client.increase_stream_retention_period().stream_name(NAME).retention_period_hours(48).send().await?;
        NOTHING
    });
    change!(client, "DecreaseStreamRetentionPeriod", {
        client.decrease_stream_retention_period().stream_name(NAME).retention_period_hours(24).send().await?;
        NOTHING
    });
    change!(client, "EnableEnhancedMonitoring", {
        let request = client.enable_enhanced_monitoring().stream_name(NAME);
        let done = request.shard_level_metrics(MetricsName::IncomingBytes).send().await?;
        json!([metrics(done.current_shard_level_metrics()), metrics(done.desired_shard_level_metrics())])
    });
    change!(client, "DisableEnhancedMonitoring", {
        let request = client.disable_enhanced_monitoring().stream_name(NAME);
        let done = request.shard_level_metrics(MetricsName::All).send().await?;
        json!([metrics(done.current_shard_level_metrics()), metrics(done.desired_shard_level_metrics())])
    });
    change!(client, "StartStreamEncryption", {
        let request = client.start_stream_encryption().stream_name(NAME).encryption_type(EncryptionType::Kms);
        request.key_id("alias/aws/kinesis").send().await?;
        NOTHING
    });
    change!(client, "StopStreamEncryption", {
        let request = client.stop_stream_encryption().stream_name(NAME).encryption_type(EncryptionType::Kms);
        request.key_id("alias/aws/kinesis").send().await?;
        NOTHING
    });
    change!(client, "SplitShard", {
        client
            .split_shard()
            .stream_name(NAME)
            .shard_to_split(FIRST)
            .new_starting_hash_key("7")
            .send()
            .await?;
        NOTHING
    });
    change!(client, "MergeShards", {
        let request = client.merge_shards().stream_name(NAME).shard_to_merge("shardId-000000000002");
        request.adjacent_shard_to_merge("shardId-000000000003").send().await?;
        NOTHING
    });
    change!(client, "UpdateShardCount", {
        let request = client.update_shard_count().stream_name(NAME).target_shard_count(4);
        let done = request.scaling_type(ScalingType::UniformScaling).send().await?;
        json!([done.current_shard_count(), done.target_shard_count()])
    });
    change!(client, "UpdateMaxRecordSize", {
        client.update_max_record_size().stream_arn(arn).max_record_size_in_kib(2048).send().await?;
        NOTHING
    });
    change!(client, "UpdateStreamMode", {
        let mode = StreamModeDetails::builder().stream_mode(StreamMode::OnDemand).build().unwrap();
        client.update_stream_mode().stream_arn(arn).stream_mode_details(mode).send().await?;
        NOTHING
    });
    change!(client, "UpdateStreamWarmThroughput", {
        let done =
            client.update_stream_warm_throughput().stream_arn(arn).warm_throughput_mibps(100).send().await?;
        json!(done.warm_throughput().unwrap().target_mibps())
    });
    change!(client, "UpdateStreamRecordDistributionStrategy", {
        let request = client.update_stream_record_distribution_strategy().stream_arn(arn);
        request.record_distribution_strategy(RecordDistributionStrategy::Auto).send().await?;
        NOTHING
    });
    call!("DescribeAccountSettings", {
        let response = client.describe_account_settings().send().await?;
        json!(response.minimum_throughput_billing_commitment().unwrap().status().as_str())
    });
    call!("UpdateAccountSettings", {
        let enabled = MinimumThroughputBillingCommitmentInputStatus::Enabled;
        let commitment = MinimumThroughputBillingCommitmentInput::builder().status(enabled).build().unwrap();
        let response =
            client.update_account_settings().minimum_throughput_billing_commitment(commitment).send().await?;
        json!(response.minimum_throughput_billing_commitment().unwrap().status().as_str())
    });

    // Errors. A stream with the name of an error refuses every record with that error.
    for refusing in [
        "AccessDeniedException",
        "InternalFailureException",
        "KMSAccessDeniedException",
        "KMSDisabledException",
        "KMSInvalidStateException",
        "KMSNotFoundException",
        "KMSOptInRequired",
        "KMSThrottlingException",
        "ProvisionedThroughputExceededException",
    ] {
        refused(&format!("exception {refusing}"), put(client, refusing, false).await);
    }
    refused("exception DryRunOperationException", put(client, NAME, true).await);
    refused("exception ResourceNotFoundException", put(client, "nowhere", false).await);
    refused(
        "exception ResourceInUseException",
        client.create_stream().stream_name(NAME).shard_count(1).send().await,
    );
    refused(
        "exception LimitExceededException",
        client.create_stream().stream_name("large").shard_count(100_000).send().await,
    );
    refused("exception InvalidArgumentException", read(client, "AAAA".into()).await);
    let request = client.split_shard().stream_name(NAME).shard_to_split(SECOND);
    refused("exception ValidationException", request.new_starting_hash_key("7").send().await);
    let old = iterator(client, ShardIteratorType::TrimHorizon, None).await?;
    let listed = client.list_shards().stream_name(NAME).max_results(1).send().await?;
    advance(&endpoint, 600).unwrap();
    refused("exception ExpiredIteratorException", read(client, old).await);
    refused(
        "exception ExpiredNextTokenException",
        client.list_shards().set_next_token(listed.next_token).send().await,
    );

    // The end
    call!("DeregisterStreamConsumer", {
        client.deregister_stream_consumer().consumer_arn(reader).send().await?;
        NOTHING
    });
    call!("DeleteStream", {
        client.delete_stream().stream_name(NAME).enforce_consumer_deletion(true).send().await?;
        NOTHING
    });
    let waited = client.wait_until_stream_not_exists().stream_name(NAME).wait(long).await;
    print(
        "waiter StreamNotExists",
        waited.is_ok(),
        waited.map_or_else(|error| json!(error.to_string()), |_| NOTHING),
    );
    Ok(())
}
