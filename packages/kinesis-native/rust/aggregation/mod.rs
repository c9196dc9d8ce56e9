//! The format in which the KPL puts many user records into one record.

pub mod aggregate;
pub mod decode;
pub mod encode;
