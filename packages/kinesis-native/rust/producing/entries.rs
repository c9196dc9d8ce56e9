//! The records of PutRecords requests: rows, or aggregates of rows.

use std::ops::Range;
use std::sync::Arc;

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::aggregation::aggregate::{Aggregate, seal};
use crate::mine::Mine;
use crate::producing::columns::{Columns, text_of};
use crate::put_body::{Entry, write_json};
use crate::put_body_cbor::write_cbor;

/// The partition key of every aggregate, as in the KPL. An explicit hash key routes the aggregate.
const AGGREGATE_KEY: &[u8] = b"a";

/// The format of a body.
#[derive(Clone, Copy)]
pub enum Format {
    Json,
    Cbor,
}

/// Records that were made together.
#[derive(Clone)]
pub enum Part {
    Rows(Arc<Columns>, Range<usize>),
    Aggregate(Arc<Aggregate>),
}

impl Part {
    fn len(&self) -> usize {
        match self {
            Self::Rows(_, range) => range.len(),
            Self::Aggregate(_) => 1,
        }
    }

    fn slice(&self, range: Range<usize>) -> Self {
        match self {
            Self::Rows(columns, own) => {
                Self::Rows(columns.clone(), own.start + range.start..own.start + range.end)
            }
            Self::Aggregate(_) => self.clone(),
        }
    }

    fn size_bytes(&self, index: usize) -> usize {
        match self {
            Self::Rows(columns, range) => columns.row(range.start + index).size_bytes(),
            Self::Aggregate(aggregate) => aggregate.size_bytes() + AGGREGATE_KEY.len(),
        }
    }

    fn entry(&self, index: usize) -> Entry<'_> {
        match self {
            Self::Rows(columns, range) => {
                let row = columns.row(range.start + index);
                Entry { data: row.data, end: b"", partition_key: row.key, explicit_hash_key: row.hash_key }
            }
            Self::Aggregate(aggregate) => Entry {
                data: &aggregate.message,
                end: aggregate.digest(),
                partition_key: Some(AGGREGATE_KEY),
                explicit_hash_key: Some(aggregate.hash_key.as_bytes()),
            },
        }
    }
}

/// Records in their order. What they hold is independent of the rows that they were made of.
#[pyclass(frozen, module = "kinesis_native")]
pub struct PutEntries {
    parts: Vec<Part>,
    count: usize,
}

impl PutEntries {
    fn of(parts: Vec<Part>) -> Self {
        let count = parts.iter().map(Part::len).sum();
        Self { parts, count }
    }

    pub fn of_rows(rows: Columns) -> Self {
        let range = 0..rows.len();
        Self::of(vec![Part::Rows(Arc::new(rows), range)])
    }

    pub fn of_aggregate(aggregate: Aggregate) -> Self {
        Self::of(vec![Part::Aggregate(Arc::new(aggregate))])
    }

    fn check(&self, start: usize, stop: usize) -> PyResult<()> {
        if start <= stop && stop <= self.count {
            return Ok(());
        }
        Err(PyIndexError::new_err(format!("{start}..{stop} of {} records", self.count)))
    }

    /// The records from *start* to *stop*, as parts.
    fn parts_of(&self, start: usize, stop: usize) -> Vec<Part> {
        let mut first = 0;
        let mut found = Vec::new();
        for part in &self.parts {
            let range =
                start.saturating_sub(first).min(part.len())..stop.saturating_sub(first).min(part.len());
            first += part.len();
            if !range.is_empty() {
                found.push(part.slice(range));
            }
        }
        found
    }

