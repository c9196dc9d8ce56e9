//! Steps through CBOR, and writes it. Texts and bytes of indefinite length are not recognised, so each of them is a slice of the
//! body.
//!
//! Source: https://www.rfc-editor.org/rfc/rfc8949

use crate::mine::{Mine, NotMine, require};

const UNSIGNED: u8 = 0;
pub const BYTES: u8 = 2;
pub const TEXT: u8 = 3;
pub const ARRAY: u8 = 4;
pub const MAP: u8 = 5;
const TAG: u8 = 6;
const NULL: u8 = 0xf6;
const BREAK: u8 = 0xff;
const INDEFINITE: u8 = 31;

/// The rest of a body.
pub struct Cbor<'a> {
    rest: &'a [u8],
}

impl<'a> Cbor<'a> {
    pub fn new(body: &'a [u8]) -> Self {
        Self { rest: body }
    }

    /// How many bytes are left.
    pub fn left(&self) -> usize {
        self.rest.len()
    }

    /// Check that nothing is left.
    pub fn end(&self) -> Mine<()> {
        require(self.rest.is_empty())
    }

    #[inline]
    fn accept(&mut self, byte: u8) -> bool {
        let found = self.rest.first() == Some(&byte);
        self.rest = &self.rest[usize::from(found)..];
        found
    }

    #[inline]
    fn take(&mut self, count: usize) -> Mine<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(NotMine)?;
        self.rest = rest;
        Ok(taken)
    }

    /// Read the head of an item of the type *major*: its number, or `None` for an indefinite length.
    #[inline]
    fn head(&mut self, major: u8) -> Mine<Option<u64>> {
        let first = self.take(1)?[0];
        require(first >> 5 == major)?;
        let number = match first & 0x1f {
            small @ 0..=23 => u64::from(small),
            24 => u64::from(self.take(1)?[0]),
            size @ 25..=27 => {
                self.take(1 << (size - 24))?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
            }
            INDEFINITE => return Ok(None),
            _ => return Err(NotMine),
        };
        Ok(Some(number))
    }

    #[inline]
    fn slice(&mut self, major: u8) -> Mine<&'a [u8]> {
        let length = self.head(major)?.ok_or(NotMine)?;
        self.take(usize::try_from(length).map_err(|_| NotMine)?)
    }

    /// Read a text. Whether it is UTF-8 is not checked.
    #[inline]
    pub fn text(&mut self) -> Mine<&'a [u8]> {
        self.slice(TEXT)
    }

    #[inline]
    pub fn bytes(&mut self) -> Mine<&'a [u8]> {
        self.slice(BYTES)
    }

    /// Read a number from 0 on that fits into 63 bits.
    #[inline]
    pub fn whole(&mut self) -> Mine<i64> {
        let number = self.head(UNSIGNED)?.ok_or(NotMine)?;
        i64::try_from(number).map_err(|_| NotMine)
    }

    /// Step over the tag *number* if it is next. Its head has one byte.
    #[inline]
    pub fn accept_tag(&mut self, number: u8) -> bool {
        self.accept(TAG << 5 | number)
    }

    /// Return what *read* returns, or `None` for null.
    #[inline]
    pub fn optional<T>(&mut self, read: impl FnOnce(&mut Self) -> Mine<T>) -> Mine<Option<T>> {
        if self.accept(NULL) { Ok(None) } else { read(self).map(Some) }
    }

    /// Read a map. *take* gets each name and reads the value.
    #[inline]
    pub fn map(&mut self, mut take: impl FnMut(&mut Self, &'a [u8]) -> Mine<()>) -> Mine<()> {
        self.items(MAP, |cbor| {
            let name = cbor.text()?;
            take(cbor, name)
        })
    }

    /// Read an array. *take* reads each item.
    #[inline]
    pub fn array(&mut self, take: impl FnMut(&mut Self) -> Mine<()>) -> Mine<()> {
        self.items(ARRAY, take)
    }

    #[inline]
    fn items(&mut self, major: u8, mut take: impl FnMut(&mut Self) -> Mine<()>) -> Mine<()> {
        let Some(count) = self.head(major)? else {
            while !self.accept(BREAK) {
                take(self)?;
            }
            return Ok(());
        };
        // Each item takes at least a byte, so a long array ends with the body.
        (0..count).try_for_each(|_| take(self))
    }
}

/// Write the shortest head of an item of the type *major*, with its *number*: a length or a count.
pub fn write_head(body: &mut Vec<u8>, major: u8, number: usize) {
    let bytes = (number as u64).to_be_bytes();
    let (code, from) = match number {
        0..=23 => (number as u8, bytes.len()),
        24..=0xff => (24, 7),
        0x100..=0xffff => (25, 6),
        0x1_0000..=0xffff_ffff => (26, 4),
        _ => (27, 0),
    };
    body.push(major << 5 | code);
    body.extend_from_slice(&bytes[from..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_as_short_as_they_can_be() {
        for (number, bytes) in [
            (23, 1),
            (24, 2),
            (0xff, 2),
            (0x100, 3),
            (0xffff, 3),
            (0x1_0000, 5),
            (0xffff_ffff, 5),
            (1 << 32, 9),
        ] {
            let mut body = Vec::new();
            write_head(&mut body, UNSIGNED, number);
            assert_eq!(body.len(), bytes);
            assert_eq!(Cbor::new(&body).whole(), Ok(number as i64));
        }
    }

    #[test]
    fn numbers_of_all_lengths_are_read() {
        for (body, number) in [
            (&b"\x17"[..], 23),
            (b"\x18\x18", 24),
            (b"\x19\x03\xe8", 1000),
            (b"\x1a\x00\x0f\x42\x40", 1_000_000),
            (b"\x1b\x00\x00\x00\xe8\xd4\xa5\x10\x00", 1_000_000_000_000),
        ] {
            assert_eq!(Cbor::new(body).whole(), Ok(number));
        }
        assert_eq!(Cbor::new(b"\x1b\xff\xff\xff\xff\xff\xff\xff\xff").whole(), Err(NotMine));
        assert_eq!(Cbor::new(b"\x20").whole(), Err(NotMine));
    }

    #[test]
    fn items_are_read_with_and_without_a_count() {
        for body in [&b"\x82\x01\x02"[..], b"\x9f\x01\x02\xff"] {
            let mut found = Vec::new();
            let mut cbor = Cbor::new(body);
            cbor.array(|cbor| cbor.whole().map(|number| found.push(number))).unwrap();
            assert_eq!((found, cbor.end()), (vec![1, 2], Ok(())));
        }
    }

    #[test]
    fn lengths_beyond_the_body_are_not_recognised() {
        for body in [&b"\x5b\xff\xff\xff\xff\xff\xff\xff\xff"[..], b"\x42x", b"\x5f\x41x\xff", b"", b"\x5c"] {
            assert_eq!(Cbor::new(body).bytes(), Err(NotMine));
        }
        let many = b"\x9b\xff\xff\xff\xff\xff\xff\xff\xff\x01";
        assert_eq!(Cbor::new(many).array(|cbor| cbor.whole().map(drop)), Err(NotMine));
    }
}
