//! Steps through JSON text. Strings with escapes are not recognised, so a string is a slice of the body.

use memchr::memchr;

use crate::mine::{Mine, NotMine, every, require};

/// A position in JSON text.
pub struct Scanner<'a> {
    body: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    pub fn new(body: &'a [u8]) -> Self {
        Self { body, at: 0 }
    }

    /// How many bytes are read.
    pub fn position(&self) -> usize {
        self.at
    }

    /// The bytes that are not read yet.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        &self.body[self.at..]
    }

    /// Step over *count* bytes, which are there.
    #[inline]
    pub fn skip(&mut self, count: usize) {
        self.at += count;
    }

    /// The next byte that is not white space; 0 at the end.
    #[inline]
    pub fn peek(&mut self) -> u8 {
        while let Some(byte) = self.body.get(self.at) {
            if !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                return *byte;
            }
            self.at += 1;
        }
        0
    }

    /// Step over *byte* if it is next, after white space.
    #[inline]
    pub fn accept(&mut self, byte: u8) -> bool {
        let found = self.peek() == byte;
        self.at += usize::from(found);
        found
    }

    #[inline]
    pub fn expect(&mut self, byte: u8) -> Mine<()> {
        require(self.accept(byte))
    }

    /// Step over *text* if it is next, without white space before it.
    #[inline(always)] // the length of each text is known to the compiler then
    pub fn accept_text(&mut self, text: &[u8]) -> bool {
        let found = self.rest().starts_with(text);
        self.at += if found { text.len() } else { 0 };
        found
    }

    /// Check that only white space follows.
    pub fn end(&mut self) -> Mine<()> {
        self.peek();
        require(self.at == self.body.len())
    }

    /// Return the bytes up to the next quote. They are no string of JSON if there is a backslash among them.
    #[inline]
    pub fn quoted(&mut self) -> Mine<&'a [u8]> {
        self.expect(b'"')?;
        let rest = self.rest();
        let length = memchr(b'"', rest).ok_or(NotMine)?;
        self.at += length + 1;
        Ok(&rest[..length])
    }

    /// Return a string without escapes. Whether it is UTF-8 is not checked.
    #[inline]
    pub fn text(&mut self) -> Mine<&'a [u8]> {
        let text = self.quoted()?;
        require(every(text, |byte| (byte >= b' ') & (byte != b'\\')))?;
        Ok(text)
    }

    /// Return what *read* returns, or `None` for `null`.
    #[inline]
    pub fn optional<T>(&mut self, read: impl FnOnce(&mut Self) -> Mine<T>) -> Mine<Option<T>> {
        if self.peek() == b'n' && self.accept_text(b"null") {
            return Ok(None);
        }
        read(self).map(Some)
    }

    /// Read the members of an object. *take* steps over the name and the value of one.
    #[inline]
    pub fn object(&mut self, take: impl FnMut(&mut Self) -> Mine<()>) -> Mine<()> {
        self.items([b'{', b'}'], take)
    }

    /// Read an array. *take* reads each item.
    #[inline]
    pub fn array(&mut self, take: impl FnMut(&mut Self) -> Mine<()>) -> Mine<()> {
        self.items([b'[', b']'], take)
    }

    #[inline]
    fn items(&mut self, [open, close]: [u8; 2], mut take: impl FnMut(&mut Self) -> Mine<()>) -> Mine<()> {
        self.expect(open)?;
        if self.accept(close) {
            return Ok(());
        }
        loop {
            self.peek();
            take(self)?;
            if !self.accept(b',') {
                return self.expect(close);
            }
        }
    }
}

/// Which members an object has had.
#[derive(Default)]
pub struct Seen(u8);

impl Seen {
    /// Take in the member *index*. A second one is not recognised.
    #[inline]
    pub fn once(&mut self, index: u8) -> Mine<()> {
        require(!self.has(index))?;
        self.0 |= 1 << index;
        Ok(())
    }

    #[inline]
    pub fn has(&self, index: u8) -> bool {
        self.0 & (1 << index) != 0
    }
}
