//! Decimal text to `f32`, correctly rounded, with a short road for the numbers that LETOR files are full of.

/// What a value can be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value {
    /// A finite number.
    Number(f32),
    /// Nothing, `NULL` or `nan`.
    Missing,
    /// Not a number, or not a finite one.
    Bad,
}

/// The value at the start of `text`, which ends at white space, at `#` or at the end, and its length.
#[inline]
pub(crate) fn leading(text: &[u8]) -> (Value, usize) {
    if let Some(x) = one_and_six(text) {
        return (Value::Number(x), 8);
    }
    match fixed(text) {
        Some((x, _, len)) => (Value::Number(x), len),
        None => {
            let len = text.iter().position(|&b| ends(b)).unwrap_or(text.len());
            (whole(&text[..len]), len)
        }
    }
}

#[inline]
fn ends(byte: u8) -> bool {
    byte <= b' ' || byte == b'#'
}

/// The value of a whole token, by the general road.
pub(crate) fn whole(token: &[u8]) -> Value {
    if token.is_empty() || token.eq_ignore_ascii_case(b"null") || token.eq_ignore_ascii_case(b"nan") {
        return Value::Missing;
    }
    match fast_float2::parse::<f32, _>(token) {
        Ok(x) if x.is_finite() => Value::Number(x),
        _ => Value::Bad,
    }
}

/// The value of a whole cell of a table, and the number before it was rounded to single precision.
#[inline]
pub(crate) fn cell(token: &[u8]) -> (Value, f64) {
    match fixed(token) {
        Some((x, double, len)) if len == token.len() => (Value::Number(x), double),
        _ => slow_cell(token),
    }
}

#[cold]
fn slow_cell(token: &[u8]) -> (Value, f64) {
    let value = whole(token);
    let double = match value {
        Value::Number(x) => fast_float2::parse::<f64, _>(token).unwrap_or(f64::from(x)),
        _ => 0.0,
    };
    (value, double)
}

/// `d.dddddd` and white space: eight bytes tested and read at once.
#[inline]
fn one_and_six(text: &[u8]) -> Option<f32> {
    let bytes: &[u8; 9] = text.first_chunk()?;
    if bytes[8] > b' ' {
        return None;
    }
    let word = u64::from_le_bytes(*bytes.first_chunk::<8>()?);
    // every byte becomes its digit, and the point becomes 0; then a byte is right if adding 0x76 (0x7f for the point) leaves its top bit clear
    let digits = word ^ 0x3030_3030_3030_2e30;
    if (digits | digits.wrapping_add(0x7676_7676_7676_7f76)) & 0x8080_8080_8080_8080 != 0 {
        return None;
    }
    // close the gap of the point: 0 d d d d d d d
    let all = eight_digits((digits & 0xff) << 8 | digits >> 16 << 16);
    Some(all as f32 / 1e6) // both exact in f32, so the quotient is correctly rounded
}

/// The number of eight digits, the first in the lowest byte: pairs, fours and all eight by three multiplications.
#[inline]
fn eight_digits(digits: u64) -> u64 {
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let low = (pairs & 0x0000_00ff_0000_00ff).wrapping_mul(0x000f_4240_0000_0064);
    let high = (pairs >> 16 & 0x0000_00ff_0000_00ff).wrapping_mul(0x0000_2710_0000_0001);
    low.wrapping_add(high) >> 32
}

/// Appends the digits from `at` on to a number, eight at a time; where they end, and the number, which may have wrapped.
#[inline]
fn append_digits(text: &[u8], mut at: usize, mut number: u64) -> (usize, u64) {
    const POWERS: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];
    while let Some(chunk) = text[at..].first_chunk::<8>() {
        let digits = u64::from_le_bytes(*chunk) ^ 0x3030_3030_3030_3030;
        // the top bit of the first byte that is no digit; carries go to later bytes only
        let others = (digits | digits.wrapping_add(0x7676_7676_7676_7676)) & 0x8080_8080_8080_8080;
        let count = others.trailing_zeros() as usize / 8;
        if count > 0 {
            number = number.wrapping_mul(POWERS[count]).wrapping_add(eight_digits(digits << (64 - 8 * count)));
        }
        at += count;
        if count < 8 {
            return (at, number);
        }
    }
    while let Some(digit) = text.get(at).map(|b| b.wrapping_sub(b'0')).filter(|&d| d < 10) {
        number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
        at += 1;
    }
    (at, number)
}

