//! Pages of records in CBOR: the body of GetRecords.

use crate::cbor::Cbor;
use crate::mine::{Mine, NotMine, require};
use crate::numbers::LATEST_MS;
use crate::page::{Facts, Page};
use crate::page_builder::{PageBuilder, Payload, RecordFields};
use crate::scanner::Seen;
use crate::wire::owned;

/// The tag of a time. AWS counts milliseconds, and kinesis-local leaves the tag out.
const TIME: u8 = 1;

/// Decode *body*. Anything but the members of a page, each at most once, is not recognised.
pub fn decode_page(body: &[u8], with_data: bool) -> Mine<Page> {
    let mut cbor = Cbor::new(body);
    let mut builder = PageBuilder::new(with_data, body.len())?;
    let mut facts = Facts::default();
    let mut seen = Seen::default();
    cbor.map(|cbor, name| match name {
        b"Records" => {
            seen.once(0)?;
            read_records(cbor, &mut builder)
        }
        b"MillisBehindLatest" => {
            seen.once(1)?;
            facts.millis_behind = cbor.whole()?;
            Ok(())
        }
        b"NextShardIterator" => {
            seen.once(2)?;
            facts.next_iterator = cbor.optional(Cbor::text)?.map(owned).transpose()?;
            Ok(())
        }
        b"ChildShards" => {
            // Children come once in the life of a shard.
            seen.once(3)?;
            cbor.optional(|cbor| cbor.array(|_| Err(NotMine))).map(drop)
        }
        _ => Err(NotMine),
    })?;
    cbor.end()?;
    require(seen.has(0) && seen.has(1))?;
    builder.finish(facts)
}

fn read_records(cbor: &mut Cbor, builder: &mut PageBuilder) -> Mine<()> {
    let mut is_first = true;
    cbor.array(|cbor| {
        let before = cbor.left();
        let record = read_record(cbor)?;
        if is_first {
            builder.expect_records_of(before - cbor.left());
            is_first = false;
        }
        builder.push(&record)
    })
}

fn read_record<'a>(cbor: &mut Cbor<'a>) -> Mine<RecordFields<'a>> {
    let mut record = RecordFields::default();
    let mut seen = Seen::default();
    cbor.map(|cbor, name| {
        match name {
            b"SequenceNumber" => {
                seen.once(0)?;
                record.number = Some(cbor.text()?);
            }
            b"ApproximateArrivalTimestamp" => {
                seen.once(1)?;
                record.arrived_ms = cbor.optional(read_time)?;
            }
            b"Data" => {
                seen.once(2)?;
                record.data = Some(Payload::Raw(cbor.bytes()?));
            }
            b"PartitionKey" => {
                seen.once(3)?;
                record.partition_key = cbor.optional(Cbor::text)?;
            }
            b"EncryptionType" => {
                seen.once(4)?;
                record.encryption_type = cbor.optional(Cbor::text)?;
            }
            _ => return Err(NotMine),
        }
        Ok(())
    })?;
    Ok(record)
}

fn read_time(cbor: &mut Cbor) -> Mine<i64> {
    cbor.accept_tag(TIME);
    let epoch_ms = cbor.whole()?;
    require(epoch_ms <= LATEST_MS)?;
    Ok(epoch_ms)
}
