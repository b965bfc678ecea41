//! A volume's read-ahead: what is wished, what LVM keeps, and what the kernel has.
use super::LvmLv;
use crate::argument::Scalar;
use crate::lvm::report::{answer, ask, before, rows};
use crate::shape::{parse_size, size_text};
use crate::vocabulary::{
    Act, Back, Change, Claim, Diff, Effect, Evidence, Facts, Match, Read, Row, Spoil, Standing, Step, Stop,
};

/// Read-ahead as LVM keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wished {
    /// The kernel chooses.
    Auto,
    /// Bytes; nothing is `none`.
    Bytes(u64),
}

/// Reads what was given.
pub(super) fn wished(given: Option<&Scalar>) -> Result<Option<Wished>, Stop> {
    let Some(given) = given else { return Ok(None) };
    let text = given.text();
    let fault = |why: String| {
        Stop::refused("read_ahead", why).way_out("write `none`, `auto`, or a size such as `128K`")
    };
    match text.as_str() {
        "none" | "0" => Ok(Some(Wished::Bytes(0))),
        "auto" => Ok(Some(Wished::Auto)),
        digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            Err(fault(format!("`{digits}` of what? LVM counts sectors, others KiB")))
        }
        text => match parse_size(text).map_err(fault)? {
            bytes if bytes.is_multiple_of(4096) => Ok(Some(Wished::Bytes(bytes))),
            _ => Err(fault(format!("`{text}` is not a multiple of 4 KiB"))),
        },
    }
}

impl Wished {
    /// What `lvs` says of it.
    pub(super) fn field(self) -> String {
        match self {
            Self::Auto => "auto".to_owned(),
            Self::Bytes(bytes) => bytes.to_string(),
        }
    }

    /// What `lvcreate -r` and `lvchange -r` take.
    pub(super) fn word(self) -> String {
        match self {
            Self::Auto => "auto".to_owned(),
            Self::Bytes(0) => "none".to_owned(),
            Self::Bytes(bytes) => (bytes / 512).to_string(),
        }
    }

    fn shown(self) -> String {
        match self {
            Self::Auto => "auto".to_owned(),
            Self::Bytes(0) => "none".to_owned(),
            Self::Bytes(bytes) => size_text(bytes),
        }
    }

    fn of_field(text: &str) -> Self {
        text.parse().map_or(Self::Auto, Self::Bytes)
    }
}

impl LvmLv {
    /// The step that changes the read-ahead of a volume that is there.
    pub(super) fn change_read_ahead(
        &self,
        facts: &Facts,
        target: &str,
        change: &mut Change,
    ) -> Result<(), Stop> {
        let Some(wished) = wished(self.read_ahead.as_ref())? else { return Ok(()) };
        let row = rows::read_ahead(target);
        let now = match ask(facts, &row)? {
            Some(fields) => Wished::of_field(fields.get("lv_read_ahead")),
            None => return Err(Stop::failed(format!("the volume {target} is gone since it was looked at"))),
        };
        if now == wished {
            return Ok(());
        }
        let spoils = |left: Wished| {
            vec![
                Spoil::Becomes(Read::Ask(rows::read_ahead(target)), seen(left)),
                Spoil::Read(Read::Ask(rows::live(target))),
            ]
        };
        let call = |to: Wished| Row::new("lvchange", ["-r".to_owned(), to.word(), target.to_owned()]);
        let back = Back::Exactly(Act::Call { row: call(now), spoils: spoils(now) });
        let look = (Read::Ask(row.clone()), before(facts, &row)?, Match::Exactly(seen(wished)));
        let claim = Claim::new("lvm", &format!("{target}/read_ahead"));
        change.steps.push(Step::call_seen(claim, call(wished), spoils(wished), look, back));
        change.diff.push(Diff::Value {
            name: format!("read-ahead of {target}"),
            before: Some(now.shown()),
            after: Some(wished.shown()),
        });
        Ok(())
    }

    /// Whether the kernel reads ahead as LVM keeps it.
    pub(super) fn prove(&self, facts: &Facts, target: &str, change: &mut Change) -> Result<(), Stop> {
        let Some(wished) = wished(self.read_ahead.as_ref())? else { return Ok(()) };
        let fields = match ask(facts, &rows::live(target)) {
            Ok(Some(fields)) => fields,
            // What is being made or changed is asked again afterwards.
            Ok(None) | Err(Stop::Late(_)) => return Ok(()),
            Err(stop) => return Err(stop),
        };
        let what = format!("the kernel reads ahead {} on {target}", wished.shown());
        let proof = format!("lvs -o lv_kernel_read_ahead {target}");
        let kernel = fields.get("lv_kernel_read_ahead");
        let written = change.steps.is_empty();
        change.evidence.push(match (wished, kernel.parse::<u64>()) {
            (_, Err(_)) => Evidence::not_available(what, proof, format!("{target} is not active")),
            (Wished::Auto, Ok(bytes)) => {
                let standing = Standing::Live { seen: size_text(bytes) };
                Evidence { what, proof, standing }
            }
            (Wished::Bytes(bytes), Ok(has)) => {
                Evidence::told(what, proof, (bytes == has, written), size_text(has), Effect::HostReboot)
            }
        });
        Ok(())
    }
}

/// What `lvs` will say.
pub(super) fn seen(wished: Wished) -> crate::vocabulary::Seen {
    answer(&[("lv_read_ahead", &wished.field())])
}
