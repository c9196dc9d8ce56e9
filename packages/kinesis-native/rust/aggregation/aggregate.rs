//! A closed aggregate: the payload of one record, which holds several user records.

use std::sync::OnceLock;

use crate::aggregation::decode::MAGIC;
use crate::md5_lanes::{Digest, digests};

/// A closed aggregate. Its checksum is computed when it is first needed: that of many at once takes less time.
pub struct Aggregate {
    /// The payload without the checksum at its end.
    pub message: Vec<u8>,
    /// The hash key of the first user record.
    pub hash_key: String,
    digest: OnceLock<Digest>,
}

impl Aggregate {
    pub fn new(message: Vec<u8>, hash_key: String) -> Self {
        Self { message, hash_key, digest: OnceLock::new() }
    }

    fn content(&self) -> &[u8] {
        &self.message[MAGIC.len()..]
    }

    /// The bytes of the payload.
    pub fn size_bytes(&self) -> usize {
        self.message.len() + size_of::<Digest>()
    }

    pub fn digest(&self) -> &Digest {
        self.digest.get_or_init(|| digests(&[self.content()])[0])
    }
}

/// Compute the checksums of *aggregates* that are not known yet.
pub fn seal(aggregates: &[&Aggregate]) {
    let open: Vec<_> = aggregates.iter().filter(|aggregate| aggregate.digest.get().is_none()).collect();
    let contents: Vec<&[u8]> = open.iter().map(|aggregate| aggregate.content()).collect();
    for (aggregate, digest) in open.iter().zip(digests(&contents)) {
        aggregate.digest.get_or_init(|| digest);
    }
}
