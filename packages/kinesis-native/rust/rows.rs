//! The rows of a part of a page: its records, or their user records.

use std::iter::repeat_n;
use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, StringBuilder};
use arrow_array::{Array, ArrayRef, BinaryArray, Int64Array, StringArray, TimestampMicrosecondArray};

use crate::aggregation::decode::{Aggregate, UserRecord, unpack};
use crate::mine::{Mine, buffer, require};

/// A column holds at most 2 GiB. Anything near that is left to Python.
const LARGEST_COLUMN_BYTES: usize = i32::MAX as usize;

/// The columns of a page: what each of its records has.
pub struct RecordColumns {
    pub data: BinaryArray,
    pub partition_keys: StringArray,
    pub numbers: StringArray,
    pub arrivals: TimestampMicrosecondArray,
    pub encryption_types: StringArray,
}

/// The records of a page from `start` to `stop`. Each is a row.
pub struct Records<'a> {
    pub columns: &'a RecordColumns,
    pub start: usize,
    pub stop: usize,
}

/// The same records, with aggregates among them. Each user record is a row.
pub struct UserRecords<'a> {
    records: &'a Records<'a>,
    unpacked: Vec<Option<Aggregate<'a>>>,
    count: usize,
}

/// The columns whose values differ from row to row.
pub trait Rows {
    fn count(&self) -> usize;
    /// How many rows the first record has.
    fn of_first(&self) -> usize;
    fn data(&self) -> Mine<ArrayRef>;
    fn partition_keys(&self) -> Mine<ArrayRef>;
    fn explicit_hash_keys(&self) -> Mine<ArrayRef>;
    fn sub_sequence_numbers(&self) -> Mine<ArrayRef>;
    fn numbers(&self) -> Mine<ArrayRef>;
    fn arrivals(&self) -> Mine<ArrayRef>;
    fn encryption_types(&self) -> Mine<ArrayRef>;
}

impl Records<'_> {
    fn slice(&self, column: &dyn Array) -> Mine<ArrayRef> {
        Ok(column.slice(self.start, self.count()))
    }
}

impl Rows for Records<'_> {
    fn count(&self) -> usize {
        self.stop - self.start
    }

    fn of_first(&self) -> usize {
        self.count().min(1)
    }

    fn data(&self) -> Mine<ArrayRef> {
        self.slice(&self.columns.data)
    }

    fn partition_keys(&self) -> Mine<ArrayRef> {
        self.slice(&self.columns.partition_keys)
    }

    fn explicit_hash_keys(&self) -> Mine<ArrayRef> {
        Ok(Arc::new(StringArray::new_null(self.count())))
    }

    fn sub_sequence_numbers(&self) -> Mine<ArrayRef> {
        Ok(Arc::new(Int64Array::from_value(0, self.count())))
    }

    fn numbers(&self) -> Mine<ArrayRef> {
        self.slice(&self.columns.numbers)
    }

    fn arrivals(&self) -> Mine<ArrayRef> {
        self.slice(&self.columns.arrivals)
    }

    fn encryption_types(&self) -> Mine<ArrayRef> {
        self.slice(&self.columns.encryption_types)
    }
}

impl<'a> UserRecords<'a> {
    pub fn unpack(records: &'a Records<'a>) -> Mine<Self> {
        let payloads: Vec<_> =
            (records.start..records.stop).map(|index| records.columns.data.value(index)).collect();
        let unpacked = unpack(&payloads)?;
        let count = unpacked.iter().map(rows_of).sum();
        Ok(Self { records, unpacked, count })
    }

    /// Each record with its aggregate, if it is one.
    fn each(&self) -> impl Iterator<Item = (usize, &Option<Aggregate<'a>>)> {
        (self.records.start..self.records.stop).zip(&self.unpacked)
    }

    /// Repeat the text of each record in all of its rows.
    fn texts(&self, column: &StringArray) -> Mine<ArrayRef> {
        let bytes =
            self.each().map(|(index, found)| column.value_length(index) as usize * rows_of(found)).sum();
        require(bytes <= LARGEST_COLUMN_BYTES)?;
        let mut texts = StringBuilder::with_capacity(self.count, bytes);
        for (index, found) in self.each() {
            let value = column.is_valid(index).then(|| column.value(index));
            for _ in 0..rows_of(found) {
                texts.append_option(value);
            }
        }
        Ok(Arc::new(texts.finish()))
    }

    /// Build a column of texts: of the user records of an aggregate, or of a plain record.
    fn keys(
        &self,
        of_user_record: impl for<'b> Fn(&'b Aggregate<'a>, &UserRecord<'a>) -> Option<&'b str>,
        of_record: impl Fn(usize) -> Option<&'a str>,
    ) -> Mine<ArrayRef> {
        let mut keys = StringBuilder::with_capacity(self.count, self.count * 16);
        for (index, found) in self.each() {
            match found {
                None => keys.append_option(of_record(index)),
                Some(aggregate) => {
                    for record in &aggregate.records {
                        let key = of_user_record(aggregate, record);
                        require(keys.values_slice().len() + key.map_or(0, str::len) <= LARGEST_COLUMN_BYTES)?;
                        keys.append_option(key);
                    }
                }
            }
        }
        Ok(Arc::new(keys.finish()))
    }
}

fn rows_of(found: &Option<Aggregate>) -> usize {
    found.as_ref().map_or(1, |aggregate| aggregate.records.len())
}

impl<'a> Rows for UserRecords<'a> {
    fn count(&self) -> usize {
        self.count
    }

    fn of_first(&self) -> usize {
        self.unpacked.first().map_or(0, rows_of)
    }

    fn data(&self) -> Mine<ArrayRef> {
        let ends = self.records.columns.data.value_offsets();
        let bytes = (ends[self.records.stop] - ends[self.records.start]) as usize;
        buffer(bytes)?; // Arrow's builder would end the process
        let mut data = BinaryBuilder::with_capacity(self.count, bytes);
        for (index, found) in self.each() {
            match found {
                None => data.append_value(self.records.columns.data.value(index)),
                Some(aggregate) => aggregate.records.iter().for_each(|record| data.append_value(record.data)),
            }
        }
        Ok(Arc::new(data.finish()))
    }

    fn partition_keys(&self) -> Mine<ArrayRef> {
        let column: &'a StringArray = &self.records.columns.partition_keys;
        self.keys(
            |aggregate, record| Some(&*aggregate.partition_keys[record.partition_key]),
            |index| column.is_valid(index).then(|| column.value(index)),
        )
    }

    fn explicit_hash_keys(&self) -> Mine<ArrayRef> {
        self.keys(
            |aggregate, record| record.explicit_hash_key.map(|index| aggregate.explicit_hash_keys[index]),
            |_| None,
        )
    }

    fn sub_sequence_numbers(&self) -> Mine<ArrayRef> {
        let numbers = self.unpacked.iter().flat_map(|found| 0..rows_of(found) as i64);
        Ok(Arc::new(Int64Array::from_iter_values(numbers)))
    }

    fn numbers(&self) -> Mine<ArrayRef> {
        self.texts(&self.records.columns.numbers)
    }

    fn arrivals(&self) -> Mine<ArrayRef> {
        let column = &self.records.columns.arrivals;
        let value = |index| column.is_valid(index).then(|| column.value(index));
        let values = self.each().flat_map(|(index, found)| repeat_n(value(index), rows_of(found)));
        Ok(Arc::new(values.collect::<TimestampMicrosecondArray>().with_timezone("UTC")))
    }

    fn encryption_types(&self) -> Mine<ArrayRef> {
        self.texts(&self.records.columns.encryption_types)
    }
}
