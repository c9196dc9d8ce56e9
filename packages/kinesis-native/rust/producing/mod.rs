//! Rows on their way into a stream: columns, shards, and the records of requests.

pub mod columns;
pub mod entries;
pub mod router;
pub mod rows;
pub mod values;
