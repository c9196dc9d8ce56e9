//! The bodies of PutRecords requests in JSON.

use base64_simd::STANDARD;

use crate::mine::{Mine, buffer, require};

/// Base64 turns so many bytes into four letters.
const BASE64_BYTES: usize = 3;
/// Names, quotes and braces of a record.
const RECORD_BYTES: usize = 80;

/// One record of a request. The payload is `data`, followed by `end`, which has at most 16 bytes.
pub struct Entry<'a> {
    pub data: &'a [u8],
    pub end: &'a [u8],
    pub partition_key: Option<&'a [u8]>,
    pub explicit_hash_key: Option<&'a [u8]>,
}

impl Entry<'_> {
    /// The bytes that Kinesis' limits count.
    pub fn size_bytes(&self) -> usize {
        self.data.len() + self.end.len() + self.partition_key.map_or(0, <[u8]>::len)
    }
}

/// Write *entries*, *count* records of *size_bytes* together, for the stream called *name*, or with that *arn*.
pub fn write_json<'a>(
    entries: impl Iterator<Item = Entry<'a>>,
    count: usize,
    size_bytes: usize,
    name: &str,
    arn: Option<&str>,
) -> Mine<Vec<u8>> {
    let mut body = buffer(size_bytes / BASE64_BYTES * 4 + (count + 4) * RECORD_BYTES)?;
    let mut separator: &[u8] = b"{\"Records\":[";
    for entry in entries {
        body.extend_from_slice(separator);
        body.extend_from_slice(b"{\"Data\":\"");
        write_base64(&mut body, entry.data, entry.end);
        body.push(b'"');
        for (name, value) in
            [("PartitionKey", entry.partition_key), ("ExplicitHashKey", entry.explicit_hash_key)]
        {
            if let Some(value) = value {
                write_member(&mut body, name, value);
            }
        }
        body.push(b'}');
        separator = b",";
    }
    require(count > 0)?;
    body.push(b']');
    match arn {
        Some(arn) => write_member(&mut body, "StreamARN", arn.as_bytes()),
        None => write_member(&mut body, "StreamName", name.as_bytes()),
    }
    body.push(b'}');
    Ok(body)
}

fn write_base64(body: &mut Vec<u8>, data: &[u8], end: &[u8]) {
    if end.is_empty() {
        STANDARD.encode_append(data, body);
        return;
    }
    let (whole, rest) = data.split_at(data.len() - data.len() % BASE64_BYTES);
    STANDARD.encode_append(whole, body);
    STANDARD.encode_append([rest, end].concat(), body);
}

/// Write a comma and a member whose value is the text *value*.
fn write_member(body: &mut Vec<u8>, name: &str, value: &[u8]) {
    body.extend_from_slice(b",\"");
    body.extend_from_slice(name.as_bytes());
    body.extend_from_slice(b"\":\"");
    if crate::mine::every(value, |byte| (byte >= b' ') & (byte != b'"') & (byte != b'\\')) {
        body.extend_from_slice(value);
    } else {
        value.iter().for_each(|byte| write_escaped(body, *byte));
    }
    body.push(b'"');
}

fn write_escaped(body: &mut Vec<u8>, byte: u8) {
    match byte {
        b'"' | b'\\' => body.extend_from_slice(&[b'\\', byte]),
        b'\n' => body.extend_from_slice(b"\\n"),
        b'\r' => body.extend_from_slice(b"\\r"),
        b'\t' => body.extend_from_slice(b"\\t"),
        0x08 => body.extend_from_slice(b"\\b"),
        0x0c => body.extend_from_slice(b"\\f"),
        0..b' ' => body.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
        _ => body.push(byte),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_without_records_is_not_recognised() {
        assert!(write_json([].into_iter(), 0, 0, "orders", None).is_err());
    }
}
