//! Finds the shard of each row, by the hash of its key.

use crate::md5_lanes::digests;
use crate::mine::{Mine, NotMine, require};
use crate::producing::columns::{Row, read_hash_key};

const HASH_BYTES: usize = 16;

/// Return the hash key that Kinesis routes each of *rows* by. A row without any key is not recognised.
pub fn hash_keys(rows: &[Row]) -> Mine<Vec<u128>> {
    let keys: Vec<&[u8]> = rows
        .iter()
        .filter(|row| row.hash_key.is_none())
        .map(|row| row.key.ok_or(NotMine))
        .collect::<Mine<_>>()?;
    let mut digests = digests(&keys).into_iter();
    rows.iter()
        .map(|row| match row.hash_key {
            Some(text) => read_hash_key(text),
            None => digests.next().map(u128::from_be_bytes).ok_or(NotMine),
        })
        .collect()
}

/// Return the indexes of *rows* by shard. Shards come in the order of their first rows.
///
/// *starts* has the first hash key of each shard in order, as 16 bytes each. The first one is 0.
pub fn group(rows: &[Row], starts: &[u8]) -> Mine<Vec<(usize, Vec<u32>)>> {
    let (starts, rest) = starts.as_chunks::<HASH_BYTES>();
    require(rest.is_empty() && !starts.is_empty())?;
    let starts: Vec<u128> = starts.iter().map(|start| u128::from_be_bytes(*start)).collect();
    let mut groups: Vec<(usize, Vec<u32>)> = Vec::new();
    let mut group_of_shard = vec![None; starts.len()];
    for (index, hash_key) in hash_keys(rows)?.into_iter().enumerate() {
        let shard = starts.partition_point(|start| *start <= hash_key).checked_sub(1).ok_or(NotMine)?;
        let group = *group_of_shard[shard].get_or_insert_with(|| {
            groups.push((shard, Vec::with_capacity(2 * rows.len() / starts.len() + 1)));
            groups.len() - 1
        });
        groups[group].1.push(index as u32);
    }
    Ok(groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row<'a>(key: Option<&'a [u8]>, hash_key: Option<&'a [u8]>) -> Row<'a> {
        Row { data: b"", key, hash_key }
    }

    #[test]
    fn rows_belong_to_the_shard_that_owns_their_hash() {
        let half = (u128::MAX / 2 + 1).to_be_bytes();
        let starts = [[0; 16], half].concat();
        // The MD5 of "a" begins with 0c, that of "b" with 92.
        let rows = [
            row(Some(b"b"), None),
            row(Some(b"a"), None),
            row(Some(b"b"), Some(b"0")),
            row(Some(b"b"), None),
        ];
        assert_eq!(group(&rows, &starts), Ok(vec![(1, vec![0, 3]), (0, vec![1, 2])]));
    }

    #[test]
    fn rows_without_keys_and_maps_without_shards_are_not_recognised() {
        assert_eq!(group(&[row(None, None)], &[0; 16]), Err(NotMine));
        assert_eq!(group(&[row(Some(b"a"), None)], &[]), Err(NotMine));
        assert_eq!(group(&[row(Some(b"a"), None)], &[0xff; 16]), Err(NotMine));
    }
}
