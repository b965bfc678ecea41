//! Modules on guests: domains of libvirt, and QEMU where people start it themselves.
mod libvirt_domain;
pub(crate) mod process;
mod qemu_args;
pub(crate) mod virsh;

pub use libvirt_domain::LibvirtDomain;
pub(crate) use libvirt_domain::bytes;
pub use qemu_args::QemuArgs;

/// Options of QEMU with their values. An option and its value stand in one text, or one after the other.
fn options(texts: &[String]) -> Vec<(String, Option<String>)> {
    let mut options: Vec<(String, Option<String>)> = Vec::new();
    for text in texts.iter().map(|text| text.trim()) {
        match (text.split_once(char::is_whitespace), options.last_mut()) {
            (Some((option, value)), _) if option.starts_with('-') => {
                options.push((option.to_owned(), Some(value.trim().to_owned())));
            }
            (_, Some((option, value)))
                if !text.starts_with('-') && value.is_none() && option.starts_with('-') =>
            {
                *value = Some(text.to_owned());
            }
            _ => options.push((text.to_owned(), None)),
        }
    }
    options
}

#[cfg(test)]
mod tests {
    use super::options;

    #[test]
    fn options_and_values_stand_together_or_one_after_the_other() {
        let texts = ["-net nic", "-net", "user,hostfwd=tcp::2222-:22", "-nographic", "-S", "stray", "again"];
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        let value = |text: &str| Some(text.to_owned());
        assert_eq!(
            options(&texts),
            [
                ("-net".to_owned(), value("nic")),
                ("-net".to_owned(), value("user,hostfwd=tcp::2222-:22")),
                ("-nographic".to_owned(), None),
                ("-S".to_owned(), value("stray")),
                ("again".to_owned(), None),
            ]
        );
    }
}
