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

/// Return an empty buffer with room for *size* bytes. Without the memory for it, which would end the process, the input is not
/// recognised: Python's path then raises a `MemoryError`.
pub fn buffer(size: usize) -> Mine<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(size).map_err(|_| NotMine)?;
    Ok(bytes)
}

/// Return whether *is_right* is true of each byte. Without an early end, the compiler looks at many bytes at once.
#[inline(always)]
pub fn every(bytes: &[u8], is_right: impl Fn(u8) -> bool) -> bool {
    bytes.iter().fold(true, |all, byte| all & is_right(*byte))
}
