// All calls of streams and consumers, by the SDK for Go v2 as it is: region, credentials and endpoint come from the environment.
// Prints one line for each call: see expected.py.
package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
	"github.com/aws/smithy-go"
)

type list = []any

var (
	ctx    = context.Background()
	name   = aws.String("orders")
	first  = aws.String("shardId-000000000000")
	second = aws.String("shardId-000000000001")
	client *kinesis.Client
)

func print(call string, ok bool, detail any) {
	line, _ := json.Marshal(map[string]any{"call": call, "ok": ok, "detail": detail})
	fmt.Println(string(line))
}

func call(name string, work func() (any, error)) {
	detail, err := work()
	if err != nil {
		print(name, false, err.Error())
	} else {
		print(name, true, detail)
	}
}

// do makes a call whose response has nothing to show.
func do[T any](name string, response T, err error) {
	call(name, func() (any, error) { return nil, err })
}

// refused prints the type of the error that the SDK returns, which is one of package types.
func refused[T any](name string, response T, err error) {
	var coded smithy.APIError
	if !errors.As(err, &coded) {
		print(name, false, fmt.Sprint(err))
		return
	}
	kind := reflect.TypeOf(coded).Elem()
	print(name, strings.HasSuffix(kind.PkgPath(), "kinesis/types"), kind.Name())
}

// change makes a change, and waits until the stream is ACTIVE again.
func change[T any](name string, show func(T) any, response T, err error) {
	call(name, func() (any, error) {
		for err == nil {
			var found *types.StreamDescriptionSummary
			if found, err = summary(); err == nil && found.StreamStatus == types.StreamStatusActive {
				return show(response), nil
			}
			time.Sleep(50 * time.Millisecond)
		}
		return nil, err
	})
}

func nothing[T any](T) any { return nil }

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func summary() (*types.StreamDescriptionSummary, error) {
	response, err := client.DescribeStreamSummary(ctx, &kinesis.DescribeStreamSummaryInput{StreamName: name})
	if err != nil {
		return nil, err
	}
	return response.StreamDescriptionSummary, nil
}

func iterator(start types.ShardIteratorType, at *time.Time) *string {
	return must(client.GetShardIterator(ctx, &kinesis.GetShardIteratorInput{
		StreamName: name, ShardId: first, ShardIteratorType: start, Timestamp: at})).ShardIterator
}

func read(iterator *string) ([]types.Record, error) {
	response, err := client.GetRecords(ctx, &kinesis.GetRecordsInput{ShardIterator: iterator})
	if err != nil {
		return nil, err
	}
	return response.Records, nil
}

func shown(records []types.Record) list {
	found := list{}
	for _, record := range records {
		found = append(found, list{base64.StdEncoding.EncodeToString(record.Data), *record.PartitionKey,
			record.ApproximateArrivalTimestamp.UnixMilli(), *record.SequenceNumber})
	}
	return found
}

func ids(shards []types.Shard) list {
	found := list{}
	for _, shard := range shards {
		found = append(found, *shard.ShardId)
	}
	return found
}

func tags(tags []types.Tag) list {
	found := list{}
	for _, tag := range tags {
		found = append(found, list{*tag.Key, *tag.Value})
	}
	return found
}

func streamTags() (any, error) {
	response, err := client.ListTagsForStream(ctx, &kinesis.ListTagsForStreamInput{StreamName: name})
	if err != nil {
		return nil, err
	}
	return tags(response.Tags), nil
}

// subscribe reads the first records of a shard. Once in a thousand times Go itself closes the connection of a new subscription.
func subscribe(consumer, shard *string, most int) (list, error) {
	for {
		found, err := subscribeOnce(consumer, shard, most)
		if !errors.Is(err, net.ErrClosed) {
			return found, err
		}
	}
}

func subscribeOnce(consumer, shard *string, most int) (list, error) {
	response, err := client.SubscribeToShard(ctx, &kinesis.SubscribeToShardInput{ConsumerARN: consumer, ShardId: shard,
		StartingPosition: &types.StartingPosition{Type: types.ShardIteratorTypeTrimHorizon}})
	if err != nil {
		return nil, err
	}
	events, found := response.GetStream(), list{}
	defer events.Close()
	for event := range events.Events() {
		found = append(found, shown(event.(*types.SubscribeToShardEventStreamMemberSubscribeToShardEvent).Value.Records)...)
		if len(found) >= most {
			break
		}
	}
	return found, events.Err()
}

