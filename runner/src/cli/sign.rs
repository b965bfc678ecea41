//! `tunerun sign`, and what `apply` asks of signatures.
use super::exit::Exit;
use super::term;
use clap::Args;
use russh::keys::ssh_key::{HashAlg, LineEnding};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use tunerun::diagnostic::Diagnostic;
use tunerun::plan::approval::{Approval, Approvers, NAMESPACE};

/// Approves a saved plan: signs its file with an SSH key, beside it in FILE.sig.
///
/// Several people may sign: their signatures stand one after another. It is the format of `ssh-keygen -Y sign -n
/// tunerun-plan -f KEY FILE`, which does the same for keys in an agent or on a token, and `ssh-keygen -Y verify -n
/// tunerun-plan` checks it.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  tunerun sign monday.plan --key ~/.ssh/id_ed25519
  tunerun apply monday.plan --require-approval approvers          a line of approvers: ann@example.org ssh-ed25519 AAAA…
  tunerun apply monday.plan --require-approval approvers --approvals 2")]
pub struct Sign {
    /// The saved plan
    pub file: PathBuf,
    /// The private key
    #[arg(short, long, value_name = "KEY")]
    pub key: PathBuf,
}

/// Where the signatures of a plan stand.
fn beside(plan: &Path) -> PathBuf {
    let mut name = plan.as_os_str().to_owned();
    name.push(".sig");
    PathBuf::from(name)
}

fn unread(path: &Path, why: &std::io::Error) -> Exit {
    term::wrong(format!("{} cannot be read: {}", path.display(), term::io_words(why)), None);
    Exit::Wrong
}

impl Sign {
    /// Runs it.
    pub fn run(self) -> Exit {
        let plan = match std::fs::read_to_string(&self.file) {
            Ok(plan) => plan,
            Err(why) => return unread(&self.file, &why),
        };
        // Nobody approves what no `apply` would take.
        if let Err(problem) = tunerun::plan::parse(&self.file.display().to_string(), &plan) {
            term::problems_only(&[*problem]);
            return Exit::Wrong;
        }
        let key = match key(&self.key) {
            Ok(key) => key,
            Err(exit) => return exit,
        };
        let signature = key.sign(NAMESPACE, HashAlg::Sha512, plan.as_bytes());
        let text = signature.and_then(|signature| signature.to_pem(LineEnding::LF));
        let text = match text {
            Ok(text) => text,
            Err(why) => {
                term::wrong(format!("{} cannot sign: {why}", self.key.display()), None);
                return Exit::Failed;
            }
        };
        let path = beside(&self.file);
        let file = std::fs::OpenOptions::new().create(true).append(true).open(&path);
        if let Err(why) =
            file.and_then(|mut file| file.write_all(format!("{}\n", text.trim_end()).as_bytes()))
        {
            term::wrong(format!("{} cannot be written: {}", path.display(), term::io_words(&why)), None);
            return Exit::Failed;
        }
        let print = key.public_key().fingerprint(HashAlg::Sha256);
        term::say(&format!("signed with {print}; the signature is in {}", path.display()));
        Exit::Done
    }
}

/// Reads a private key; one with a passphrase asks for it.
fn key(path: &Path) -> Result<russh::keys::PrivateKey, Exit> {
    let text = std::fs::read_to_string(path).map_err(|why| unread(path, &why))?;
    let wrong = |why: String| {
        term::wrong(
            format!("{} cannot be used: {why}", path.display()),
            Some(&format!(
                "a key in an agent or on a token signs by `ssh-keygen -Y sign -n {NAMESPACE} -f KEY.pub FILE`"
            )),
        );
        Exit::Wrong
    };
    match russh::keys::decode_secret_key(&text, None) {
        Err(russh::keys::Error::KeyIsEncrypted) if term::can_ask() => {
            let asked = term::ask_secret(&format!("Passphrase of {}", path.display())).unwrap_or_default();
            russh::keys::decode_secret_key(&text, Some(&asked)).map_err(|why| wrong(why.to_string()))
        }
        Err(russh::keys::Error::KeyIsEncrypted) => {
            Err(wrong("it has a passphrase, and nobody can be asked for it".to_owned()))
        }
        key => key.map_err(|why| wrong(why.to_string())),
    }
}

/// The approvals of a plan, where enough of them are there.
pub(super) fn approved(
    plan: &Path,
    text: &str,
    approvers: &Path,
    many: usize,
) -> Result<Vec<Approval>, Exit> {
    let name = approvers.display().to_string();
    let keys = std::fs::read_to_string(approvers).map_err(|why| unread(approvers, &why))?;
    let keys = Approvers::parse(&name, &keys).map_err(|problems| {
        term::problems_only(&problems);
        Exit::Wrong
    })?;
    let path = beside(plan);
    let signatures = match std::fs::read_to_string(&path) {
        Ok(signatures) => signatures,
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(why) => return Err(unread(&path, &why)),
    };
    let (approvals, others) = keys.approvals(text.as_bytes(), &signatures);
    if approvals.len() >= many {
        return Ok(approvals);
    }
    let words = match approvals.len() {
        0 => format!("{} is approved by nobody whom {name} names", plan.display()),
        some => format!(
            "{} is approved by {some} of those whom {name} names, and {many} are needed",
            plan.display()
        ),
    };
    let mut problem = Diagnostic::error(words, None)
        .help(format!("somebody who may approves it by `tunerun sign {} --key KEY`", plan.display()));
    problem.notes = others;
    term::problems_only(&[problem]);
    term::say("nothing was changed");
    Err(Exit::Wrong)
}
