//! The corpus' files as hosts that can be edited again and again.
use std::collections::BTreeMap;

use crate::kernel::kernel_args::amend::Wish;
use crate::kernel::kernel_args::grub::{Asked, BootLine, Refusal, Variable, rewrite};
use crate::kernel::kernel_args::line::Line;
use crate::kernel::kernel_args::shell::script::{Reading, Script};
use crate::kernel::kernel_args::token::Token;

macro_rules! grub {
    ($name:literal) => {
        include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/corpus/grub/", $name)).as_slice()
    };
}
pub(super) use grub;

pub(super) const MAIN: &str = "/etc/default/grub";
pub(super) const CLOUD: &str = "/etc/default/grub.d/50-cloudimg-settings.cfg";
pub(super) const FIPS: &str = "/etc/default/grub.d/99-fips.cfg";
pub(super) const XEN: &str = "/etc/default/grub.d/xen.cfg";

/// The shell files of one host.
pub(super) struct Files {
    pub(super) files: BTreeMap<String, Vec<u8>>,
    drop_ins: bool,
    variable: Variable,
}

impl Files {
    pub(super) fn of(files: &[(&str, &[u8])]) -> Self {
        let files = files.iter().map(|(path, bytes)| ((*path).to_owned(), bytes.to_vec())).collect();
        Self { files, drop_ins: true, variable: Variable::Auto }
    }

    pub(super) fn main(bytes: &[u8]) -> Self {
        Self::of(&[(MAIN, bytes)])
    }

    pub(super) fn without_drop_ins(mut self) -> Self {
        self.drop_ins = false;
        self
    }

    pub(super) fn in_variable(mut self, variable: Variable) -> Self {
        self.variable = variable;
        self
    }

    pub(super) fn reading(&self) -> Reading {
        // `/etc/default/grub` sorts before `/etc/default/grub.d/…`, as it is read.
        let scripts = self.files.iter();
        Reading::of(
            scripts.map(|(path, bytes)| Script { path: path.clone(), bytes: bytes.clone() }).collect(),
        )
    }

    fn asked<'a>(&self, wishes: &'a [Wish], references: &'a BTreeMap<String, Vec<Token>>) -> Asked<'a> {
        Asked { wishes, variable: self.variable, references, drop_ins: self.drop_ins }
    }

    /// The paths that would be written.
    pub(super) fn plan(&self, wishes: &[Wish]) -> Result<Vec<String>, Vec<Refusal>> {
        let written = rewrite(&self.reading(), self.asked(wishes, &BTreeMap::new()))?;
        Ok(written.into_iter().map(|file| file.path).collect())
    }

    /// Applies the wishes; a second time must change nothing. Gives the paths written.
    pub(super) fn apply(&mut self, wishes: &[Wish]) -> Vec<String> {
        let written = rewrite(&self.reading(), self.asked(wishes, &BTreeMap::new())).unwrap();
        for file in &written {
            assert_eq!(file.before.as_ref(), self.files.get(&file.path));
            self.files.insert(file.path.clone(), file.after.clone());
        }
        assert_eq!(self.plan(wishes), Ok(Vec::new()), "a second run changes something");
        written.into_iter().map(|file| file.path).collect()
    }

    pub(super) fn set(&mut self, text: &str) -> Vec<String> {
        self.apply(&[Wish::Set(Token::read(text))])
    }

    pub(super) fn text(&self, path: &str) -> String {
        String::from_utf8(self.files[path].clone()).unwrap()
    }

    pub(super) fn value(&self, variable: &str) -> String {
        self.reading().value(variable).and_then(|value| value.known()).unwrap()
    }

    pub(super) fn line(&self) -> Line {
        BootLine::of(&self.reading()).line()
    }

    /// The lines of a file that differ from what it was, by number from 1.
    pub(super) fn changed_lines(&self, path: &str, before: &[u8]) -> Vec<(usize, String)> {
        let (before, after) = (String::from_utf8_lossy(before).into_owned(), self.text(path));
        assert_eq!(before.lines().count(), after.lines().count());
        let pairs = before.lines().zip(after.lines()).enumerate();
        let changed = pairs.filter(|(_, (one, other))| one != other);
        changed.map(|(at, (_, after))| (at + 1, after.to_owned())).collect()
    }
}

pub(super) fn files(name: &str) -> Files {
    match name {
        "02-ubuntu-cloudimg" => Files::of(&[
            (MAIN, grub!("02-ubuntu-cloudimg/default-grub")),
            (CLOUD, grub!("02-ubuntu-cloudimg/default-grub.d/50-cloudimg-settings.cfg")),
        ]),
        "03-ubuntu-cloudimg-fips" => Files::of(&[
            (MAIN, grub!("03-ubuntu-cloudimg-fips/default-grub")),
            (CLOUD, grub!("03-ubuntu-cloudimg-fips/default-grub.d/50-cloudimg-settings.cfg")),
            (FIPS, grub!("03-ubuntu-cloudimg-fips/default-grub.d/99-fips.cfg")),
        ]),
        _ => Files::main(match name {
            "01-debian-stock.grub" => grub!("01-debian-stock.grub"),
            "04-rhel8-bls-stig-no-final-newline.grub" => grub!("04-rhel8-bls-stig-no-final-newline.grub"),
            "05-rocky9-crashkernel-ranges.grub" => grub!("05-rocky9-crashkernel-ranges.grub"),
            "06-proxmox-zfs-commented-alternatives.grub" => {
                grub!("06-proxmox-zfs-commented-alternatives.grub")
            }
            "07-proxmox-repeated-lines.grub" => grub!("07-proxmox-repeated-lines.grub"),
            "08-oracle-arm-iscsi-root.grub" => grub!("08-oracle-arm-iscsi-root.grub"),
            "09-arch-hardened-both-keys.grub" => grub!("09-arch-hardened-both-keys.grub"),
            "10-suse-xen.grub" => grub!("10-suse-xen.grub"),
            "11-xen-dropin-shell-code.cfg" => grub!("11-xen-dropin-shell-code.cfg"),
            "12-aws-el8-default-absent.grub" => grub!("12-aws-el8-default-absent.grub"),
            "13-marker-comment-self-reference.grub" => grub!("13-marker-comment-self-reference.grub"),
            other => panic!("{other} has no test"),
        }),
    }
}
