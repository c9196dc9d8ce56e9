//! Pages of records in JSON: the body of GetRecords, and the payload of an event of SubscribeToShard.

use crate::mine::{Mine, NotMine, require};
use crate::numbers::{read_seconds_as_ms, read_whole};
use crate::page::{Facts, Page};
use crate::page_builder::{PageBuilder, Payload, RecordFields, is_decimal};
use crate::scanner::{Scanner, Seen};

/// Decode *body*. Anything but the members of a page, each at most once, is not recognised.
pub fn decode_page(body: &[u8], with_data: bool) -> Mine<Page> {
    let mut scanner = Scanner::new(body);
    let mut builder = PageBuilder::new(with_data, body.len())?;
    let mut facts = Facts::default();
    let mut seen = Seen::default();
    scanner.object(|scanner| {
        if scanner.accept_text(b"\"Records\":") {
            seen.once(0)?;
            read_records(scanner, &mut builder)?;
        } else if scanner.accept_text(b"\"MillisBehindLatest\":") {
            seen.once(1)?;
            facts.millis_behind = read_whole(scanner)?;
        } else if scanner.accept_text(b"\"NextShardIterator\":") {
            seen.once(2)?;
            facts.next_iterator = scanner.optional(Scanner::text)?.map(owned).transpose()?;
        } else if scanner.accept_text(b"\"ContinuationSequenceNumber\":") {
            seen.once(3)?;
            facts.continuation = scanner.optional(Scanner::text)?.map(decimal).transpose()?;
        } else {
            // Children come once in the life of a shard.
            require(scanner.accept_text(b"\"ChildShards\":"))?;
            seen.once(4)?;
            scanner.optional(|scanner| scanner.array(|_| Err(NotMine)))?;
        }
        Ok(())
    })?;
    scanner.end()?;
    require(seen.has(0) && seen.has(1))?;
    builder.finish(facts)
}

fn read_records(scanner: &mut Scanner, builder: &mut PageBuilder) -> Mine<()> {
    let mut is_first = true;
    scanner.array(|scanner| {
        let start = scanner.position();
        let record = read_record(scanner)?;
        if is_first {
            builder.expect_records_of(scanner.position() - start);
            is_first = false;
        }
        builder.push(&record)
    })
}

fn read_record<'a>(scanner: &mut Scanner<'a>) -> Mine<RecordFields<'a>> {
    let mut record = RecordFields::default();
    let mut seen = Seen::default();
    scanner.object(|scanner| {
        if scanner.accept_text(b"\"SequenceNumber\":") {
            seen.once(0)?;
            record.number = Some(scanner.quoted()?);
        } else if scanner.accept_text(b"\"ApproximateArrivalTimestamp\":") {
            seen.once(1)?;
            record.arrived_ms = scanner.optional(read_seconds_as_ms)?;
        } else if scanner.accept_text(b"\"Data\":") {
            seen.once(2)?;
            record.data = Some(Payload::Base64(scanner.quoted()?));
        } else if scanner.accept_text(b"\"PartitionKey\":") {
            seen.once(3)?;
            record.partition_key = scanner.optional(Scanner::text)?;
        } else {
            require(scanner.accept_text(b"\"EncryptionType\":"))?;
            seen.once(4)?;
            record.encryption_type = scanner.optional(Scanner::text)?;
        }
        Ok(())
    })?;
    Ok(record)
}

pub fn owned(text: &[u8]) -> Mine<String> {
    std::str::from_utf8(text).map(str::to_owned).map_err(|_| NotMine)
}

/// Return a sequence number as text.
pub fn decimal(text: &[u8]) -> Mine<String> {
    require(is_decimal(text))?;
    owned(text)
}
