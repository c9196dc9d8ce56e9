//! A decoded page: its records as columns, and what the reader needs to go on.

use arrow_array::{Array, StringArray};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

use crate::batch::{Batch, Wanted};
use crate::rows::RecordColumns;

/// The members of a page beside its records.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Facts {
    pub millis_behind: i64,
    pub next_iterator: Option<String>,
    pub continuation: Option<String>,
}

/// One response of GetRecords, or one event of SubscribeToShard.
#[pyclass(frozen, module = "kinesis_native")]
pub struct Page {
    pub columns: RecordColumns,
    /// Whether any payload begins like an aggregate.
    pub holds_aggregates: bool,
    pub facts: Facts,
}

impl Page {
    /// How many records it has.
    pub fn count(&self) -> usize {
        self.columns.numbers.len()
    }

    fn check(&self, start: usize, stop: usize) -> PyResult<()> {
        if start <= stop && stop <= self.columns.numbers.len() {
            return Ok(());
        }
        Err(PyIndexError::new_err(format!("{start}..{stop} of {} records", self.columns.numbers.len())))
    }

    fn row<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyTuple>> {
        let optional = |column: &StringArray| column.is_valid(index).then(|| column.value(index).to_owned());
        // The division restores the number that the JSON text has: both are the nearest to the exact millisecond.
        let arrived_s = self
            .columns
            .arrivals
            .is_valid(index)
            .then(|| (self.columns.arrivals.value(index) / 1000) as f64 / 1000.0);
        (
            self.columns.numbers.value(index),
            PyBytes::new(py, self.columns.data.value(index)),
            optional(&self.columns.partition_keys),
            arrived_s,
            optional(&self.columns.encryption_types),
        )
            .into_pyobject(py)
    }
}

#[pymethods]
impl Page {
    fn __len__(&self) -> usize {
        self.columns.numbers.len()
    }

    #[getter]
    fn millis_behind(&self) -> i64 {
        self.facts.millis_behind
    }

    #[getter]
    fn next_iterator(&self) -> Option<&str> {
        self.facts.next_iterator.as_deref()
    }

    #[getter]
    fn continuation(&self) -> Option<&str> {
        self.facts.continuation.as_deref()
    }

    /// Return the record *index* as a tuple: sequence number, data, partition key, arrival in seconds, encryption type.
    fn record<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyTuple>> {
        self.check(index, index + 1)?;
        self.row(py, index)
    }

    /// Return the records from *start* to *stop* as a list of tuples like that of `record`.
    fn records<'py>(&self, py: Python<'py>, start: usize, stop: usize) -> PyResult<Bound<'py, PyList>> {
        self.check(start, stop)?;
        let rows: Vec<_> = (start..stop).map(|index| self.row(py, index)).collect::<PyResult<_>>()?;
        PyList::new(py, rows)
    }

    /// Return the bytes of payload in the records from *start* to *stop*.
    fn data_bytes(&self, start: usize, stop: usize) -> PyResult<usize> {
        self.check(start, stop)?;
        let ends = self.columns.data.value_offsets();
        Ok((ends[stop] - ends[start]) as usize)
    }

    /// Build a record batch of the records from *start* to *stop*; None if the Python path has to.
    #[pyo3(signature = (columns, start, stop, *, deaggregate, skip, stream_name, stream, shard_id, millis_behind))]
    #[allow(clippy::too_many_arguments)] // they are the arguments of the Python function
    fn batch(
        &self,
        py: Python<'_>,
        columns: Vec<String>,
        start: usize,
        stop: usize,
        deaggregate: bool,
        skip: usize,
        stream_name: &str,
        stream: &str,
        shard_id: &str,
        millis_behind: i64,
    ) -> PyResult<Option<Batch>> {
        self.check(start, stop)?;
        let wanted = Wanted { columns: &columns, stream_name, stream, shard_id, millis_behind };
        let unpacks = deaggregate && self.holds_aggregates;
        Ok(py.detach(|| wanted.build(&self.columns, start, stop, unpacks, skip)).ok())
    }
}
