//! "Not mine": the answer to any input that native code does not recognise.

/// The input has a form that is left to the Python path, which decides whether it is valid and what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotMine;

/// A result, or the answer that the input is not recognised.
pub type Mine<T> = Result<T, NotMine>;

/// Return `Ok` if what was found is what is recognised.
pub fn require(found: bool) -> Mine<()> {
    if found { Ok(()) } else { Err(NotMine) }
}

/// Return whether *is_right* is true of each byte. Without an early end, the compiler looks at many bytes at once.
#[inline(always)]
pub fn every(bytes: &[u8], is_right: impl Fn(u8) -> bool) -> bool {
    bytes.iter().fold(true, |all, byte| all & is_right(*byte))
}
