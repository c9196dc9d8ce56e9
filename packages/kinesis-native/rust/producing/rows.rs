//! Rows that Python puts: parts of columns, in any order.

use std::sync::Arc;

use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::mine::{Mine, NotMine};
use crate::producing::columns::{Columns, Row, text_of};
use crate::producing::entries::PutEntries;
use crate::producing::router;
use crate::producing::values::Values;

/// Some rows of columns, in any order.
#[pyclass(frozen, module = "kinesis_native")]
pub struct PutRows {
    columns: Arc<Columns>,
    /// The rows by their indexes in the columns, or None for all.
    chosen: Option<Arc<[u32]>>,
    start: usize,
    stop: usize,
    #[pyo3(get)]
    longest_bytes: usize,
    #[pyo3(get)]
    largest_bytes: usize,
}

impl PutRows {
    /// Take *columns*, with what their check returned.
    pub fn of(columns: Columns, [longest_bytes, largest_bytes]: [usize; 2]) -> Self {
        let stop = columns.len();
        Self { columns: Arc::new(columns), chosen: None, start: 0, stop, longest_bytes, largest_bytes }
    }

    fn with(&self, chosen: Option<Arc<[u32]>>, start: usize, stop: usize) -> Self {
        Self { columns: self.columns.clone(), chosen, start, stop, ..*self }
    }

    #[inline]
    fn index(&self, position: usize) -> usize {
        match &self.chosen {
            None => self.start + position,
            Some(chosen) => chosen[self.start + position] as usize,
        }
    }

    pub fn len(&self) -> usize {
        self.stop - self.start
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The row at *position*, which must be less than their number.
    #[inline]
    pub fn row(&self, position: usize) -> Row<'_> {
        self.columns.row(self.index(position))
    }

    /// Copy the row at *position*.
    pub fn copy(&self, position: usize) -> Columns {
        self.columns.picked([self.index(position)].into_iter())
    }

    fn rows(&self) -> Vec<Row<'_>> {
        (0..self.len()).map(|position| self.row(position)).collect()
    }

    /// Return the rows of each shard that has some. *starts* has the first hash key of each shard, 16 bytes each.
    pub fn group_by(&self, starts: &[u8]) -> Mine<Vec<(usize, Self)>> {
        let groups = router::group(&self.rows(), starts)?;
        if let [(shard, _)] = groups[..] {
            return Ok(vec![(shard, self.with(self.chosen.clone(), self.start, self.stop))]);
        }
        let part = |positions: Vec<u32>| {
            let indexes: Arc<[u32]> = positions.iter().map(|at| self.index(*at as usize) as u32).collect();
            let stop = indexes.len();
            self.with(Some(indexes), 0, stop)
        };
        Ok(groups.into_iter().map(|(shard, positions)| (shard, part(positions))).collect())
    }
}

/// Data, partition keys and explicit hash keys of rows.
type Lists<'py> = (Bound<'py, PyList>, Vec<String>, Option<Vec<Option<String>>>);

#[pymethods]
impl PutRows {
    /// Take over Arrow arrays; None if the Python path has to, for example because Kinesis refuses a row.
    #[staticmethod]
    #[pyo3(signature = (data, partition_keys, explicit_hash_keys))]
    fn of_arrays(
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        partition_keys: Option<&Bound<'_, PyAny>>,
        explicit_hash_keys: Option<&Bound<'_, PyAny>>,
    ) -> Option<Self> {
        let columns = Columns::new(
            Values::from_arrow(data).ok()?,
            partition_keys.map(Values::from_arrow).transpose().ok()?,
            explicit_hash_keys.map(Values::from_arrow).transpose().ok()?,
        );
        let columns = columns.ok()?;
        let sizes = py.detach(|| columns.check()).ok()?;
        Some(Self::of(columns, sizes))
    }

    /// Copy sequences of `bytes`, `str` and `str` or None; None if the Python path has to.
    #[staticmethod]
    #[pyo3(signature = (data, partition_keys, explicit_hash_keys))]
    fn of_lists(
        data: &Bound<'_, PyAny>,
        partition_keys: &Bound<'_, PyAny>,
        explicit_hash_keys: Option<&Bound<'_, PyAny>>,
    ) -> Option<Self> {
        let columns = Columns::new(
            Values::copied(data).ok()?,
            Some(Values::copied(partition_keys).ok()?),
            explicit_hash_keys.map(Values::copied).transpose().ok()?,
        );
        let columns = columns.ok()?;
        let sizes = columns.check().ok()?;
        Some(Self::of(columns, sizes))
    }

    fn __len__(&self) -> usize {
        self.len()
    }

    /// Return the rows from *start* to *stop*, without a copy.
    fn part(&self, start: usize, stop: usize) -> PyResult<Self> {
        if start > stop || stop > self.len() {
            return Err(PyIndexError::new_err(format!("{start}..{stop} of {} rows", self.len())));
        }
        Ok(self.with(self.chosen.clone(), self.start + start, self.start + stop))
    }

    /// Return how many rows have no partition key.
    fn missing_keys(&self) -> usize {
        if !self.columns.lacks_keys() {
            return 0;
        }
        (0..self.len()).filter(|position| self.row(*position).key.is_none()).count()
    }

    /// Return the same rows with other partition keys, which are copied.
    fn with_keys(&self, partition_keys: &Bound<'_, PyAny>) -> PyResult<Self> {
        let refused = |_| PyValueError::new_err("keys are not texts, or another number than the rows");
        let keys = Values::copied(partition_keys).map_err(refused)?;
        if keys.len() != self.len() {
            return Err(refused(NotMine));
        }
        let columns = self.columns.picked_with((0..self.len()).map(|position| self.index(position)), keys);
        Ok(Self::of(columns, [self.longest_bytes, self.largest_bytes]))
    }

    /// Return the rows of each shard, after the index of the shard; None if the Python path has to.
    fn group(&self, py: Python<'_>, starts: &[u8]) -> Option<Vec<(usize, Self)>> {
        py.detach(|| self.group_by(starts)).ok()
    }

    /// Return the bytes of data and keys of all rows.
    fn size_bytes(&self) -> usize {
        (0..self.len()).map(|position| self.row(position).size_bytes()).sum()
    }

    /// Return a record for each row. The rows are copied.
    fn entries(&self, py: Python<'_>) -> PutEntries {
        PutEntries::of_rows(
            py.detach(|| self.columns.picked((0..self.len()).map(|position| self.index(position)))),
        )
    }

    /// Return the data, the partition keys and the explicit hash keys as lists.
    fn lists<'py>(&self, py: Python<'py>) -> PyResult<Lists<'py>> {
        let rows = self.rows();
        let keys = rows.iter().map(|row| text_of(row.key.unwrap_or_default())).collect::<PyResult<_>>()?;
        let hash_keys =
            rows.iter().map(|row| row.hash_key.map(text_of).transpose()).collect::<PyResult<_>>()?;
        Ok((
            PyList::new(py, rows.iter().map(|row| PyBytes::new(py, row.data)))?,
            keys,
            self.columns.has_hash_keys().then_some(hash_keys),
        ))
    }
}
