//! Sets of cores as SPDK takes them: a mask `0x3`, or a list `[0,1]`.
use crate::argument::Scalar;
use crate::shape::CpuList;

/// Reads cores. YAML makes a number of `0x3`, so a number is a mask.
///
/// # Errors
/// Says what is wrong: a word of digits alone could be a mask or a core.
pub(super) fn cores(scalar: &Scalar) -> Result<CpuList, String> {
    let set = match scalar {
        Scalar::Number(number) if *number > 0 => CpuList::parse_mask(&format!("{number:x}"))?,
        Scalar::Text(text) => {
            let text = text.trim();
            let list = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
            match list {
                Some(list) => CpuList::parse(list)?,
                None if text.starts_with("0x") || text.starts_with("0X") => {
                    CpuList::parse_mask(&text.to_ascii_lowercase())?
                }
                None if text.contains([',', '-']) => CpuList::parse(text)?,
                None => return Err(format!("`{text}` may be a mask or a core: write 0x… or [{text}]")),
            }
        }
        other => return Err(format!("`{}` is no set of cores", other.text())),
    };
    match set.is_empty() {
        true => Err("no core is in the set".to_owned()),
        false => Ok(set),
    }
}

/// The mask as a target writes it: `0x3`.
pub(super) fn mask(set: &CpuList) -> String {
    let words = set.mask().replace(',', "");
    let digits = words.trim_start_matches('0');
    format!("0x{}", if digits.is_empty() { "0" } else { digits })
}

/// Those that another set lacks.
pub(super) fn beyond(set: &CpuList, of: &CpuList) -> CpuList {
    set.iter().filter(|core| !of.contains(*core)).collect()
}

#[cfg(test)]
mod tests {
    use super::{cores, mask};
    use crate::argument::Scalar;

    #[test]
    fn masks_and_lists_are_told_apart() {
        for (scalar, wanted) in [
            (Scalar::from("0x3"), "0-1"),
            (Scalar::from("[0,1]"), "0-1"),
            (Scalar::from("0-1,3"), "0-1,3"),
            (Scalar::Number(0x10), "4"),
            (Scalar::from("0xF00000000"), "32-35"),
        ] {
            assert_eq!(cores(&scalar).unwrap().to_string(), wanted, "{scalar:?}");
        }
        for text in ["2", "", "[]", "0x0", "abc"] {
            assert!(cores(&Scalar::from(text)).is_err(), "{text}");
        }
        assert_eq!(mask(&cores(&Scalar::from("[1,33]")).unwrap()), "0x200000002");
    }
}
