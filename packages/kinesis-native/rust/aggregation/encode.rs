//! Writes aggregates. The caller decides which rows share one.

use std::collections::HashMap;

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;

use crate::aggregation::aggregate::Aggregate;
use crate::aggregation::decode::{MAGIC, is_aggregate};
use crate::md5_lanes::Digest;
use crate::mine::{Mine, NotMine};
use crate::producing::columns::{Columns, Row};
use crate::producing::entries::PutEntries;
use crate::producing::router;
use crate::producing::rows::PutRows;

const FRAME_BYTES: usize = MAGIC.len() + size_of::<Digest>();
/// What is reserved before rows come, at most. A task may have an open aggregate for each of 10,000 shards.
const MOST_RESERVED: usize = 2 * 1024;

/// Partition keys or explicit hash keys, with their indexes in the order of their first use.
#[derive(Default)]
struct Table(HashMap<Box<[u8]>, u32>);

impl Table {
    /// Return the index that *key* has or gets, and the bytes that a new key adds to the message.
    fn look_up(&self, key: &[u8]) -> (u32, usize) {
        match self.0.get(key) {
            Some(index) => (*index, 0),
            None => (self.0.len() as u32, delimited_bytes(key.len())),
        }
    }

    fn add(&mut self, message: &mut Vec<u8>, tag: u8, key: &[u8]) {
        write_delimited(message, tag, key);
        self.0.insert(key.into(), self.0.len() as u32);
    }
}

/// Collects user records of one shard while the aggregate stays within the given size.
///
/// Data that is an aggregate itself fits into no aggregate: a reader unpacks once, and would return it as data.
#[pyclass(module = "kinesis_native")]
pub struct AggregateBuilder {
    max_bytes: usize,
    /// The bytes of the aggregate that is built so far.
    #[pyo3(get)]
    size_bytes: usize,
    #[pyo3(get)]
    count: usize,
    keys: Table,
    hash_keys: Table,
    /// The tables of keys, after the magic bytes.
    tables: Vec<u8>,
    records: Vec<u8>,
    first: Option<Columns>,
}

impl AggregateBuilder {
    /// Add *row* if it fits. Returns whether it did. An aggregate fits into no other one.
    fn add(&mut self, row: &Row) -> bool {
        let key = row.key.unwrap_or_default();
        let (index, key_bytes) = self.keys.look_up(key);
        let (hash_index, hash_key_bytes) = match row.hash_key {
            Some(hash_key) => self.hash_keys.look_up(hash_key),
            None => (0, 0),
        };
        let inside = 1
            + varint_bytes(index as usize)
            + row.hash_key.map_or(0, |_| 1 + varint_bytes(hash_index as usize))
            + delimited_bytes(row.data.len());
        let grown_bytes = self.size_bytes + key_bytes + hash_key_bytes + delimited_bytes(inside);
        if grown_bytes > self.max_bytes || is_aggregate(row.data) {
            return false;
        }
        if key_bytes > 0 {
            self.keys.add(&mut self.tables, 0x0a, key);
        }
        if let (Some(hash_key), 1..) = (row.hash_key, hash_key_bytes) {
            self.hash_keys.add(&mut self.tables, 0x12, hash_key);
        }
        self.records.push(0x1a);
        write_varint(&mut self.records, inside);
        self.records.push(0x08);
        write_varint(&mut self.records, index as usize);
        if row.hash_key.is_some() {
            self.records.push(0x10);
            write_varint(&mut self.records, hash_index as usize);
        }
        write_delimited(&mut self.records, 0x1a, row.data);
        self.size_bytes = grown_bytes;
        self.count += 1;
        true
    }

    /// `extend`, without Python.
    pub fn fill(&mut self, rows: &PutRows, start: usize) -> usize {
        if self.records.capacity() == 0 {
            self.records.reserve(self.max_bytes.min(MOST_RESERVED));
        }
        let stop = (start..rows.len()).find(|position| !self.add(&rows.row(*position))).unwrap_or(rows.len());
        if self.first.is_none() && stop > start {
            self.first = Some(rows.copy(start));
        }
        stop
    }

    /// `close`, without Python.
    pub fn take(&mut self) -> Mine<PutEntries> {
        let first = self.first.take().ok_or(NotMine)?;
        if self.count == 1 {
            return Ok(PutEntries::of_rows(first));
        }
        let hash_key = router::hash_keys(&[first.row(0)])?[0].to_string();
        let message = [&MAGIC[..], &self.tables, &self.records].concat();
        Ok(PutEntries::of_aggregate(Aggregate::new(message, hash_key)))
    }
}

