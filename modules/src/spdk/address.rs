//! PCI addresses. SPDK's own tools compare them as text, so that `5E:00.0` in a list protects nothing.
use crate::vocabulary::Stop;

/// An address as the kernel writes it: `0000:5e:00.0`. A missing domain is 0, hexadecimal digits of either case.
///
/// # Errors
/// Refuses what is no address.
pub(super) fn normal(argument: &'static str, text: &str) -> Result<String, Stop> {
    let fault = || {
        Stop::refused(argument, format!("`{text}` is not a PCI address"))
            .way_out("write it as `lspci -D` does: 0000:5e:00.0")
    };
    let lower = text.trim().to_ascii_lowercase();
    let parts: Vec<&str> = lower.split(':').collect();
    let (domain, bus, slot) = match parts.as_slice() {
        [bus, slot] => ("0000", *bus, *slot),
        [domain, bus, slot] => (*domain, *bus, *slot),
        _ => return Err(fault()),
    };
    let (device, function) = slot.split_once('.').ok_or_else(fault)?;
    let hex = |part: &str, length: usize| {
        part.len() == length && part.bytes().all(|digit| digit.is_ascii_hexdigit())
    };
    let function_fine = function.len() == 1 && function.bytes().all(|digit| (b'0'..=b'7').contains(&digit));
    match hex(domain, 4) && hex(bus, 2) && hex(device, 2) && function_fine {
        true => Ok(format!("{domain}:{bus}:{device}.{function}")),
        false => Err(fault()),
    }
}

#[cfg(test)]
mod tests {
    use super::normal;

    #[test]
    fn addresses_are_written_one_way() {
        for text in ["5E:00.0", "0000:5e:00.0", " 0000:5E:00.0 "] {
            assert_eq!(normal("devices", text).unwrap(), "0000:5e:00.0");
        }
        for text in ["nvme0", "5e:00", "5e:00.9", "0000:5e:00.0,0000:5f:00.0", "05e:00.0", ""] {
            assert!(normal("devices", text).is_err(), "{text}");
        }
    }
}
