//! What LVM's reports say, field by field; and what they will say.
use crate::vocabulary::{Facts, Output, Read, Row, Seen, Stop};

/// The fields of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fields(Vec<(String, String)>);

impl Fields {
    /// Reads `LVM2_FIELD=value` lines. A line that repeats its field, one for each object, gives the first.
    fn parse(text: &str) -> Self {
        let pairs = text.lines().filter_map(|line| {
            let (name, value) = line.trim().strip_prefix("LVM2_")?.split_once('=')?;
            let value = value.split(" LVM2_").next().unwrap_or_default();
            Some((name.to_ascii_lowercase(), value.trim().to_owned()))
        });
        Self(pairs.collect())
    }

    /// A field's value; empty where it has none.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(field, _)| field == name).map_or("", |(_, value)| value)
    }

    /// A field that is a number, such as a size in bytes.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.get(name).parse().ok()
    }
}

/// The line of a field.
pub(crate) fn line(name: &str, value: &str) -> String {
    format!("LVM2_{}={value}", name.to_ascii_uppercase())
}

/// The answer that a report will give.
pub(crate) fn answer(fields: &[(&str, &str)]) -> Seen {
    let text: String = fields.iter().map(|(name, value)| format!("  {}\n", line(name, value))).collect();
    Seen::Output(Output::ok(text))
}

/// The answer of LVM where an object is not there.
pub(crate) fn nothing(words: &str) -> Seen {
    Seen::Output(Output { status: 5, stdout: "".into(), stderr: words.into() })
}

/// What a report says of an object; none where there is no such object.
///
/// # Errors
/// [`Stop`]: unread, late, or whatever else kept LVM from answering.
pub(crate) fn ask(facts: &Facts, row: &Row) -> Result<Option<Fields>, Stop> {
    let output = facts.output(row)?;
    let said = output.error_text();
    match output.status {
        0 => Ok(Some(Fields::parse(&output.text()))),
        5 if ["not found", "Failed to find"].iter().any(|words| said.contains(words))
            && !said.contains("device not found") =>
        {
            Ok(None)
        }
        _ => Err(fault(&output)),
    }
}

/// Why LVM gave no answer.
pub(crate) fn fault(output: &Output) -> Stop {
    if output.status == 127 {
        return Stop::failed("this host has no LVM").way_out("install the package `lvm2`");
    }
    let said = output.error_text();
    let told: Vec<&str> =
        said.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("WARNING")).collect();
    let words =
        if told.is_empty() { format!("it ended with status {}", output.status) } else { told.join("; ") };
    let stop = Stop::failed(format!("LVM does not answer: {words}"));
    if said.contains("Permission denied") || said.contains("non-root") {
        return stop.way_out("set `become: true` on the task: LVM's metadata is root's");
    }
    if said.contains("filter") || said.contains("devices file") {
        return stop.way_out("let LVM see the device: its filter in lvm.conf, or `lvmdevices --adddev`");
    }
    stop
}

/// The text that LVM's own answer has for an object that was read; for the `before` of a step.
pub(crate) fn before(facts: &Facts, row: &Row) -> Result<Seen, Stop> {
    facts.get(&Read::Ask(row.clone()))
}

/// The rows that LVM is asked by.
pub(crate) mod rows {
    use crate::vocabulary::Row;

    /// Whether a device is a physical volume, and of which group.
    pub(crate) fn pv(device: &str) -> Row {
        Row::new("lvm-pv", [device])
    }
    /// How much of a device is used.
    pub(crate) fn pv_used(device: &str) -> Row {
        Row::new("lvm-pv-used", [device])
    }
    /// A group's extent size and tags.
    pub(crate) fn vg(group: &str) -> Row {
        Row::new("lvm-vg", [group])
    }
    /// A group's extents.
    pub(crate) fn room(group: &str) -> Row {
        Row::new("lvm-vg-room", [group])
    }
    /// The tags of a group's volumes.
    pub(crate) fn tags(group: &str) -> Row {
        Row::new("lvm-vg-tags", [group])
    }
    /// The devices of a group.
    pub(crate) fn disks(group: &str) -> Row {
        Row::new("lvm-vg-disks", [format!("vg_name={group}")])
    }
    /// Whether another extent size would fit.
    pub(crate) fn fits(size: u64, group: &str) -> Row {
        Row::new("lvm-vg-extent-fits", [format!("{size}b"), group.to_owned()])
    }
    /// What a volume is.
    pub(crate) fn lv(target: &str) -> Row {
        Row::new("lvm-lv", [target])
    }
    /// A volume's kept read-ahead.
    pub(crate) fn read_ahead(target: &str) -> Row {
        Row::new("lvm-lv-read-ahead", [target])
    }
    /// A volume's read-ahead in the kernel.
    pub(crate) fn live(target: &str) -> Row {
        Row::new("lvm-lv-live", [target])
    }
    /// What a thin pool is.
    pub(crate) fn pool(target: &str) -> Row {
        Row::new("lvm-pool", [target])
    }
}

#[cfg(test)]
mod tests {
    use super::{Fields, answer, ask, nothing, rows};
    use crate::host::Host;
    use crate::vocabulary::{Output, Read, Seen, Stop};

    #[test]
    fn a_report_is_read_as_it_is_written() {
        let Seen::Output(output) = answer(&[("lv_layout", "thin,pool"), ("lv_size", "4294967296")]) else {
            panic!()
        };
        assert_eq!(output.text(), "  LVM2_LV_LAYOUT=thin,pool\n  LVM2_LV_SIZE=4294967296\n");
        let fields = Fields::parse(&output.text());
        assert_eq!((fields.get("lv_layout"), fields.number("lv_size")), ("thin,pool", Some(4 << 30)));
        assert_eq!(fields.get("origin"), "");
        let two = Fields::parse("  LVM2_LV_SIZE=1 LVM2_LV_SIZE=2\n");
        assert_eq!(two.number("lv_size"), Some(1));
    }

    #[test]
    fn not_allowed_is_not_absent() {
        let asked = |seen: Seen| {
            let host = Host::new().answer(rows::vg("vg0"), seen);
            ask(&host.facts([Read::Ask(rows::vg("vg0"))]), &rows::vg("vg0"))
        };
        assert_eq!(asked(nothing("  Volume group \"vg0\" not found\n")), Ok(None));
        let told = |status, words: &str| {
            let output = Output { status, stdout: "".into(), stderr: words.into() };
            match asked(Seen::Output(output)) {
                Err(Stop::Refused(refusal)) => {
                    format!("{} {}", refusal.why, refusal.way_out.unwrap_or_default())
                }
                other => panic!("{other:?}"),
            }
        };
        assert!(told(5, "  /run/lock/lvm/P_global:aux: open failed: Permission denied\n").contains("become"));
        assert!(told(5, "  Cannot use /dev/sdb: device is rejected by filter config\n").contains("filter"));
        assert!(told(5, "  Cannot use /dev/nope: device not found\n").contains("/dev/nope"));
        assert!(told(127, "").contains("lvm2"));
    }
}