    pub fn each(&self) -> impl Iterator<Item = Entry<'_>> {
        self.parts.iter().flat_map(|part| (0..part.len()).map(|index| part.entry(index)))
    }

    /// Write the body of a request to the stream called *name*, or with that *arn*.
    pub fn body(&self, format: Format, name: &str, arn: Option<&str>) -> Mine<Vec<u8>> {
        let aggregates: Vec<&Aggregate> = self
            .parts
            .iter()
            .filter_map(|part| match part {
                Part::Aggregate(aggregate) => Some(&**aggregate),
                Part::Rows(..) => None,
            })
            .collect();
        seal(&aggregates);
        let size_bytes = self.each().map(|entry| entry.size_bytes()).sum();
        match format {
            Format::Json => write_json(self.each(), self.count, size_bytes, name, arn),
            Format::Cbor => write_cbor(self.each(), self.count, size_bytes, name, arn),
        }
    }

    fn encode<'py>(
        &self,
        py: Python<'py>,
        format: Format,
        name: &str,
        arn: Option<&str>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let Ok(body) = py.detach(|| self.body(format, name, arn)) else {
            return Ok(None);
        };
        joined(py, &body, b"").map(Some)
    }
}

/// Return *first* and *second* as one object. Without the memory for it that is a MemoryError, where `PyBytes::new` panics.
fn joined<'py>(py: Python<'py>, first: &[u8], second: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, first.len() + second.len(), |bytes| {
        let (start, end) = bytes.split_at_mut(first.len());
        start.copy_from_slice(first);
        end.copy_from_slice(second);
        Ok(())
    })
}

/// Data, partition key and explicit hash key of a record.
type Fields<'py> = (Bound<'py, PyBytes>, String, Option<String>);

#[pymethods]
impl PutEntries {
    /// Join records that were made apart.
    #[staticmethod]
    fn joined(all: Vec<PyRef<'_, Self>>) -> Self {
        Self::of(all.iter().flat_map(|entries| entries.parts.iter().cloned()).collect())
    }

    fn __len__(&self) -> usize {
        self.count
    }

    /// Return the records from *start* to *stop* as tuples: data, partition key, explicit hash key.
    fn entries<'py>(&self, py: Python<'py>, start: usize, stop: usize) -> PyResult<Vec<Fields<'py>>> {
        self.check(start, stop)?;
        let parts = self.parts_of(start, stop);
        let each = parts.iter().flat_map(|part| (0..part.len()).map(|index| part.entry(index)));
        each.map(|entry| {
            Ok((
                joined(py, entry.data, entry.end)?,
                text_of(entry.partition_key.unwrap_or_default())?,
                entry.explicit_hash_key.map(text_of).transpose()?,
            ))
        })
        .collect()
    }

    /// Return the records from *start* to *stop*, without a copy.
    fn slice(&self, start: usize, stop: usize) -> PyResult<Self> {
        self.check(start, stop)?;
        Ok(Self::of(self.parts_of(start, stop)))
    }

    /// Return copies of the records at *indexes*. They do not keep the others in memory.
    fn pick(&self, indexes: Vec<usize>) -> PyResult<Self> {
        let mut parts = Vec::with_capacity(indexes.len());
        for index in indexes {
            self.check(index, index + 1)?;
            parts.extend(self.parts_of(index, index + 1).into_iter().map(|part| match part {
                Part::Rows(columns, range) => Part::Rows(Arc::new(columns.picked(range)), 0..1),
                Part::Aggregate(_) => part,
            }));
        }
        Ok(Self::of(parts))
    }

    /// Return the bytes of each record that Kinesis' limits count.
    fn sizes(&self) -> Vec<usize> {
        self.parts.iter().flat_map(|part| (0..part.len()).map(|index| part.size_bytes(index))).collect()
    }

    /// Return the body of a PutRecords request in JSON; None if the Python path has to.
    #[pyo3(signature = (name, arn))]
    fn encode_json<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        arn: Option<&str>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        self.encode(py, Format::Json, name, arn)
    }

    /// Return the same body in CBOR.
    #[pyo3(signature = (name, arn))]
    fn encode_cbor<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        arn: Option<&str>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        self.encode(py, Format::Cbor, name, arn)
    }
}
