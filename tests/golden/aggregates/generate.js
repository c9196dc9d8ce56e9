// Writes aws-kinesis-agg.json: aggregates from an independent implementation of the KPL's format, with the
// user records that went in. Run once, in a directory of its own:
//
//     npm install aws-kinesis-agg@4.2.8 && node generate.js > aws-kinesis-agg.json
//
// The package lists its key tables in the order of a JavaScript object's members, where keys that look like
// array indices come first: none is used here.
"use strict";

const { RecordAggregator } = require("aws-kinesis-agg");

const MAX_HASH_KEY = "340282366920938463463374607431768211455";
const range = (count) => [...Array(count).keys()];
const user = (partitionKey, data, explicitHashKey) => ({ partitionKey, data: Buffer.from(data), explicitHashKey });

const CASES = {
  "one user record": [user("key", "payload")],
  "repeated partition keys": range(5).map((i) => user(`key-${i % 2}`, `payload ${i}`)),
  "explicit hash keys on some": [
    user("a", "none"),
    user("b", "largest", MAX_HASH_KEY),
    user("a", "none again"),
    user("c", "middle", "170141183460469231731687303715884105728"),
    user("b", "largest again", MAX_HASH_KEY),
  ],
  "text beyond ascii": [user("schlüssel-鍵-🔑", "значение"), user("𝄞", "🎼")],
  "empty payloads": [user("key", ""), user("key", "between"), user("key", "")],
  "every byte": [user("key", range(256))],
  "indices and sizes of two bytes": range(140).map((i) => user(`key-${i}`, "x".repeat(i))),
  "a size of three bytes": [user("before", "small"), user("large", "y".repeat(16384)), user("after", "small")],
};

function aggregate(userRecords) {
  const aggregator = new RecordAggregator();
  userRecords.forEach((record) => aggregator.addUserRecord(record));
  return aggregator.build().data;
}

CASES["an aggregate inside"] = [user("outer", aggregate(CASES["repeated partition keys"])), user("outer", "beside")];

const golden = Object.entries(CASES).map(([name, userRecords]) => ({
  name,
  aggregate: aggregate(userRecords).toString("base64"),
  user_records: userRecords.map(({ partitionKey, data, explicitHashKey }) => ({
    partition_key: partitionKey,
    explicit_hash_key: explicitHashKey ?? null,
    data: data.toString("base64"),
  })),
}));
process.stdout.write(JSON.stringify(golden, null, 1) + "\n");
