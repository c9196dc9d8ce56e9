//! The columns of a page while its records are read.

use arrow_array::BinaryArray;
use arrow_array::builder::TimestampMicrosecondBuilder;
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use base64_simd::STANDARD;

use crate::aggregation::decode::MAGIC;
use crate::mine::{Mine, NotMine, buffer, every, require};
use crate::page::{Facts, Page};
use crate::rows::RecordColumns;
use crate::text_column::TextColumn;

const LONGEST_NUMBER: usize = 129;
/// A record takes more bytes than this, so the size of the body bounds what is reserved.
const LEAST_RECORD_BYTES: usize = 20;
/// The usual lengths of a sequence number and of a partition key.
const NUMBER_BYTES: usize = 56;
const KEY_BYTES: usize = 16;

/// The payload of a record as it stands in the body.
#[derive(Clone, Copy)]
pub enum Payload<'a> {
    Base64(&'a [u8]),
    Raw(&'a [u8]),
}

/// One record as slices of the body.
#[derive(Default)]
pub struct RecordFields<'a> {
    pub number: Option<&'a [u8]>,
    pub data: Option<Payload<'a>>,
    pub partition_key: Option<&'a [u8]>,
    pub arrived_ms: Option<i64>,
    pub encryption_type: Option<&'a [u8]>,
}

/// Collects records as columns. What it reserves is bounded by the size of the body.
pub struct PageBuilder {
    with_data: bool,
    body_bytes: usize,
    data: Vec<u8>,
    data_ends: Vec<i32>,
    holds_aggregates: bool,
    partition_keys: TextColumn,
    numbers: TextColumn,
    arrivals: TimestampMicrosecondBuilder,
    encryption_types: TextColumn,
}

impl PageBuilder {
    /// Without *with_data* payloads are not decoded, and each of them is empty.
    pub fn new(with_data: bool, body_bytes: usize) -> Mine<Self> {
        Ok(Self {
            with_data,
            body_bytes,
            data: buffer(if with_data { body_bytes } else { 0 })?,
            data_ends: vec![0],
            holds_aggregates: false,
            partition_keys: TextColumn::default(),
            numbers: TextColumn::default(),
            arrivals: TimestampMicrosecondBuilder::new(),
            encryption_types: TextColumn::default(),
        })
    }

    /// Reserve room for as many records as fit into the body, if all are as long as the first one.
    pub fn expect_records_of(&mut self, bytes: usize) {
        let count = self.body_bytes / bytes.max(LEAST_RECORD_BYTES) + 1;
        self.data_ends.reserve(count);
        self.arrivals = TimestampMicrosecondBuilder::with_capacity(count);
        self.numbers.reserve(count, NUMBER_BYTES);
        self.partition_keys.reserve(count, KEY_BYTES);
    }

    #[inline]
    pub fn push(&mut self, record: &RecordFields) -> Mine<()> {
        let number = record.number.ok_or(NotMine)?;
        require(is_decimal(number))?;
        self.numbers.push(Some(number))?;
        self.partition_keys.push(record.partition_key)?;
        self.arrivals.append_option(record.arrived_ms.map(|ms| ms * 1000));
        self.encryption_types.push(record.encryption_type)?;
        self.push_data(record.data)
    }

    fn push_data(&mut self, payload: Option<Payload>) -> Mine<()> {
        let start = self.data.len();
        match payload {
            Some(Payload::Base64(text)) if self.with_data => {
                STANDARD.decode_append(text, &mut self.data).map_err(|_| NotMine)?
            }
            Some(Payload::Base64(text)) => {
                require(every(text, |byte| byte.is_ascii_graphic() & (byte != b'\\')))?
            }
            Some(Payload::Raw(bytes)) if self.with_data => self.data.extend_from_slice(bytes),
            _ => (),
        }
        self.holds_aggregates |= self.data[start..].starts_with(&MAGIC);
        self.data_ends.push(i32::try_from(self.data.len()).map_err(|_| NotMine)?);
        Ok(())
    }

    pub fn finish(mut self, facts: Facts) -> Mine<Page> {
        let ends = OffsetBuffer::new(ScalarBuffer::from(self.data_ends));
        let columns = RecordColumns {
            data: BinaryArray::try_new(ends, Buffer::from_vec(self.data), None).map_err(|_| NotMine)?,
            partition_keys: self.partition_keys.finish()?,
            numbers: self.numbers.finish()?,
            arrivals: self.arrivals.finish().with_timezone("UTC"),
            encryption_types: self.encryption_types.finish()?,
        };
        Ok(Page { columns, holds_aggregates: self.holds_aggregates, facts })
    }
}

/// Return whether *text* is a sequence number.
pub fn is_decimal(text: &[u8]) -> bool {
    matches!(text.len(), 1..=LONGEST_NUMBER) && every(text, |byte| byte.wrapping_sub(b'0') <= 9)
}
