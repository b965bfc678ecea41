//! Sizes of volumes as people write them: bytes, or shares that are fixed when the volume is made.
use crate::argument::Scalar;
use crate::shape::parse_size;
use crate::vocabulary::Stop;

/// A size that is wished for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// This many bytes.
    Bytes(u64),
    /// A share of something, in percent.
    Share(u64, Of),
}

/// What a share is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    /// The group.
    Group,
    /// What is free in the group.
    Free,
    /// What is free on the named devices.
    Disks,
}

impl Of {
    /// As LVM writes it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Group => "VG",
            Self::Free => "FREE",
            Self::Disks => "PVS",
        }
    }
}

/// Reads a size. A bare number is MiB, as for LVM and Ansible.
pub(crate) fn bytes(argument: &'static str, text: &str) -> Result<u64, Stop> {
    let text = text.trim();
    let text = match text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        true => format!("{text}M"),
        false => text.to_owned(),
    };
    match parse_size(&text) {
        Ok(0) => Err(Stop::refused(argument, "a size of nothing")),
        Ok(bytes) => Ok(bytes),
        Err(why) => Err(Stop::refused(argument, why)),
    }
}

impl Wish {
    /// Reads what was given.
    pub(crate) fn parse(size: &Scalar) -> Result<Self, Stop> {
        let text = size.text();
        if text.starts_with(['+', '-']) {
            return Err(Stop::refused("size", format!("`{text}` would change the volume at every run"))
                .way_out("write the size that it shall have in the end"));
        }
        let Some((number, of)) = text.split_once('%') else { return bytes("size", &text).map(Self::Bytes) };
        let of = match of.trim().to_ascii_uppercase().as_str() {
            "VG" => Of::Group,
            "FREE" => Of::Free,
            "PVS" => Of::Disks,
            _ => {
                return Err(Stop::refused("size", format!("`{text}` is not a share of anything"))
                    .way_out("write %FREE, %VG or %PVS behind the number"));
            }
        };
        match number.trim().parse() {
            Ok(percent @ 1..=100) => Ok(Self::Share(percent, of)),
            _ => Err(Stop::refused("size", format!("`{number}` is not a number from 1 to 100"))),
        }
    }
}

/// Whole extents that hold this many bytes.
pub(crate) fn extents(bytes: u64, extent: u64) -> u64 {
    bytes.div_ceil(extent.max(1))
}

/// An extent size: a power of two, or a multiple of 128 KiB; from 1 KiB on.
pub(crate) fn extent_size(argument: &'static str, text: &str) -> Result<u64, Stop> {
    let size = bytes(argument, text)?;
    match size >= 1024 && (size.is_power_of_two() || size.is_multiple_of(128 << 10)) {
        true => Ok(size),
        false => Err(Stop::refused(argument, format!("`{text}` is no extent size"))
            .way_out("write a power of two, or a multiple of 128 KiB")),
    }
}

/// Refuses what LVM does not take as a name.
pub(crate) fn name(argument: &'static str, text: &str) -> Result<(), Stop> {
    let fine = |letter: char| letter.is_ascii_alphanumeric() || "+_.-".contains(letter);
    let reserved = ["snapshot", "pvmove"].iter().any(|start| text.starts_with(start))
        || [
            "_tdata", "_tmeta", "_pmspare", "_mlog", "_mimage", "_rimage", "_rmeta", "_cdata", "_cmeta",
            "_vorigin",
        ]
        .iter()
        .any(|part| text.contains(part));
    let whole = !text.is_empty() && text.len() < 128 && !text.starts_with('-') && text != "." && text != "..";
    match (whole && text.chars().all(fine), argument != "vg" && reserved) {
        (true, false) => Ok(()),
        (true, true) => Err(Stop::refused(argument, format!("LVM keeps names like `{text}` for itself"))),
        (false, _) => Err(Stop::refused(argument, format!("`{text}` is not a name that LVM takes"))
            .way_out("use letters, digits and + _ . -, not beginning with -")),
    }
}

#[cfg(test)]
mod tests {
    use super::{Of, Wish, extent_size, extents, name};
    use crate::argument::Scalar;

    #[test]
    fn sizes_as_people_write_them() {
        for (text, wish) in [
            ("512", Wish::Bytes(512 << 20)),
            ("100G", Wish::Bytes(100 << 30)),
            ("1013m", Wish::Bytes(1013 << 20)),
            ("100%FREE", Wish::Share(100, Of::Free)),
            ("25%vg", Wish::Share(25, Of::Group)),
            ("50%PVS", Wish::Share(50, Of::Disks)),
        ] {
            assert_eq!(Wish::parse(&Scalar::from(text)), Ok(wish), "{text}");
        }
        for bad in ["+5G", "-1G", "0", "101%FREE", "0%FREE", "50%", "50%ORIGIN", "5X"] {
            assert!(Wish::parse(&Scalar::from(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_size_is_rounded_up_to_whole_extents() {
        assert_eq!(extents(1013 << 20, 4 << 20), 254);
        assert_eq!(extents(100 << 20, 32 << 20) * (32 << 20), 128 << 20);
        assert_eq!(extent_size("extent_size", "256"), Ok(256 << 20));
        assert!(extent_size("extent_size", "3M").is_ok());
        assert!(extent_size("extent_size", "3K").is_err());
    }

    #[test]
    fn names_that_lvm_takes() {
        for good in ["vm1", "osd-block.0", "a+b_c"] {
            assert!(name("lv", good).is_ok(), "{good}");
        }
        for bad in ["", "-a", "..", "a b", "a/b", "pool_tdata", "pvmove0", "snapshot1"] {
            assert!(name("lv", bad).is_err(), "{bad}");
        }
    }
}
