//! Numbers in JSON text: milliseconds, and times in seconds with decimals.

use crate::mine::{Mine, NotMine, require};
use crate::scanner::Scanner;

/// The last millisecond of the year 9999, which is the latest time that Python accepts.
pub const LATEST_MS: i64 = 253_402_300_799_999;
/// More digits than this may not fit into 64 bits.
const MOST_DIGITS: usize = 18;
/// Powers of ten.
const POWERS: [i64; MOST_DIGITS + 1] = {
    let mut powers = [1; MOST_DIGITS + 1];
    let mut index = 1;
    while index < powers.len() {
        powers[index] = powers[index - 1] * 10;
        index += 1;
    }
    powers
};

/// Read a whole number from 0 on, of at most 18 digits.
pub fn read_whole(scanner: &mut Scanner) -> Mine<i64> {
    scanner.peek();
    Ok(read_integer_part(scanner)?.value)
}

/// Read a time in seconds, and return it in milliseconds. A time that is no whole number of them is not recognised.
///
/// Kinesis writes it with an exponent (1.790000012345E9), other servers without one (1790000012.345).
#[inline]
pub fn read_seconds_as_ms(scanner: &mut Scanner) -> Mine<i64> {
    scanner.peek();
    let whole = read_integer_part(scanner)?;
    let fraction = if scanner.accept_text(b".") { read_digits(scanner)? } else { Digits::default() };
    require(whole.count + fraction.count <= MOST_DIGITS)?;
    let digits = whole.value * POWERS[fraction.count] + fraction.value;
    let ms = shift(digits, read_exponent(scanner)? - fraction.count as i32 + 3)?;
    require(ms <= LATEST_MS)?;
    Ok(ms)
}

/// Read the digits before the point. JSON has no other zero in front than a single one.
#[inline]
fn read_integer_part(scanner: &mut Scanner) -> Mine<Digits> {
    let starts_with_zero = scanner.rest().first() == Some(&b'0');
    let digits = read_digits(scanner)?;
    require(digits.count == 1 || !starts_with_zero)?;
    Ok(digits)
}

fn read_exponent(scanner: &mut Scanner) -> Mine<i32> {
    if !(scanner.accept_text(b"E") || scanner.accept_text(b"e")) {
        return Ok(0);
    }
    let is_negative = !scanner.accept_text(b"+") && scanner.accept_text(b"-");
    let digits = read_digits(scanner)?;
    require(digits.count <= 2)?;
    let exponent = digits.value as i32;
    Ok(if is_negative { -exponent } else { exponent })
}

/// Digits, and the number that they are.
#[derive(Default)]
struct Digits {
    value: i64,
    count: usize,
}

/// Read all digits that are next: at least one, at most 18.
#[inline]
fn read_digits(scanner: &mut Scanner) -> Mine<Digits> {
    let mut digits = Digits::default();
    for byte in scanner.rest() {
        if !byte.is_ascii_digit() {
            break;
        }
        require(digits.count < MOST_DIGITS)?;
        digits.value = digits.value * 10 + i64::from(byte - b'0');
        digits.count += 1;
    }
    require(digits.count > 0)?;
    scanner.skip(digits.count);
    Ok(digits)
}

/// Return *value* times ten to the power of *places*, if that is a whole number of 64 bits.
#[inline]
fn shift(value: i64, places: i32) -> Mine<i64> {
    let power = *POWERS.get(places.unsigned_abs() as usize).ok_or(NotMine)?;
    if places >= 0 {
        return value.checked_mul(power).ok_or(NotMine);
    }
    require(value % power == 0)?;
    Ok(value / power)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(text: &str) -> Mine<i64> {
        read_seconds_as_ms(&mut Scanner::new(text.as_bytes()))
    }

    #[test]
    fn times_with_and_without_an_exponent_are_the_same() {
        assert_eq!(ms("1790000012.345"), Ok(1_790_000_012_345));
        assert_eq!(ms("1.790000012345E9"), Ok(1_790_000_012_345));
        assert_eq!(ms("1.79e+9"), Ok(1_790_000_000_000));
        assert_eq!(ms("17900000123450E-4"), Ok(1_790_000_012_345 / 1000 * 1000 + 345));
        assert_eq!(ms("0"), Ok(0));
    }

    #[test]
    fn other_times_are_left_to_python() {
        for text in
            ["1790000012.3456", "01.5", "-1", "1e99", "1.", "253402300800", "1e3000", "12345678901234567890"]
        {
            assert_eq!(ms(text), Err(NotMine), "{text}");
        }
    }

    #[test]
    fn any_count_of_digits_is_read() {
        for text in ["7", "1234567", "12345678", "123456789", "1234567890123456", "123456789012345678"] {
            assert_eq!(read_whole(&mut Scanner::new(text.as_bytes())), Ok(text.parse().unwrap()));
            assert_eq!(
                read_whole(&mut Scanner::new(format!("{text},").as_bytes())),
                Ok(text.parse().unwrap())
            );
        }
        assert_eq!(read_whole(&mut Scanner::new(b"1234567890123456789")), Err(NotMine));
    }

    #[test]
    fn whole_numbers_have_no_zero_in_front() {
        assert_eq!(read_whole(&mut Scanner::new(b" 120")), Ok(120));
        assert_eq!(read_whole(&mut Scanner::new(b"007")), Err(NotMine));
        assert_eq!(read_whole(&mut Scanner::new(b"-1")), Err(NotMine));
    }
}
