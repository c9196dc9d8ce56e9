//! User records as columns, and the checks before any of them is put.

use std::sync::Arc;

use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::mine::{Mine, NotMine, require};
use crate::producing::entries::PutEntries;
use crate::producing::router;
use crate::producing::values::Values;

const MAX_KEY_CHARS: usize = 256;
/// A row without a partition key may get a random one of so many characters.
const RANDOM_KEY_CHARS: usize = 16;

/// One row. `key` is None if it has no partition key.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    pub data: &'a [u8],
    pub key: Option<&'a [u8]>,
    pub hash_key: Option<&'a [u8]>,
}

impl Row<'_> {
    /// The bytes of data and key, which Kinesis' limits count.
    pub fn size_bytes(&self) -> usize {
        self.data.len() + self.key.map_or(0, <[u8]>::len)
    }
}

/// Columns of equal length, whose data has no nulls.
pub struct Columns {
    data: Values,
    keys: Option<Arc<Values>>,
    hash_keys: Option<Values>,
}

impl Columns {
    fn new(data: Values, keys: Option<Values>, hash_keys: Option<Values>) -> Mine<Self> {
        let columns = Self { data, keys: keys.map(Arc::new), hash_keys };
        let lengths = [columns.keys.as_deref(), columns.hash_keys.as_ref()];
        require(lengths.into_iter().flatten().all(|column| column.len() == columns.data.len()))?;
        require(columns.data.null_count() == 0 && u32::try_from(columns.data.len()).is_ok())?;
        Ok(columns)
    }

    pub fn len(&self) -> usize {
        self.data.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    pub fn row(&self, index: usize) -> Row<'_> {
        Row {
            data: self.data.get(index).unwrap_or_default(),
            key: self.keys.as_ref().and_then(|keys| keys.get(index)),
            hash_key: self.hash_keys.as_ref().and_then(|keys| keys.get(index)),
        }
    }

    /// Copy the rows that *indexes* names, so that they do not keep the others in memory.
    pub fn picked(&self, indexes: impl ExactSizeIterator<Item = usize> + Clone) -> Self {
        Self {
            data: self.data.picked(indexes.clone()),
            keys: self.keys.as_ref().map(|keys| Arc::new(keys.picked(indexes.clone()))),
            hash_keys: self.hash_keys.as_ref().map(|keys| keys.picked(indexes)),
        }
    }

    /// Check each row except for its size. Returns the bytes of the longest data, and of the largest row.
    fn check(&self) -> Mine<[usize; 2]> {
        let [mut longest, mut largest] = [0; 2];
        for index in 0..self.len() {
            let row = self.row(index);
            let key_bytes = row.key.map(check_key).transpose()?.unwrap_or(RANDOM_KEY_CHARS);
            row.hash_key.map(router::read_hash_key).transpose()?;
            longest = longest.max(row.data.len());
            largest = largest.max(row.data.len() + key_bytes);
        }
        Ok([longest, largest])
    }
}

/// Check that Kinesis accepts a partition key, and return its bytes.
fn check_key(key: &[u8]) -> Mine<usize> {
    let text = std::str::from_utf8(key).map_err(|_| NotMine)?;
    require(!key.is_empty() && (key.len() <= MAX_KEY_CHARS || text.chars().count() <= MAX_KEY_CHARS))?;
    Ok(key.len())
}

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
    fn of(columns: Columns, [longest_bytes, largest_bytes]: [usize; 2]) -> Self {
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

    fn group_by(&self, starts: &[u8]) -> Mine<Vec<(usize, Self)>> {
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
        match &self.columns.keys {
            Some(keys) if keys.null_count() == 0 => 0,
            _ => (0..self.len()).filter(|position| self.row(*position).key.is_none()).count(),
        }
    }

    /// Return the same rows with other partition keys, which are copied.
    fn with_keys(&self, partition_keys: &Bound<'_, PyAny>) -> PyResult<Self> {
        let refused = |_| PyValueError::new_err("keys are not texts, or another number than the rows");
        let keys = Values::copied(partition_keys).map_err(refused)?;
        if keys.len() != self.len() {
            return Err(refused(NotMine));
        }
        let indexes = (0..self.len()).map(|position| self.index(position));
        let others = &self.columns;
        let columns = Columns {
            data: others.data.picked(indexes.clone()),
            keys: Some(Arc::new(keys)),
            hash_keys: others.hash_keys.as_ref().map(|keys| keys.picked(indexes)),
        };
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
            self.columns.hash_keys.is_some().then_some(hash_keys),
        ))
    }
}

/// Return a key as Python has it. It was checked when the rows were made.
pub fn text_of(key: &[u8]) -> PyResult<String> {
    Ok(String::from_utf8(key.to_vec())?)
}