/// In single and in double precision: sign, digits, point, digits, then white space or the end; `None` where it is anything else or cannot be rounded safely.
#[inline]
fn fixed(text: &[u8]) -> Option<(f32, f64, usize)> {
    const POWERS: [f64; 23] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
        1e20, 1e21, 1e22,
    ];
    let negative = text.first() == Some(&b'-');
    let start = usize::from(negative);
    let (mut at, mut mantissa) = append_digits(text, start, 0);
    let (mut digits, mut decimals) = (at - start, 0);
    if text.get(at) == Some(&b'.') {
        let point = at + 1;
        (at, mantissa) = append_digits(text, point, mantissa);
        decimals = at - point;
        digits += decimals;
    }
    if digits == 0 || digits > 18 || mantissa >= 1 << 53 || text.get(at).is_some_and(|&b| !ends(b)) {
        return None;
    }
    // at most 18 decimals, so the quotient of two exact numbers is the correctly rounded f64
    let x = mantissa as f64 / POWERS[decimals];
    // rounding once more to f32 errs only where x looks like the middle of two f32
    if x.to_bits() & 0x1fff_ffff == 0x1000_0000 || x > f64::from(f32::MAX) || x != 0.0 && x < 1e-30 {
        return None;
    }
    Some(if negative { (-(x as f32), -x, at) } else { (x as f32, x, at) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str) {
        let truth: f32 = text.parse().unwrap();
        let (value, len) = leading(format!("{text} 7:1").as_bytes());
        match value {
            Value::Number(x) => assert_eq!(x.to_bits(), truth.to_bits(), "{text}"),
            other => assert!(!truth.is_finite(), "{text}: {other:?}"),
        }
        assert_eq!(len, text.len());
        let (value, double) = cell(text.as_bytes());
        match value {
            Value::Number(x) => assert_eq!((x.to_bits(), double), (truth.to_bits(), text.parse().unwrap()), "{text}"),
            other => assert!(!truth.is_finite(), "{text}: {other:?}"),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(crate::cases::cases(4000)))]
        #[test]
        fn equals_the_standard_library(text in "[-+]?([0-9]\\.[0-9]{6}|[0-9]{1,12}\\.?[0-9]{0,20}|\\.[0-9]{1,9}|[0-9]{1,3}(\\.[0-9]{1,8})?[eE][-+]?[0-9]{1,2})") {
            check(&text);
        }

        #[test]
        fn middles_of_two_floats_are_rounded_right(bits in 0x3000_0000u32..0x4f00_0000) {
            let (a, b) = (f64::from(f32::from_bits(bits)), f64::from(f32::from_bits(bits + 1)));
            check(&format!("{:.17}", (a + b) / 2.0));
        }
    }

    #[test]
    fn other_words() {
        for (text, value) in [
            ("", Value::Missing),
            ("NULL", Value::Missing),
            ("nan", Value::Missing),
            ("NaN", Value::Missing),
            ("inf", Value::Bad),
            ("1e99", Value::Bad),
            ("1e999", Value::Bad),
            ("x", Value::Bad),
            ("1;5", Value::Bad),
            ("1.000000;", Value::Bad),
            (".", Value::Bad),
            ("-", Value::Bad),
            ("--1", Value::Bad),
            ("1.2.3", Value::Bad),
        ] {
            assert_eq!(leading(text.as_bytes()), (value, text.len()), "{text}");
        }
        for text in
            ["5.", ".5", "+0.5", "-0", "0.000000", "9.999999", "340282346638528859811704183484516925440", "1e-45"]
        {
            check(text);
        }
    }
}
