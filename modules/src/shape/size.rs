//! Sizes in bytes, with the binary units that the kernel, LVM and Ceph mean.

/// Reads `4096`, `64K`, `1.5G`, `256 MiB`, `1GB`: every unit is a power of 1024.
///
/// # Errors
/// Says what is wrong with the text.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let cut = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let (digits, unit) = (&text[..cut], text[cut..].trim());
    let unit = unit.strip_suffix("iB").or_else(|| unit.strip_suffix(['B', 'b'])).unwrap_or(unit);
    let shift = match unit {
        "" => 0,
        "k" | "K" => 10,
        "m" | "M" => 20,
        "g" | "G" => 30,
        "t" | "T" => 40,
        "p" | "P" => 50,
        "e" | "E" => 60,
        _ => {
            return Err(format!(
                "`{text}` is not a size: write a number with K, M, G, T or nothing behind it"
            ));
        }
    };
    let fault = || format!("`{text}` is not a size that fits in 64 bits");
    if let Ok(whole) = digits.parse::<u64>() {
        return whole.checked_mul(1 << shift).ok_or_else(fault);
    }
    let (whole, fraction) = digits.split_once('.').ok_or_else(fault)?;
    let whole: u64 = whole.parse().map_err(|_| fault())?;
    let scale = 10_u128.checked_pow(u32::try_from(fraction.len()).map_err(|_| fault())?).ok_or_else(fault)?;
    let part: u128 = fraction.parse().map_err(|_| fault())?;
    let part = part.checked_mul(1 << shift).ok_or_else(fault)? / scale;
    let whole = whole.checked_mul(1 << shift).ok_or_else(fault)?;
    whole.checked_add(u64::try_from(part).map_err(|_| fault())?).ok_or_else(fault)
}

/// A size with the largest unit that divides it: `268435456` is `256 MiB`.
pub fn size_text(bytes: u64) -> String {
    for (shift, unit) in [(50, "PiB"), (40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")] {
        if bytes != 0 && bytes.is_multiple_of(1 << shift) {
            return format!("{} {unit}", bytes >> shift);
        }
    }
    format!("{bytes} B")
}

#[cfg(test)]
mod tests {
    use super::{parse_size, size_text};

    #[test]
    fn sizes_are_binary() {
        for (text, bytes) in [
            ("0", 0),
            ("64K", 65_536),
            ("1GB", 1 << 30),
            ("1G", 1 << 30),
            ("256 MiB", 256 << 20),
            ("1.5G", 3 << 29),
            ("4m", 4 << 20),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for bad in ["", "G", "1Q", "-1", "99999999999G", "1.2.3"] {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
        assert_eq!(size_text(256 << 20), "256 MiB");
        assert_eq!(size_text(1000), "1000 B");
    }
}
