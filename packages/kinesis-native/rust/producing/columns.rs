//! Rows as columns of equal length, and the checks before any of them is put.

use pyo3::PyResult;

use crate::mine::{Mine, NotMine, require};
use crate::producing::values::Values;

const MAX_KEY_CHARS: usize = 256;
/// A row without a partition key may get a random one of so many characters.
const RANDOM_KEY_CHARS: usize = 16;
const MOST_HASH_KEY_DIGITS: usize = 39;

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
    keys: Option<Values>,
    hash_keys: Option<Values>,
}

impl Columns {
    pub fn new(data: Values, keys: Option<Values>, hash_keys: Option<Values>) -> Mine<Self> {
        let columns = Self { data, keys, hash_keys };
        let lengths = [columns.keys.as_ref(), columns.hash_keys.as_ref()];
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
            keys: self.keys.as_ref().map(|keys| keys.picked(indexes.clone())),
            hash_keys: self.hash_keys.as_ref().map(|keys| keys.picked(indexes)),
        }
    }

    /// Copy the rows that *indexes* names, with other partition keys.
    pub fn picked_with(&self, indexes: impl ExactSizeIterator<Item = usize> + Clone, keys: Values) -> Self {
        Self {
            data: self.data.picked(indexes.clone()),
            keys: Some(keys),
            hash_keys: self.hash_keys.as_ref().map(|keys| keys.picked(indexes)),
        }
    }

    pub fn has_hash_keys(&self) -> bool {
        self.hash_keys.is_some()
    }

    /// Return whether any row may have no partition key.
    pub fn lacks_keys(&self) -> bool {
        self.keys.as_ref().is_none_or(|keys| keys.null_count() > 0)
    }

    /// Check each row except for its size. Returns the bytes of the longest data, and of the largest row.
    pub fn check(&self) -> Mine<[usize; 2]> {
        let [mut longest, mut largest] = [0; 2];
        for index in 0..self.len() {
            let row = self.row(index);
            let key_bytes = row.key.map(check_key).transpose()?.unwrap_or(RANDOM_KEY_CHARS);
            row.hash_key.map(read_hash_key).transpose()?;
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

/// Return a key as Python has it. It was checked when the rows were made.
pub fn text_of(key: &[u8]) -> PyResult<String> {
    Ok(String::from_utf8(key.to_vec())?)
}

/// Return the number that *text* is: decimal, from 0 to 2^128-1, without zeros in front.
pub fn read_hash_key(text: &[u8]) -> Mine<u128> {
    require(matches!(text.len(), 1..=MOST_HASH_KEY_DIGITS) && (text.len() == 1 || text[0] != b'0'))?;
    text.iter().try_fold(0_u128, |value, byte| {
        require(byte.is_ascii_digit())?;
        let value = value.checked_mul(10).ok_or(NotMine)?;
        value.checked_add(u128::from(byte - b'0')).ok_or(NotMine)
    })
}
