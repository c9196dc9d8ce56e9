//! Record batches of Arrow: which columns, and how they leave for Python.

use std::ffi::CStr;
use std::sync::Arc;

use arrow_array::ffi::to_ffi;
use arrow_array::{Array, ArrayRef, Int64Array, StringArray, StructArray};
use arrow_schema::{Field, Fields};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::mine::{Mine, NotMine};
use crate::rows::{RecordColumns, Records, Rows, UserRecords};

const SCHEMA_NAME: &CStr = c"arrow_schema";
const ARRAY_NAME: &CStr = c"arrow_array";

/// The columns that are asked for, and the values of those that are the same in all rows.
pub struct Wanted<'a> {
    pub columns: &'a [String],
    pub stream_name: &'a str,
    pub stream: &'a str,
    pub shard_id: &'a str,
    pub millis_behind: i64,
}

impl Wanted<'_> {
    /// Build the batch of the records from *start* to *stop* of a page, without the first *skip* rows of the first record.
    pub fn build(
        &self,
        columns: &RecordColumns,
        start: usize,
        stop: usize,
        unpacks: bool,
        skip: usize,
    ) -> Mine<Batch> {
        let records = Records { columns, start, stop };
        if unpacks {
            self.columns_of(&UserRecords::unpack(&records)?, skip)
        } else {
            self.columns_of(&records, skip)
        }
    }

    fn columns_of(&self, rows: &impl Rows, skip: usize) -> Mine<Batch> {
        let columns: Vec<ArrayRef> =
            self.columns.iter().map(|name| self.column(name, rows)).collect::<Mine<_>>()?;
        let fields: Fields = self
            .columns
            .iter()
            .zip(&columns)
            .map(|(name, column)| Field::new(name, column.data_type().clone(), true))
            .collect();
        let all =
            StructArray::try_new_with_length(fields, columns, None, rows.count()).map_err(|_| NotMine)?;
        let skip = skip.min(rows.of_first());
        let left = all.len() - skip;
        Ok(Batch { rows: all.slice(skip, left) })
    }

    fn column(&self, name: &str, rows: &impl Rows) -> Mine<ArrayRef> {
        match name {
            "data" => rows.data(),
            "partitionKey" => rows.partition_keys(),
            "sequenceNumber" => rows.numbers(),
            "approximateArrivalTimestamp" => rows.arrivals(),
            "subSequenceNumber" => rows.sub_sequence_numbers(),
            "explicitHashKey" => rows.explicit_hash_keys(),
            "encryptionType" => rows.encryption_types(),
            "streamName" => repeated(self.stream_name, rows.count()),
            "stream" => repeated(self.stream, rows.count()),
            "shardId" => repeated(self.shard_id, rows.count()),
            "millisBehindLatest" => Ok(Arc::new(Int64Array::from_value(self.millis_behind, rows.count()))),
            _ => Err(NotMine),
        }
    }
}

fn repeated(text: &str, count: usize) -> Mine<ArrayRef> {
    if text.len().saturating_mul(count) > i32::MAX as usize {
        return Err(NotMine);
    }
    Ok(Arc::new(StringArray::new_repeated(text, count)))
}

/// A record batch that Arrow libraries take over without a copy, by the Arrow PyCapsule interface.
///
/// Source: https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html
#[pyclass(frozen, module = "kinesis_native")]
pub struct Batch {
    rows: StructArray,
}

#[pymethods]
impl Batch {
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        drop(requested_schema); // the protocol lets a producer ignore it
        let (array, schema) =
            to_ffi(&self.rows.to_data()).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok((
            PyCapsule::new_with_value(py, schema, SCHEMA_NAME)?,
            PyCapsule::new_with_value(py, array, ARRAY_NAME)?,
        ))
    }
}
