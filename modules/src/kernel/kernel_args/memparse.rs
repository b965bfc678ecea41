//! Sizes as the kernel reads them (`memparse`): `1G`, `1024M`, `1GB` and `1073741824` are one size.

/// Reads a size in bytes as the kernel's `memparse` does: a decimal, octal (`0…`) or hexadecimal (`0x…`) number and
/// one suffix of `K M G T P E` in either case, powers of 1024. A closing `B` is allowed, since the kernel stops
/// reading there (`default_hugepagesz=1GB`); any other rest is not a size. `None` too where it does not fit 64 bits.
pub fn bytes(text: &str) -> Option<u64> {
    let (digits, radix) = match text {
        _ if text.starts_with("0x") || text.starts_with("0X") => (&text[2..], 16),
        _ if text.len() > 1 && text.starts_with('0') && text.as_bytes()[1].is_ascii_digit() => {
            (&text[1..], 8)
        }
        _ => (text, 10),
    };
    let end = digits.find(|sign: char| !sign.is_digit(radix)).unwrap_or(digits.len());
    let number = u64::from_str_radix(&digits[..end], radix).ok()?;
    let rest = &digits[end..];
    let power = match rest.chars().next().map(|sign| sign.to_ascii_uppercase()) {
        None => return Some(number),
        Some('K') => 1,
        Some('M') => 2,
        Some('G') => 3,
        Some('T') => 4,
        Some('P') => 5,
        Some('E') => 6,
        Some(_) => return None,
    };
    if !matches!(&rest[1..], "" | "B" | "b") {
        return None;
    }
    number.checked_mul(1024_u64.checked_pow(power)?)
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn spellings_of_one_size_are_equal() {
        for text in ["1G", "1g", "1GB", "1024M", "1048576K", "1073741824", "0x40000000", "0x400M"] {
            assert_eq!(bytes(text), Some(1 << 30), "{text}");
        }
        assert_eq!(bytes("010"), Some(8));
        assert_eq!(bytes("0"), Some(0));
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in ["", "G", "1X", "1GiB", "1G2", "-1", "99999999999E", "0x", "18446744073709551616"] {
            assert_eq!(bytes(text), None, "{text}");
        }
    }
}
