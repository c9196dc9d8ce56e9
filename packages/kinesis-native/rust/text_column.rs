//! A column of texts while it is built. Most columns have no nulls, or only nulls: both cost nearly nothing.

use arrow_array::StringArray;
use arrow_buffer::{Buffer, NullBufferBuilder, OffsetBuffer, ScalarBuffer};

use crate::mine::{Mine, NotMine};

/// Texts next to each other, and where each of them ends.
pub struct TextColumn {
    bytes: Vec<u8>,
    ends: Vec<i32>,
    nulls: NullBufferBuilder,
    /// How many nulls the column begins with, if it has nothing else.
    only_nulls: usize,
}

impl Default for TextColumn {
    fn default() -> Self {
        Self { bytes: Vec::new(), ends: vec![0], nulls: NullBufferBuilder::new(0), only_nulls: 0 }
    }
}

impl TextColumn {
    /// Reserve room for *count* texts of *length* bytes.
    pub fn reserve(&mut self, count: usize, length: usize) {
        self.bytes.reserve(count * length);
        self.ends.reserve(if length > 0 { count } else { 0 });
    }

    #[inline]
    pub fn push(&mut self, text: Option<&[u8]>) -> Mine<()> {
        let Some(text) = text else {
            self.push_null();
            return Ok(());
        };
        if self.only_nulls > 0 {
            self.write_nulls();
        }
        self.bytes.extend_from_slice(text);
        self.ends.push(i32::try_from(self.bytes.len()).map_err(|_| NotMine)?);
        self.nulls.append_non_null();
        Ok(())
    }

    fn push_null(&mut self) {
        if self.ends.len() == 1 {
            self.only_nulls += 1;
        } else {
            self.ends.push(self.bytes.len() as i32); // checked when the text before it was pushed
            self.nulls.append_null();
        }
    }

    fn write_nulls(&mut self) {
        self.ends.resize(self.only_nulls + 1, 0);
        self.nulls.append_n_nulls(self.only_nulls);
        self.only_nulls = 0;
    }

    /// Return the column. Texts that are not UTF-8 are not recognised.
    pub fn finish(mut self) -> Mine<StringArray> {
        if self.only_nulls > 0 {
            return Ok(StringArray::new_null(self.only_nulls));
        }
        let ends = OffsetBuffer::new(ScalarBuffer::from(self.ends));
        StringArray::try_new(ends, Buffer::from_vec(self.bytes), self.nulls.finish()).map_err(|_| NotMine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(texts: &[Option<&str>]) -> StringArray {
        let mut column = TextColumn::default();
        texts.iter().for_each(|text| column.push(text.map(str::as_bytes)).unwrap());
        column.finish().unwrap()
    }

    #[test]
    fn nulls_stay_where_they_were_pushed() {
        for texts in
            [&[None, None, Some("tea"), None, Some("")][..], &[Some("a"), Some("b")], &[None, None], &[]]
        {
            assert_eq!(column(texts), StringArray::from(texts.to_vec()));
        }
    }

    #[test]
    fn other_bytes_than_utf8_are_not_recognised() {
        let mut column = TextColumn::default();
        column.push(Some(b"\xff")).unwrap();
        assert_eq!(column.finish().err(), Some(NotMine));
    }
}
