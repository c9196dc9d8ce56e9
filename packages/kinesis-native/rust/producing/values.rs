//! Columns of bytes or texts that Python passes: Arrow arrays without a copy, or sequences of values.

use std::ffi::CStr;

use arrow_array::builder::LargeBinaryBuilder;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::{Array, BinaryArray, LargeBinaryArray, LargeStringArray, OffsetSizeTrait, StringArray};
use arrow_schema::DataType;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyString, PyTuple};

use crate::mine::{Mine, NotMine, require};

const SCHEMA_NAME: &CStr = c"arrow_schema";
const ARRAY_NAME: &CStr = c"arrow_array";

/// One value for each row; some of them may be null.
pub enum Values {
    Small(BinaryArray),
    Large(LargeBinaryArray),
}

impl Values {
    /// Take over an array by the Arrow PyCapsule interface. Types other than binary and string are not recognised.
    ///
    /// Source: https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html
    pub fn from_arrow(given: &Bound<'_, PyAny>) -> Mine<Self> {
        let pair = given.call_method0("__arrow_c_array__").map_err(|_| NotMine)?;
        let pair = pair.cast_into::<PyTuple>().map_err(|_| NotMine)?;
        let schema = capsule(&pair, 0)?.pointer_checked(Some(SCHEMA_NAME)).map_err(|_| NotMine)?;
        let array = capsule(&pair, 1)?.pointer_checked(Some(ARRAY_NAME)).map_err(|_| NotMine)?;
        // SAFETY: capsules of these names hold these structures, and live as long as `pair`. The array is moved out of its
        // capsule, which the interface allows once. A copy instead takes as long as grouping the rows.
        let data = unsafe {
            let array = FFI_ArrowArray::from_raw(array.as_ptr().cast());
            from_ffi(array, &*schema.as_ptr().cast::<FFI_ArrowSchema>())
        };
        let data = data.map_err(|_| NotMine)?;
        require(!data.is_empty())?;
        let values = match data.data_type() {
            DataType::Binary => Self::Small(data.into()),
            DataType::Utf8 => Self::Small(StringArray::from(data).into()), // whose UTF-8 nobody has checked
            DataType::LargeBinary => Self::Large(data.into()),
            DataType::LargeUtf8 => Self::Large(LargeStringArray::from(data).into()),
            _ => return Err(NotMine),
        };
        let is_sound = match &values {
            Self::Small(array) => is_ordered(array.value_offsets(), array.value_data().len()),
            Self::Large(array) => is_ordered(array.value_offsets(), array.value_data().len()),
        };
        require(is_sound)?;
        Ok(values)
    }

    /// Copy *items*, a sequence of `bytes`, or of `str` and None. An empty text stands for none.
    pub fn copied(items: &Bound<'_, PyAny>) -> Mine<Self> {
        let mut values = LargeBinaryBuilder::new();
        for item in items.try_iter().map_err(|_| NotMine)? {
            let item = item.map_err(|_| NotMine)?;
            if let Ok(bytes) = item.cast_exact::<PyBytes>() {
                values.append_value(bytes.as_bytes());
            } else if item.is_none() {
                values.append_null();
            } else {
                let text = item.cast_exact::<PyString>().map_err(|_| NotMine)?;
                let text = text.to_str().map_err(|_| NotMine)?;
                values.append_option((!text.is_empty()).then_some(text));
            }
        }
        Ok(Self::Large(values.finish()))
    }

    /// Copy the values that *indexes* names.
    pub fn picked(&self, indexes: impl ExactSizeIterator<Item = usize> + Clone) -> Self {
        let bytes = indexes.clone().map(|index| self.get(index).map_or(0, <[u8]>::len)).sum();
        let mut values = LargeBinaryBuilder::with_capacity(indexes.len(), bytes);
        for index in indexes {
            values.append_option(self.get(index));
        }
        Self::Large(values.finish())
    }

    pub fn len(&self) -> usize {
        match self {
            Self::Small(array) => array.len(),
            Self::Large(array) => array.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn null_count(&self) -> usize {
        match self {
            Self::Small(array) => array.null_count(),
            Self::Large(array) => array.null_count(),
        }
    }

    /// Return the value at *index*, or None if it is null.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        match self {
            Self::Small(array) => array.is_valid(index).then(|| array.value(index)),
            Self::Large(array) => array.is_valid(index).then(|| array.value(index)),
        }
    }
}

fn capsule<'py>(pair: &Bound<'py, PyTuple>, index: usize) -> Mine<Bound<'py, PyCapsule>> {
    let found = pair.get_item(index).map_err(|_| NotMine)?;
    found.cast_into::<PyCapsule>().map_err(|_| NotMine)
}

fn is_ordered<O: OffsetSizeTrait>(offsets: &[O], bytes: usize) -> bool {
    let is_inside = offsets.first().is_some_and(|first| first.to_usize().is_some())
        && offsets.last().is_some_and(|last| last.to_usize().is_some_and(|last| last <= bytes));
    is_inside && offsets.windows(2).all(|pair| pair[0] <= pair[1])
}