#[pymethods]
impl AggregateBuilder {
    #[new]
    pub fn new(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            size_bytes: FRAME_BYTES,
            count: 0,
            keys: Table::default(),
            hash_keys: Table::default(),
            tables: Vec::new(),
            records: Vec::new(),
            first: None,
        }
    }

    /// Add *rows* from index *start* on until one does not fit. Returns the index of that one, or the number of rows.
    fn extend(&mut self, py: Python<'_>, rows: &PutRows, start: usize) -> PyResult<usize> {
        if start > rows.len() {
            return Err(PyIndexError::new_err(format!("{start} of {} rows", rows.len())));
        }
        Ok(py.detach(|| self.fill(rows, start)))
    }

    /// Return one record that holds all user records: an aggregate, or a plain record if there is only one.
    fn close(&mut self, py: Python<'_>) -> PyResult<PutEntries> {
        py.detach(|| self.take()).map_err(|_| PyIndexError::new_err("an aggregate without a user record"))
    }
}

fn varint_bytes(value: usize) -> usize {
    (value | 1).ilog2() as usize / 7 + 1
}

fn delimited_bytes(length: usize) -> usize {
    1 + varint_bytes(length) + length
}

#[inline]
fn write_varint(message: &mut Vec<u8>, mut value: usize) {
    while value > 0x7f {
        message.push(value as u8 | 0x80);
        value >>= 7;
    }
    message.push(value as u8);
}

#[inline]
fn write_delimited(message: &mut Vec<u8>, tag: u8, content: &[u8]) {
    message.push(tag);
    write_varint(message, content.len());
    message.extend_from_slice(content);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregation::decode::unpack;
    use crate::md5_lanes::digests;

    fn row<'a>(data: &'a [u8], key: &'a [u8], hash_key: Option<&'a [u8]>) -> Row<'a> {
        Row { data, key: Some(key), hash_key }
    }

    #[test]
    fn an_aggregate_holds_what_was_added() {
        let mut builder = AggregateBuilder::new(10_000);
        let long = [b'x'; 300];
        for row in [row(b"tea", b"k0", None), row(&long, b"k1", Some(b"7")), row(b"", b"k0", Some(b"7"))] {
            assert!(builder.add(&row));
        }
        let mut data = [&MAGIC[..], &builder.tables, &builder.records].concat();
        data.extend(digests(&[&data[MAGIC.len()..]])[0]);
        assert_eq!(data.len(), builder.size_bytes);
        let found = unpack(&[&data]).unwrap().pop().unwrap().unwrap();
        assert_eq!(found.partition_keys, ["k0", "k1"]);
        assert_eq!(found.explicit_hash_keys, ["7"]);
        let records: Vec<_> =
            found.records.iter().map(|r| (r.data, r.partition_key, r.explicit_hash_key)).collect();
        assert_eq!(records, [(&b"tea"[..], 0, None), (&long, 1, Some(0)), (b"", 0, Some(0))]);
    }

    #[test]
    fn a_row_that_does_not_fit_changes_nothing() {
        let mut builder = AggregateBuilder::new(FRAME_BYTES + 12);
        assert!(!builder.add(&row(b"12345", b"k", Some(b"7"))));
        assert_eq!((builder.size_bytes, builder.count, builder.tables.len()), (FRAME_BYTES, 0, 0));
        assert!(builder.add(&row(b"123", b"k", None)));
        assert_eq!(builder.size_bytes, FRAME_BYTES + 12);
    }

    #[test]
    fn an_aggregate_fits_into_no_other_one() {
        let mut builder = AggregateBuilder::new(10_000);
        let mut data = [&MAGIC[..], b"any message", &digests(&[b"any message"])[0]].concat();
        assert!(!builder.add(&row(&data, b"k", None)));
        assert!(!builder.add(&row(&data, b"k", Some(b"7"))));
        data.pop();
        assert!(builder.add(&row(&data, b"k", None)));
        assert_eq!(builder.count, 1);
    }

    #[test]
    fn numbers_have_seven_bits_in_a_byte() {
        for (value, bytes) in [(0, 1), (127, 1), (128, 2), (16_383, 2), (16_384, 3), (1 << 21, 4)] {
            let mut message = Vec::new();
            write_varint(&mut message, value);
            assert_eq!((message.len(), varint_bytes(value)), (bytes, bytes), "{value}");
        }
    }
}
