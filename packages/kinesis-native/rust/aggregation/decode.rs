//! Unpacks aggregates that are written as the KPL writes them. Python unpacks the rest.

use std::borrow::Cow;

use crate::md5_lanes::digests;
use crate::mine::{Mine, NotMine, require};
use crate::producing::columns::read_hash_key;

pub const MAGIC: [u8; 4] = [0xf3, 0x89, 0x9a, 0xc2];
const DIGEST_BYTES: usize = 16;
/// How many times the size of an aggregate the keys of its user records may have together. Python explains it.
const MAX_KEY_GROWTH: usize = 200;

const PARTITION_KEY: u8 = 0x0a;
const EXPLICIT_HASH_KEY: u8 = 0x12;
const RECORD: u8 = 0x1a;
const PARTITION_KEY_INDEX: u8 = 0x08;
const EXPLICIT_HASH_KEY_INDEX: u8 = 0x10;
const DATA: u8 = 0x1a;

/// One user record: its payload, and the indexes of its keys.
pub struct UserRecord<'a> {
    pub data: &'a [u8],
    pub partition_key: usize,
    pub explicit_hash_key: Option<usize>,
}

/// The message of an aggregate, as slices of it. Only keys that are not UTF-8 are copied.
#[derive(Default)]
pub struct Aggregate<'a> {
    pub partition_keys: Vec<Cow<'a, str>>,
    pub explicit_hash_keys: Vec<&'a str>,
    pub records: Vec<UserRecord<'a>>,
}

/// Return the aggregate in each of *records*; None for a plain record.
///
/// A message with a valid checksum that has another form than the usual one is not recognised.
pub fn unpack<'a>(records: &[&'a [u8]]) -> Mine<Vec<Option<Aggregate<'a>>>> {
    let parts: Vec<_> = records.iter().map(|data| split(data)).collect();
    let messages: Vec<&[u8]> = parts.iter().flatten().map(|(message, _)| *message).collect();
    let mut found = digests(&messages).into_iter();
    parts
        .into_iter()
        .map(|part| match part {
            Some((message, digest)) if found.next().is_some_and(|found| found == digest) => {
                scan(message).map(Some)
            }
            _ => Ok(None),
        })
        .collect()
}

/// Return whether *data* begins and ends as an aggregate does: with the magic number, and with the MD5 of what is between.
pub fn is_aggregate(data: &[u8]) -> bool {
    split(data).is_some_and(|(message, digest)| digests(&[message])[0] == digest)
}

/// Return the message and the checksum of *data* if it has the form of an aggregate.
fn split(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = data.strip_prefix(&MAGIC)?;
    (rest.len() > DIGEST_BYTES).then(|| rest.split_at(rest.len() - DIGEST_BYTES))
}

fn scan(message: &[u8]) -> Mine<Aggregate<'_>> {
    let mut found = Aggregate::default();
    let mut rest = Fields { bytes: message };
    while !rest.bytes.is_empty() {
        let tag = rest.byte()?;
        let value = rest.delimited()?;
        match tag {
            RECORD => found.records.push(scan_record(value)?),
            PARTITION_KEY => found.partition_keys.push(String::from_utf8_lossy(value)),
            EXPLICIT_HASH_KEY => found.explicit_hash_keys.push(read_explicit_hash_key(value)?),
            _ => return Err(NotMine),
        }
    }
    require(found.records.iter().all(|record| {
        record.partition_key < found.partition_keys.len()
            && record.explicit_hash_key.is_none_or(|index| index < found.explicit_hash_keys.len())
    }))?;
    let keys_bytes: usize =
        found.records.iter().map(|record| found.partition_keys[record.partition_key].len()).sum();
    require(keys_bytes <= message.len() * MAX_KEY_GROWTH)?;
    Ok(found)
}

