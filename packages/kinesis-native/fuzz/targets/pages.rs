//! Any bytes as a page, in JSON and in CBOR, with all columns of a batch built from it.
#![no_main]

use _native::batch::Wanted;
use _native::mine::Mine;
use _native::page::Page;
use _native::{wire, wire_cbor};
use libfuzzer_sys::fuzz_target;

const COLUMNS: [&str; 11] = [
    "data",
    "streamName",
    "partitionKey",
    "sequenceNumber",
    "approximateArrivalTimestamp",
    "shardId",
    "subSequenceNumber",
    "explicitHashKey",
    "stream",
    "encryptionType",
    "millisBehindLatest",
];

fuzz_target!(|body: &[u8]| {
    for with_data in [true, false] {
        build(wire::decode_page(body, with_data));
        build(wire_cbor::decode_page(body, with_data));
    }
});

fn build(page: Mine<Page>) {
    let Ok(page) = page else { return };
    let columns = COLUMNS.map(str::to_owned);
    let wanted = Wanted { columns: &columns, stream_name: "a", stream: "b", shard_id: "c", millis_behind: 0 };
    for deaggregate in [true, false] {
        let _ = wanted.build(&page, 0, page.count(), deaggregate, 1);
    }
}
