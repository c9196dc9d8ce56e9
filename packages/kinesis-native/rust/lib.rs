//! Pure functions from bytes to columns, and from columns to bytes. The Python package `kinesis_core` has the same
//! functions in Python.
//!
//! Python defines what input means. What this code does not recognise it returns as "not mine", which Python sees as None.

pub mod aggregation;
pub mod batch;
pub mod body;
pub mod cbor;
pub mod md5_lanes;
pub mod mine;
pub mod numbers;
pub mod page;
pub mod page_builder;
pub mod producing;
pub mod put_body;
pub mod put_body_cbor;
pub mod rows;
pub mod scanner;
pub mod text_column;
pub mod wire;
pub mod wire_cbor;

use pyo3::pymodule;

/// Native parts of kinesis_core.
#[pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::aggregation::encode::AggregateBuilder;
    #[pymodule_export]
    use super::batch::Batch;
    #[pymodule_export]
    use super::page::Page;
    #[pymodule_export]
    use super::producing::entries::PutEntries;
    #[pymodule_export]
    use super::producing::rows::PutRows;

    use crate::body::read_detached;
    use crate::{wire, wire_cbor};

    /// Decode the body of GetRecords, or the payload of an event of SubscribeToShard; None if the Python path has to.
    #[pyfunction]
    #[pyo3(signature = (body, with_data, start=0, stop=None))]
    fn decode_page(
        body: &Bound<'_, PyAny>,
        with_data: bool,
        start: usize,
        stop: Option<usize>,
    ) -> PyResult<Option<Page>> {
        let part = start..stop.map_or_else(|| body.len(), Ok)?;
        read_detached(body, part, |bytes| wire::decode_page(bytes, with_data))
    }

    /// Decode the body of GetRecords in CBOR; None if the Python path has to.
    #[pyfunction]
    fn decode_cbor_page(body: &Bound<'_, PyAny>, with_data: bool) -> PyResult<Option<Page>> {
        read_detached(body, 0..body.len()?, |bytes| wire_cbor::decode_page(bytes, with_data))
    }
}
