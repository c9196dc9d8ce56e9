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
    fn a_request_without_records_is_not_recognised() {
        assert!(write_cbor([].into_iter(), 0, 0, "orders", None).is_err());
    }
}
