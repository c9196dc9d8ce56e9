//! The bytes of a response, which are read while Python's lock is released.

use std::ops::Range;

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyMemoryView};

use crate::mine::Mine;

/// Return what *read* finds in the bytes of *body* in *part*, without Python's lock.
///
/// It is None for what is not recognised: other input, and another type than `bytes` and `bytearray`.
pub fn read_detached<T: Send>(
    body: &Bound<'_, PyAny>,
    part: Range<usize>,
    read: impl FnOnce(&[u8]) -> Mine<T> + Send,
) -> PyResult<Option<T>> {
    let py = body.py();
    let read_part = |bytes: &[u8]| {
        let part = bytes.get(part).ok_or_else(|| PyIndexError::new_err("a part beyond the body"))?;
        Ok(read(part).ok())
    };
    if let Ok(bytes) = body.cast::<PyBytes>() {
        let bytes = bytes.as_bytes();
        return py.detach(|| read_part(bytes));
    }
    let Ok(array) = body.cast::<PyByteArray>() else {
        return Ok(None);
    };
    let view = PyMemoryView::from(body)?;
    // SAFETY: a bytearray with a view of it cannot be resized, so the memory stays where it is, and the view lives until
    // after the call. Nobody writes into it: a response is handed over by the transport that has read it, which keeps no
    // reference. A copy instead takes 3 us for each record of 10 KB, as much as decoding it.
    let bytes = unsafe { array.as_bytes() };
    let found = py.detach(|| read_part(bytes));
    drop(view);
    found
}
