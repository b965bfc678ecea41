//! `tunerun vault`: Ansible Vault files and values.
use super::exit::Exit;
use super::load::vault_passwords;
use super::options::HostOptions;
use super::term;
use clap::{Args, Subcommand};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use tunerun::vault::{Password, decrypt, encrypt, is_vault};

/// Looks into, encrypts and decrypts Ansible Vault files; the same format, both ways.
#[derive(Subcommand, Clone, Debug)]
#[command(after_help = "Examples:
  tunerun vault encrypt group_vars/osds/secrets.yml --vault-password-file ~/.vault
  tunerun vault view group_vars/osds/secrets.yml --ask-vault-pass
  printf %s \"$KEY\" | tunerun vault encrypt - --name ceph_key --vault-password-file ~/.vault    a value for YAML")]
pub enum Vault {
    /// Print what a vault file holds
    View(One),
    /// Encrypt a file in place, or standard input where the file is `-`
    Encrypt(Encrypt),
    /// Decrypt a file in place, or standard input where the file is `-`
    Decrypt(One),
}

/// One vault file.
#[derive(Args, Clone, Debug)]
pub struct One {
    /// The file, or `-`
    pub file: PathBuf,
    #[command(flatten)]
    pub passwords: Passwords,
}

/// What is to be encrypted.
#[derive(Args, Clone, Debug)]
pub struct Encrypt {
    /// The file, or `-`
    pub file: PathBuf,
    /// Print a value for YAML, `NAME: !vault |`, instead of a whole file
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    #[command(flatten)]
    pub passwords: Passwords,
}

/// Where the password comes from.
#[derive(Args, Clone, Debug)]
pub struct Passwords {
    /// File that holds the vault's password, `LABEL@FILE` for one label; a program is run
    #[arg(long, value_name = "FILE")]
    pub vault_password_file: Vec<String>,
    /// Ask for the vault's password
    #[arg(long)]
    pub ask_vault_pass: bool,
}

impl Passwords {
    fn read(&self) -> Result<Vec<Password>, Exit> {
        let options = HostOptions {
            vault_password_file: self.vault_password_file.clone(),
            // Without any password one is asked for.
            ask_vault_pass: self.ask_vault_pass || self.vault_password_file.is_empty(),
            ..HostOptions::default()
        };
        vault_passwords(&options)
    }
}

impl Vault {
    /// Runs it.
    pub fn run(self) -> Exit {
        let done = match self {
            Self::View(one) => one.plain().map(|plain| term::bytes(&plain)),
            Self::Decrypt(one) => {
                one.plain().and_then(|plain| put(&one.file, &plain, "decrypted: it is plain text now"))
            }
            Self::Encrypt(encrypt) => encrypt.run(),
        };
        match done {
            Ok(()) => Exit::Done,
            Err(exit) => exit,
        }
    }
}

impl One {
    fn plain(&self) -> Result<Vec<u8>, Exit> {
        let bytes = read(&self.file)?;
        let text = String::from_utf8_lossy(&bytes);
        if !is_vault(&text) {
            term::wrong(
                format!("{} is not encrypted: it does not begin with `$ANSIBLE_VAULT;`", shown(&self.file)),
                None,
            );
            return Err(Exit::Wrong);
        }
        match decrypt(&text, &self.passwords.read()?) {
            Ok(plain) => Ok(plain.to_vec()),
            Err(why) => {
                term::wrong(format!("{}: {why}", shown(&self.file)), None);
                Err(Exit::Wrong)
            }
        }
    }
}

impl Encrypt {
    fn run(self) -> Result<(), Exit> {
        let plain = read(&self.file)?;
        if is_vault(&String::from_utf8_lossy(&plain)) {
            term::wrong(format!("{} is encrypted already", shown(&self.file)), None);
            return Err(Exit::Wrong);
        }
        let passwords = self.passwords.read()?;
        let [password] = passwords.as_slice() else {
            term::wrong("several passwords are given, and a file is encrypted with one", Some("name one"));
            return Err(Exit::Wrong);
        };
        let text = encrypt(&plain, password, &rand::random());
        match &self.name {
            None => put(&self.file, text.as_bytes(), "encrypted"),
            Some(name) => {
                let lines: Vec<String> = text.lines().map(|line| format!("          {line}")).collect();
                term::data(&format!("{name}: !vault |\n{}", lines.join("\n")));
                Ok(())
            }
        }
    }
}

fn shown(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() }
}

fn read(path: &Path) -> Result<Vec<u8>, Exit> {
    let mut bytes = Vec::new();
    let read = match path == Path::new("-") {
        true => std::io::stdin().lock().read_to_end(&mut bytes).map(drop),
        false => std::fs::read(path).map(|read| bytes = read),
    };
    read.map(|()| bytes).map_err(|why| {
        term::wrong(format!("{} cannot be read: {}", shown(path), term::io_words(&why)), None);
        Exit::Wrong
    })
}

/// Writes in place: beside, then renamed, so that nobody reads half a file. Others never see a decrypted one.
fn put(path: &Path, bytes: &[u8], done: &str) -> Result<(), Exit> {
    if path == Path::new("-") {
        term::bytes(bytes);
        return Ok(());
    }
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}", std::process::id()));
    let beside = PathBuf::from(beside);
    let written = std::fs::metadata(path).and_then(|metadata| {
        let mode = metadata.mode() & 0o700 | 0o600;
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(&beside)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::os::unix::fs::chown(&beside, Some(metadata.uid()), Some(metadata.gid()))?;
        std::fs::rename(&beside, path)
    });
    written.map(|()| term::say(&format!("{} is {done}", path.display()))).map_err(|why| {
        let _ = std::fs::remove_file(&beside);
        term::wrong(format!("{} cannot be written: {}", path.display(), term::io_words(&why)), None);
        Exit::Failed
    })
}