func put(stream string, dryRun *bool) (*kinesis.PutRecordOutput, error) {
	return client.PutRecord(ctx, &kinesis.PutRecordInput{
		StreamName: &stream, PartitionKey: aws.String("a"), Data: []byte("a"), DryRun: dryRun})
}

func main() {
	client = kinesis.NewFromConfig(must(config.LoadDefaultConfig(ctx)))
	describe := &kinesis.DescribeStreamInput{StreamName: name}
	created, err := client.CreateStream(ctx, &kinesis.CreateStreamInput{
		StreamName: name, ShardCount: aws.Int32(2), Tags: map[string]string{"team": "é"}})
	do("CreateStream", created, err)
	exists := kinesis.NewStreamExistsWaiter(client, func(o *kinesis.StreamExistsWaiterOptions) { o.MinDelay, o.MaxDelay = time.Second, time.Second })
	do("waiter StreamExists", 0, exists.Wait(ctx, describe, 5*time.Minute))

	// Descriptions
	stream := must(summary())
	call("DescribeStreamSummary", func() (any, error) {
		return list{*stream.StreamARN, stream.StreamStatus, stream.StreamModeDetails.StreamMode, *stream.OpenShardCount,
			stream.StreamCreationTimestamp.UnixMilli()}, nil
	})
	call("DescribeStream", func() (any, error) {
		found := list{}
		for _, shard := range must(client.DescribeStream(ctx, describe)).StreamDescription.Shards {
			found = append(found, list{*shard.ShardId, *shard.HashKeyRange.EndingHashKey})
		}
		return found, nil
	})
	call("ListStreams", func() (any, error) {
		return must(client.ListStreams(ctx, &kinesis.ListStreamsInput{})).StreamNames, nil
	})
	call("ListShards", func() (any, error) {
		return ids(must(client.ListShards(ctx, &kinesis.ListShardsInput{
			StreamName: name, StreamCreationTimestamp: stream.StreamCreationTimestamp})).Shards), nil
	})
	call("DescribeLimits", func() (any, error) {
		return must(client.DescribeLimits(ctx, &kinesis.DescribeLimitsInput{})).OpenShardCount, nil
	})

	// Records
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	key, hash := aws.String("é漢𝄞"), aws.String("0")
	call("PutRecord", func() (any, error) {
		return must(client.PutRecord(ctx, &kinesis.PutRecordInput{
			StreamName: name, PartitionKey: key, ExplicitHashKey: hash, Data: all})).ShardId, nil
	})
	call("PutRecords", func() (any, error) {
		response := must(client.PutRecords(ctx, &kinesis.PutRecordsInput{StreamName: name, Records: []types.PutRecordsRequestEntry{
			{PartitionKey: key, ExplicitHashKey: hash, Data: []byte("ü")}, {PartitionKey: key, ExplicitHashKey: hash, Data: []byte{}}}}))
		return list{response.FailedRecordCount, list{response.Records[0].ShardId, response.Records[1].ShardId}}, nil
	})
	call("GetShardIterator", func() (any, error) {
		return reflect.TypeOf(*iterator(types.ShardIteratorTypeTrimHorizon, nil)).Name(), nil
	})
	records := must(read(iterator(types.ShardIteratorTypeTrimHorizon, nil)))
	call("GetRecords", func() (any, error) { return shown(records), nil })
	call("start AT_TIMESTAMP", func() (any, error) {
		counts := list{}
		for _, record := range records {
			for _, more := range []time.Duration{0, time.Millisecond} {
				at := record.ApproximateArrivalTimestamp.Add(more)
				counts = append(counts, len(must(read(iterator(types.ShardIteratorTypeAtTimestamp, &at)))))
			}
		}
		return counts, nil
	})

	// Consumers
	consumer := must(client.RegisterStreamConsumer(ctx, &kinesis.RegisterStreamConsumerInput{
		StreamARN: stream.StreamARN, ConsumerName: aws.String("readers")})).Consumer
	reader := consumer.ConsumerARN
	call("RegisterStreamConsumer", func() (any, error) { return list{consumer.ConsumerName, consumer.ConsumerStatus}, nil })
	call("DescribeStreamConsumer", func() (any, error) {
		for {
			found := must(client.DescribeStreamConsumer(ctx, &kinesis.DescribeStreamConsumerInput{ConsumerARN: reader})).ConsumerDescription
			if found.ConsumerStatus == types.ConsumerStatusActive {
				return list{found.ConsumerName, found.ConsumerCreationTimestamp.UnixMilli()}, nil
			}
			time.Sleep(50 * time.Millisecond)
		}
	})
	names := func(consumers []types.Consumer) list {
		found := list{}
		for _, each := range consumers {
			found = append(found, *each.ConsumerName)
		}
		return found
	}
	call("ListStreamConsumers", func() (any, error) {
		return names(must(client.ListStreamConsumers(ctx, &kinesis.ListStreamConsumersInput{
			StreamARN: stream.StreamARN, StreamCreationTimestamp: stream.StreamCreationTimestamp})).Consumers), nil
	})
	call("SubscribeToShard", func() (any, error) { return subscribe(reader, first, 3) })
	ended, err := subscribe(reader, second, 1)
	refused("exception in SubscribeToShardEventStream", ended, err)

	// Tags and policies
	call("ListTagsForStream", streamTags)
	call("AddTagsToStream", func() (any, error) {
		must(client.AddTagsToStream(ctx, &kinesis.AddTagsToStreamInput{StreamName: name, Tags: map[string]string{"stage": ""}}))
		return streamTags()
	})
	call("RemoveTagsFromStream", func() (any, error) {
		must(client.RemoveTagsFromStream(ctx, &kinesis.RemoveTagsFromStreamInput{StreamName: name, TagKeys: []string{"team"}}))
		return streamTags()
	})
	tagged, err := client.TagResource(ctx, &kinesis.TagResourceInput{ResourceARN: reader, Tags: map[string]string{"a": "1", "b": "2"}})
	do("TagResource", tagged, err)
	untagged, err := client.UntagResource(ctx, &kinesis.UntagResourceInput{ResourceARN: reader, TagKeys: []string{"a"}})
	do("UntagResource", untagged, err)
	call("ListTagsForResource", func() (any, error) {
		return tags(must(client.ListTagsForResource(ctx, &kinesis.ListTagsForResourceInput{ResourceARN: reader})).Tags), nil
	})
	policy, err := client.PutResourcePolicy(ctx, &kinesis.PutResourcePolicyInput{
		ResourceARN: stream.StreamARN, Policy: aws.String(`{"Version":"2012-10-17","Statement":[]}`)})
	do("PutResourcePolicy", policy, err)
	call("GetResourcePolicy", func() (any, error) {
		return must(client.GetResourcePolicy(ctx, &kinesis.GetResourcePolicyInput{ResourceARN: stream.StreamARN})).Policy, nil
	})
	deleted, err := client.DeleteResourcePolicy(ctx, &kinesis.DeleteResourcePolicyInput{ResourceARN: stream.StreamARN})
	do("DeleteResourcePolicy", deleted, err)

	// Paginators
	for _, page := range []string{"PageA", "PageB", "PageC"} {
		must(client.CreateStream(ctx, &kinesis.CreateStreamInput{StreamName: &page, ShardCount: aws.Int32(1)}))
	}
	call("paginator ListStreams", func() (any, error) {
		found := []string{}
		for pages := kinesis.NewListStreamsPaginator(client, &kinesis.ListStreamsInput{Limit: aws.Int32(1)}); pages.HasMorePages(); {
			found = append(found, must(pages.NextPage(ctx)).StreamNames...)
		}
		return found, nil
	})
	must(client.RegisterStreamConsumer(ctx, &kinesis.RegisterStreamConsumerInput{
		StreamARN: stream.StreamARN, ConsumerName: aws.String("others")}))
	call("paginator ListStreamConsumers", func() (any, error) {
		found := list{}
		for pages := kinesis.NewListStreamConsumersPaginator(client, &kinesis.ListStreamConsumersInput{
			StreamARN: stream.StreamARN, MaxResults: aws.Int32(1)}); pages.HasMorePages(); {
			found = append(found, names(must(pages.NextPage(ctx)).Consumers)...)
		}
		return found, nil
	})

	// Changes
	longer, err := client.IncreaseStreamRetentionPeriod(ctx, &kinesis.IncreaseStreamRetentionPeriodInput{
		StreamName: name, RetentionPeriodHours: aws.Int32(48)})
	change("IncreaseStreamRetentionPeriod", nothing, longer, err)
	shorter, err := client.DecreaseStreamRetentionPeriod(ctx, &kinesis.DecreaseStreamRetentionPeriodInput{
		StreamName: name, RetentionPeriodHours: aws.Int32(24)})
	change("DecreaseStreamRetentionPeriod", nothing, shorter, err)
	enabled, err := client.EnableEnhancedMonitoring(ctx, &kinesis.EnableEnhancedMonitoringInput{
		StreamName: name, ShardLevelMetrics: []types.MetricsName{types.MetricsNameIncomingBytes}})
	change("EnableEnhancedMonitoring", func(done *kinesis.EnableEnhancedMonitoringOutput) any {
		return list{done.CurrentShardLevelMetrics, done.DesiredShardLevelMetrics}
	}, enabled, err)
	disabled, err := client.DisableEnhancedMonitoring(ctx, &kinesis.DisableEnhancedMonitoringInput{
		StreamName: name, ShardLevelMetrics: []types.MetricsName{types.MetricsNameAll}})
	change("DisableEnhancedMonitoring", func(done *kinesis.DisableEnhancedMonitoringOutput) any {
		return list{done.CurrentShardLevelMetrics, done.DesiredShardLevelMetrics}
	}, disabled, err)
	kms := aws.String("alias/aws/kinesis")
	encrypted, err := client.StartStreamEncryption(ctx, &kinesis.StartStreamEncryptionInput{
		StreamName: name, EncryptionType: types.EncryptionTypeKms, KeyId: kms})
	change("StartStreamEncryption", nothing, encrypted, err)
	decrypted, err := client.StopStreamEncryption(ctx, &kinesis.StopStreamEncryptionInput{
		StreamName: name, EncryptionType: types.EncryptionTypeKms, KeyId: kms})
	change("StopStreamEncryption", nothing, decrypted, err)
	split, err := client.SplitShard(ctx, &kinesis.SplitShardInput{StreamName: name, ShardToSplit: first, NewStartingHashKey: aws.String("7")})
	change("SplitShard", nothing, split, err)
	merged, err := client.MergeShards(ctx, &kinesis.MergeShardsInput{StreamName: name,
		ShardToMerge: aws.String("shardId-000000000002"), AdjacentShardToMerge: aws.String("shardId-000000000003")})
	change("MergeShards", nothing, merged, err)
	scaled, err := client.UpdateShardCount(ctx, &kinesis.UpdateShardCountInput{
		StreamName: name, TargetShardCount: aws.Int32(4), ScalingType: types.ScalingTypeUniformScaling})
	change("UpdateShardCount", func(done *kinesis.UpdateShardCountOutput) any {
		return list{done.CurrentShardCount, done.TargetShardCount}
	}, scaled, err)
	sized, err := client.UpdateMaxRecordSize(ctx, &kinesis.UpdateMaxRecordSizeInput{
		StreamARN: stream.StreamARN, MaxRecordSizeInKiB: aws.Int32(2048)})
	change("UpdateMaxRecordSize", nothing, sized, err)
	moded, err := client.UpdateStreamMode(ctx, &kinesis.UpdateStreamModeInput{
		StreamARN: stream.StreamARN, StreamModeDetails: &types.StreamModeDetails{StreamMode: types.StreamModeOnDemand}})
	change("UpdateStreamMode", nothing, moded, err)
	warmed, err := client.UpdateStreamWarmThroughput(ctx, &kinesis.UpdateStreamWarmThroughputInput{
		StreamARN: stream.StreamARN, WarmThroughputMiBps: aws.Int32(100)})
	change("UpdateStreamWarmThroughput", func(done *kinesis.UpdateStreamWarmThroughputOutput) any {
		return done.WarmThroughput.TargetMiBps
	}, warmed, err)
	distributed, err := client.UpdateStreamRecordDistributionStrategy(ctx, &kinesis.UpdateStreamRecordDistributionStrategyInput{
		StreamARN: stream.StreamARN, RecordDistributionStrategy: types.RecordDistributionStrategyAuto})
	change("UpdateStreamRecordDistributionStrategy", nothing, distributed, err)
	call("DescribeAccountSettings", func() (any, error) {
		return must(client.DescribeAccountSettings(ctx, &kinesis.DescribeAccountSettingsInput{})).MinimumThroughputBillingCommitment.Status, nil
	})
	call("UpdateAccountSettings", func() (any, error) {
		return must(client.UpdateAccountSettings(ctx, &kinesis.UpdateAccountSettingsInput{
			MinimumThroughputBillingCommitment: &types.MinimumThroughputBillingCommitmentInput{
				Status: types.MinimumThroughputBillingCommitmentInputStatusEnabled}})).MinimumThroughputBillingCommitment.Status, nil
	})

	// Errors. A stream with the name of an error refuses every record with that error.
	for _, refusing := range []string{"AccessDeniedException", "InternalFailureException", "KMSAccessDeniedException", "KMSDisabledException",
		"KMSInvalidStateException", "KMSNotFoundException", "KMSOptInRequired", "KMSThrottlingException", "ProvisionedThroughputExceededException"} {
		response, err := put(refusing, nil)
		refused("exception "+refusing, response, err)
	}
	dry, err := put(*name, aws.Bool(true))
	refused("exception DryRunOperationException", dry, err)
	lost, err := put("nowhere", nil)
	refused("exception ResourceNotFoundException", lost, err)
	again, err := client.CreateStream(ctx, &kinesis.CreateStreamInput{StreamName: name, ShardCount: aws.Int32(1)})
	refused("exception ResourceInUseException", again, err)
	large, err := client.CreateStream(ctx, &kinesis.CreateStreamInput{StreamName: aws.String("large"), ShardCount: aws.Int32(100_000)})
	refused("exception LimitExceededException", large, err)
	page, err := read(aws.String("AAAA"))
	refused("exception InvalidArgumentException", page, err)
	onDemand, err := client.SplitShard(ctx, &kinesis.SplitShardInput{StreamName: name, ShardToSplit: second, NewStartingHashKey: aws.String("7")})
	refused("exception ValidationException", onDemand, err)
	old := iterator(types.ShardIteratorTypeTrimHorizon, nil)
	token := must(client.ListShards(ctx, &kinesis.ListShardsInput{StreamName: name, MaxResults: aws.Int32(1)})).NextToken
	must(http.Post(os.Getenv("AWS_ENDPOINT_URL_KINESIS")+"/_control/advance", "", strings.NewReader(`{"seconds": 600}`)))
	page, err = read(old)
	refused("exception ExpiredIteratorException", page, err)
	shards, err := client.ListShards(ctx, &kinesis.ListShardsInput{NextToken: token})
	refused("exception ExpiredNextTokenException", shards, err)

	// The end
	deregistered, err := client.DeregisterStreamConsumer(ctx, &kinesis.DeregisterStreamConsumerInput{ConsumerARN: reader})
	do("DeregisterStreamConsumer", deregistered, err)
	gone, err := client.DeleteStream(ctx, &kinesis.DeleteStreamInput{StreamName: name, EnforceConsumerDeletion: aws.Bool(true)})
	do("DeleteStream", gone, err)
	absent := kinesis.NewStreamNotExistsWaiter(client, func(o *kinesis.StreamNotExistsWaiterOptions) { o.MinDelay, o.MaxDelay = time.Second, time.Second })
	do("waiter StreamNotExists", 0, absent.Wait(ctx, describe, 5*time.Minute))
}
