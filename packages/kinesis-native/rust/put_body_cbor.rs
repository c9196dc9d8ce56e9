//! The bodies of PutRecords requests in CBOR.

use crate::cbor::{ARRAY, BYTES, MAP, TEXT, write_head};
use crate::mine::{Mine, buffer, require};
use crate::put_body::Entry;

/// Names and heads of a record.
const RECORD_BYTES: usize = 60;

/// Write *entries*, like `put_body::write_json`.
pub fn write_cbor<'a>(
    entries: impl Iterator<Item = Entry<'a>>,
    count: usize,
    size_bytes: usize,
    name: &str,
    arn: Option<&str>,
) -> Mine<Vec<u8>> {
    require(count > 0)?;
    let mut body = buffer(size_bytes + (count + 4) * RECORD_BYTES)?;
    write_head(&mut body, MAP, 2);
    write_text(&mut body, b"Records");
    write_head(&mut body, ARRAY, count);
    for entry in entries {
        let members = [("PartitionKey", entry.partition_key), ("ExplicitHashKey", entry.explicit_hash_key)];
        let present = members.iter().filter(|(_, value)| value.is_some()).count();
        write_head(&mut body, MAP, 1 + present);
        write_text(&mut body, b"Data");
        write_head(&mut body, BYTES, entry.data.len() + entry.end.len());
        body.extend_from_slice(entry.data);
        body.extend_from_slice(entry.end);
        for (name, value) in members {
            if let Some(value) = value {
                write_text(&mut body, name.as_bytes());
                write_text(&mut body, value);
            }
        }
    }
    let (member, value) = arn.map_or(("StreamName", name), |arn| ("StreamARN", arn));
    write_text(&mut body, member.as_bytes());
    write_text(&mut body, value.as_bytes());
    Ok(body)
}

fn write_text(body: &mut Vec<u8>, text: &[u8]) {
    write_head(body, TEXT, text.len());
    body.extend_from_slice(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_without_a_value_are_left_out() {
        let plain = Entry { data: b"tea", end: b"", partition_key: None, explicit_hash_key: None };
        let full = Entry { data: b"te", end: b"a", partition_key: Some(b"k"), explicit_hash_key: Some(b"7") };
        let body = write_cbor([plain, full].into_iter(), 2, 7, "orders", None).unwrap();
        assert_eq!(
            body,
            b"\xa2\x67Records\x82\xa1\x64Data\x43tea\
            \xa3\x64Data\x43tea\x6cPartitionKey\x61k\x6fExplicitHashKey\x617\
            \x6aStreamName\x66orders"
        );
    }

    #[test]
    fn a_request_without_records_is_not_recognised() {
        assert!(write_cbor([].into_iter(), 0, 0, "orders", None).is_err());
    }
}
