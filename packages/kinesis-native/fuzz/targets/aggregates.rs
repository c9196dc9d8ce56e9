//! Any bytes as the message of an aggregate whose checksum is right.
#![no_main]

use _native::aggregation::decode::{MAGIC, unpack};
use _native::md5_lanes::digests;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|message: &[u8]| {
    let data = [&MAGIC[..], message, &digests(&[message])[0]].concat();
    let Ok(found) = unpack(&[&data]) else { return };
    for aggregate in found.into_iter().flatten() {
        let payloads: usize = aggregate.records.iter().map(|record| record.data.len()).sum();
        assert!(payloads + 5 * aggregate.records.len() <= message.len());
        assert!(aggregate.records.iter().all(|record| record.partition_key < aggregate.partition_keys.len()));
    }
});
