//! Any rows through the way of a producer: checked, routed, aggregated, and written as bodies of requests.
#![no_main]

use _native::aggregation::decode::unpack;
use _native::aggregation::encode::AggregateBuilder;
use _native::cbor::Cbor;
use _native::producing::columns::Columns;
use _native::producing::entries::{Format, PutEntries};
use _native::producing::rows::PutRows;
use _native::producing::values::Values;
use arrow_array::LargeBinaryArray;
use libfuzzer_sys::fuzz_target;

/// The smallest aggregate has a magic and a checksum, and a producer asks for no smaller one.
const SMALLEST_BYTES: usize = 64;

fuzz_target!(|input: &[u8]| {
    let Some((sizes, rest)) = input.split_first_chunk::<2>() else { return };
    let Some((second, rest)) = rest.split_first_chunk::<16>() else { return };
    let columns = read_columns(rest);
    let Ok(facts) = columns.check() else { return };
    let rows = PutRows::of(columns, facts);
    let starts = [[0; 16], *second].concat();
    let groups = rows.group_by(&starts).unwrap_or_default();
    assert!(groups.is_empty() || groups.iter().map(|(_, part)| part.len()).sum::<usize>() == rows.len());
    for (_, part) in groups {
        let max_bytes = SMALLEST_BYTES + usize::from(u16::from_le_bytes(*sizes));
        pack(&part, max_bytes);
    }
});

/// Read rows: a byte of flags, the lengths of key and data, then the key, digits of a hash key and the data.
fn read_columns(mut rest: &[u8]) -> Columns {
    let (mut data, mut keys, mut hash_keys) = (Vec::new(), Vec::new(), Vec::new());
    while let Some(([flags, key, value], after)) = rest.split_first_chunk::<3>() {
        let (key, after) = after.split_at((*key as usize).min(after.len()));
        let (value, after) = after.split_at((*value as usize * (1 + *flags as usize)).min(after.len()));
        let digits = key.len() / 2;
        data.push(Some(value));
        keys.push((flags & 1 == 0).then_some(key));
        hash_keys.push((flags & 2 == 0).then_some(&key[..digits]));
        rest = after;
    }
    let column = |values: Vec<Option<&[u8]>>| Values::Large(LargeBinaryArray::from_opt_vec(values));
    Columns::new(column(data), Some(column(keys)), Some(column(hash_keys))).expect("columns of one length")
}

/// Pack *rows* into aggregates, and see that each holds its rows and is no larger than allowed.
fn pack(rows: &PutRows, max_bytes: usize) {
    let mut start = 0;
    while start < rows.len() {
        let mut builder = AggregateBuilder::new(max_bytes);
        let stop = builder.fill(rows, start);
        if stop == start {
            start += 1; // a row that fits into no aggregate is put alone
            continue;
        }
        let entries = builder.take().expect("rows with keys");
        see_rows(&entries, rows, start, stop, max_bytes);
        see_bodies(&entries);
        start = stop;
    }
}

fn see_rows(entries: &PutEntries, rows: &PutRows, start: usize, stop: usize, max_bytes: usize) {
    let entry = entries.each().next().expect("one record");
    assert_eq!(entries.each().count(), 1);
    if stop - start == 1 {
        assert_eq!(entry.data, rows.row(start).data);
        return;
    }
    let payload = [entry.data, entry.end].concat();
    assert!(payload.len() <= max_bytes);
    let found = unpack(&[&payload]).expect("an aggregate of ours");
    let aggregate = found[0].as_ref().expect("a whole aggregate");
    assert_eq!(aggregate.records.len(), stop - start);
    for (record, position) in aggregate.records.iter().zip(start..stop) {
        let row = rows.row(position);
        assert_eq!(record.data, row.data);
        assert_eq!(aggregate.partition_keys[record.partition_key].as_bytes(), row.key.unwrap_or_default());
    }
}

fn see_bodies(entries: &PutEntries) {
    let json = entries.body(Format::Json, "orders", None).expect("a request with records");
    assert!(std::str::from_utf8(&json).is_ok());
    let body = entries.body(Format::Cbor, "orders", Some("arn")).expect("a request with records");
    let mut records = entries.each();
    let mut cbor = Cbor::new(&body);
    let read = cbor.map(|cbor, name| match name {
        b"Records" => cbor.array(|cbor| {
            let entry = records.next().expect("as many records");
            cbor.map(|cbor, name| match name {
                b"Data" => cbor.bytes().map(|data| assert_eq!(data, [entry.data, entry.end].concat())),
                b"PartitionKey" => cbor.text().map(|key| assert_eq!(Some(key), entry.partition_key)),
                _ => cbor.text().map(|key| assert_eq!(Some(key), entry.explicit_hash_key)),
            })
        }),
        _ => cbor.text().map(|arn| assert_eq!(arn, b"arn")),
    });
    assert!(read.is_ok() && cbor.end().is_ok() && records.next().is_none());
}
