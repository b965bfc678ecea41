//! Sets of CPUs, as the kernel writes them: lists such as `0-3,8` and masks such as `ff,00000000`.
use std::collections::BTreeSet;
use std::fmt;

/// The largest CPU number that is taken: the kernel's own limit on x86 (`CONFIG_NR_CPUS`).
const LARGEST: u32 = 8191;

/// A set of CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuList(BTreeSet<u32>);

impl CpuList {
    /// Reads a list: `0-3,8`, `0-31:2/4` (of every 4 the first 2), or nothing.
    ///
    /// # Errors
    /// Says which part is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut cpus = BTreeSet::new();
        for part in text.trim().split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let fault = || format!("`{part}` is not a CPU or a range of CPUs");
            let (range, stride) = match part.split_once(':') {
                None => (part, None),
                Some((range, stride)) => (range, Some(stride.split_once('/').ok_or_else(fault)?)),
            };
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let first: u32 = first.parse().map_err(|_| fault())?;
            let last: u32 = last.parse().map_err(|_| fault())?;
            if first > last || last > LARGEST {
                return Err(fault());
            }
            let (used, group) = match stride {
                None => (1, 1),
                Some((used, group)) => {
                    (used.parse().map_err(|_| fault())?, group.parse().map_err(|_| fault())?)
                }
            };
            if group == 0_u32 || used == 0_u32 || used > group {
                return Err(fault());
            }
            cpus.extend((first..=last).filter(|cpu| (cpu - first) % group < used));
        }
        Ok(Self(cpus))
    }

    /// Reads a mask of hexadecimal words of 32 bits, the highest first.
    ///
    /// # Errors
    /// Says what is wrong.
    pub fn parse_mask(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let text = text.strip_prefix("0x").unwrap_or(text);
        let digits: String = text.split(',').map(|word| format!("{word:0>8}")).collect();
        let mut cpus = BTreeSet::new();
        for (place, digit) in digits.chars().rev().enumerate() {
            let bits = digit.to_digit(16).ok_or_else(|| format!("`{text}` is not a mask of CPUs"))?;
            let first = u32::try_from(place * 4).map_err(|_| format!("`{text}` is too long a mask"))?;
            cpus.extend((0..4).filter(|bit| bits >> bit & 1 == 1).map(|bit| first + bit));
        }
        Ok(Self(cpus))
    }

    /// The CPUs in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    /// Whether it holds a CPU.
    pub fn contains(&self, cpu: u32) -> bool {
        self.0.contains(&cpu)
    }

    /// How many CPUs it holds.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The mask, in words of 32 bits with leading zeros, the highest first.
    pub fn mask(&self) -> String {
        let words = self.0.last().map_or(1, |last| last / 32 + 1);
        let word = |index: u32| {
            self.0.iter().filter(|cpu| *cpu / 32 == index).fold(0_u32, |word, cpu| word | 1 << (cpu % 32))
        };
        (0..words).rev().map(|index| format!("{:08x}", word(index))).collect::<Vec<_>>().join(",")
    }
}

impl FromIterator<u32> for CpuList {
    fn from_iter<T: IntoIterator<Item = u32>>(cpus: T) -> Self {
        Self(cpus.into_iter().collect())
    }
}

/// The shortest list of ranges.
impl fmt::Display for CpuList {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for cpu in self.iter() {
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == cpu => *last = cpu,
                _ => ranges.push((cpu, cpu)),
            }
        }
        for (index, (first, last)) in ranges.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            if first == last {
                write!(out, "{comma}{first}")?;
            } else {
                write!(out, "{comma}{first}-{last}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::CpuList;
    use proptest::prelude::*;

    #[test]
    fn lists_and_masks_are_read() {
        assert_eq!(CpuList::parse("0-3,8").unwrap().to_string(), "0-3,8");
        assert_eq!(CpuList::parse("0-7:2/4").unwrap().to_string(), "0-1,4-5");
        assert_eq!(CpuList::parse("").unwrap().len(), 0);
        assert_eq!(CpuList::parse_mask("1,00000000").unwrap().to_string(), "32");
        for bad in ["3-1", "a", "1-", "0-3:0/4", "0-3:4", "99999"] {
            assert!(CpuList::parse(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn lists_survive_both_texts(cpus in prop::collection::btree_set(0_u32..300, 0..40)) {
            let list: CpuList = cpus.into_iter().collect();
            prop_assert_eq!(&CpuList::parse(&list.to_string()).unwrap(), &list);
            prop_assert_eq!(&CpuList::parse_mask(&list.mask()).unwrap(), &list);
        }
    }
}