fn scan_record(record: &[u8]) -> Mine<UserRecord<'_>> {
    let mut rest = Fields { bytes: record };
    require(rest.byte()? == PARTITION_KEY_INDEX)?;
    let partition_key = rest.varint()?;
    let mut tag = rest.byte()?;
    let mut explicit_hash_key = None;
    if tag == EXPLICIT_HASH_KEY_INDEX {
        explicit_hash_key = Some(rest.varint()?);
        tag = rest.byte()?;
    }
    require(tag == DATA)?;
    let data = rest.delimited()?;
    require(rest.bytes.is_empty())?;
    Ok(UserRecord { data, partition_key, explicit_hash_key })
}

fn read_explicit_hash_key(bytes: &[u8]) -> Mine<&str> {
    read_hash_key(bytes)?;
    std::str::from_utf8(bytes).map_err(|_| NotMine)
}

/// The rest of a message.
struct Fields<'a> {
    bytes: &'a [u8],
}

impl<'a> Fields<'a> {
    fn byte(&mut self) -> Mine<u8> {
        let (first, rest) = self.bytes.split_first().ok_or(NotMine)?;
        self.bytes = rest;
        Ok(*first)
    }

    /// Read a number of at most 28 bits.
    fn varint(&mut self) -> Mine<usize> {
        let mut value = 0;
        for shift in [0, 7, 14, 21] {
            let byte = self.byte()?;
            value |= usize::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(NotMine)
    }

    /// Read a length and as many bytes.
    fn delimited(&mut self) -> Mine<&'a [u8]> {
        let length = self.varint()?;
        let (value, rest) = self.bytes.split_at_checked(length).ok_or(NotMine)?;
        self.bytes = rest;
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(message: &[u8]) -> Vec<u8> {
        [&MAGIC[..], message, &digests(&[message])[0]].concat()
    }

    #[test]
    fn user_records_have_their_keys() {
        let data = wrapped(
            b"\x0a\x02k0\x0a\x02k1\x12\x017\x1a\x07\x08\x01\x1a\x03tea\x1a\x07\x08\x00\x10\x00\x1a\x01x",
        );
        let found = unpack(&[b"plain", &data]).unwrap().pop().unwrap().unwrap();
        assert_eq!(found.partition_keys, ["k0", "k1"]);
        assert_eq!(found.records[0].data, b"tea");
        assert_eq!(found.records[0].partition_key, 1);
        assert_eq!(found.records[1].explicit_hash_key, Some(0));
    }

    #[test]
    fn keys_that_grow_too_much_are_left_to_python() {
        let records = b"\x1a\x05\x08\x00\x1a\x01x".repeat(5_000);
        let message = [b"\x0a\xd0\x0f".as_slice(), &[b'k'; 2_000], &records].concat();
        assert_eq!(unpack(&[&wrapped(&message)]).err(), Some(NotMine));
        assert!(unpack(&[&wrapped(&message[..2_003 + 7 * 200])]).is_ok());
    }

    #[test]
    fn a_wrong_checksum_makes_a_plain_record() {
        let mut data = wrapped(b"\x0a\x01k\x1a\x05\x08\x00\x1a\x01x");
        *data.last_mut().unwrap() ^= 1;
        let found = unpack(&[&data, &data[..20], b""]).unwrap();
        assert!(found.iter().all(Option::is_none));
    }

    #[test]
    fn unusual_messages_are_left_to_python() {
        for message in [
            &b"\x1a\x05\x08\x00\x1a\x01x"[..],     // an index beyond the table
            b"\x0a\x01k\x1a\x05\x1a\x01x\x08\x00", // another order
            b"\x0a\x01k\x1a\x7f\x08\x00\x1a\x01x", // a length beyond the end
            b"\x0a\x01k\x22\x01x",                 // another field
            b"\x0a\x01k\x12\x0201",                // an explicit hash key that Kinesis refuses
        ] {
            assert_eq!(unpack(&[&wrapped(message)]).err(), Some(NotMine), "{message:?}");
        }
    }
}
