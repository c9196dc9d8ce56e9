// A consumer of lifion-kinesis, which prints its records as JSON lines, and ends with its standard input. Arguments are name=value.
'use strict';

const Kinesis = require('lifion-kinesis');

const given = Object.fromEntries(process.argv.slice(2).map((each) => each.split(/=(.*)/s)));
const account = { region: given.region, accessKeyId: 'key', secretAccessKey: 'secret' };

function show(event, facts = {}) {
  process.stdout.write(`${JSON.stringify({ event, ...facts })}\n`);
}

const kinesis = new Kinesis({
  ...account,
  endpoint: given.kinesis,
  streamName: given.stream,
  consumerGroup: given.application,
  dynamoDb: { ...account, endpoint: given.dynamodb, tableName: given.application },
  initialPositionInStream: 'TRIM_HORIZON',
  leaseAcquisitionInterval: 1000,
  shouldParseJson: false,
  logger: { debug() {}, warn: console.error, error: console.error },
});
kinesis.on('data', ({ records, shardId }) => {
  if (records.length) show('records', { shard: shardId, records: records.map(({ data }) => String(data)) });
});
kinesis.on('error', (error) => show('error', { message: String(error) }));
kinesis.startConsumer().then(() => show('started'));
process.stdin.on('end', () => process.exit(1)).resume();
