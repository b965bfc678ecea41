//! Who has approved a saved plan: signatures of its file by SSH keys, as `ssh-keygen -Y sign` makes them (PROTOCOL.sshsig of
//! OpenSSH). Pure.
use crate::diagnostic::Diagnostic;
use crate::source::{Source, Span};
use russh::keys::PublicKey;
use russh::keys::ssh_key::{HashAlg, SshSig};

/// What a signature says that it is for: one that was made for something else approves no plan.
pub const NAMESPACE: &str = "tunerun-plan";

/// The keys that may approve plans, as the file of allowed signers of OpenSSH names them.
#[derive(Debug)]
pub struct Approvers {
    keys: Vec<(String, PublicKey)>,
}

/// One approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// Whom the file of approvers names for the key.
    pub by: String,
    /// The key's fingerprint, `SHA256:…`.
    pub key: String,
}

/// Words that stand before a key and say what it is.
fn is_type(word: &str) -> bool {
    ["ssh-", "ecdsa-", "sk-ssh-", "sk-ecdsa-"].iter().any(|begin| word.starts_with(begin))
}

impl Approvers {
    /// Reads `NAMES [OPTIONS] TYPE KEY [COMMENT]` on each line, or `TYPE KEY COMMENT` as a public key's own file has it.
    ///
    /// # Errors
    /// All lines that are not understood: one that is left out might be the one that counts.
    pub fn parse(name: &str, text: &str) -> Result<Self, Vec<Diagnostic>> {
        let source = Source::new(name, text);
        let (mut keys, mut problems) = (Vec::new(), Vec::new());
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let span = Span::new(&source, at, at + line.trim_end().len());
            at += line.len();
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            match approver(line) {
                Ok(Some(key)) => keys.push(key),
                Ok(None) => {}
                Err(why) => problems.push(Diagnostic::error(why, span)),
            }
        }
        if problems.is_empty() { Ok(Self { keys }) } else { Err(problems) }
    }

    /// How many keys may approve.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether nobody may approve.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Who among them has signed a plan: each key once. What is signed by other keys, for something else or for other
    /// bytes, does not count; why not is told in words.
    pub fn approvals(&self, plan: &[u8], signatures: &str) -> (Vec<Approval>, Vec<String>) {
        let (mut approvals, mut others) = (Vec::<Approval>::new(), Vec::new());
        for block in blocks(signatures) {
            match self.approval(plan, block) {
                Ok(approval) if approvals.contains(&approval) => {}
                Ok(approval) => approvals.push(approval),
                Err(why) => others.push(why),
            }
        }
        (approvals, others)
    }

    fn approval(&self, plan: &[u8], block: &str) -> Result<Approval, String> {
        let signature =
            SshSig::from_pem(block).map_err(|why| format!("a signature cannot be read: {why}"))?;
        let key = PublicKey::from(signature.public_key().clone());
        let print = key.fingerprint(HashAlg::Sha256).to_string();
        let Some((by, key)) = self.keys.iter().find(|(_, known)| known.key_data() == signature.public_key())
        else {
            return Err(format!("{print} is not among the approvers"));
        };
        if signature.namespace() != NAMESPACE {
            return Err(format!(
                "{by} ({print}) has signed it for `{}`, not for `{NAMESPACE}`",
                signature.namespace()
            ));
        }
        key.verify(NAMESPACE, plan, &signature).map_err(|_| {
            format!(
                "the signature of {by} ({print}) is of another plan, or of this one before it was changed"
            )
        })?;
        Ok(Approval { by: by.clone(), key: print })
    }
}

/// One line's key; none where its options say that it is for something else.
fn approver(line: &str) -> Result<Option<(String, PublicKey)>, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let Some(at) = words.iter().position(|word| is_type(word)).filter(|at| *at <= 2) else {
        return Err("no key stands here: write `NAME ssh-ed25519 AAAA…`".to_owned());
    };
    let text = format!("{} {}", words[at], words.get(at + 1).copied().unwrap_or_default());
    let key = PublicKey::from_openssh(&text).map_err(|why| format!("the key cannot be read: {why}"))?;
    for option in words[..at].get(1).into_iter().flat_map(|options| split(options)) {
        match option.split_once('=') {
            Some((name, value)) if name.eq_ignore_ascii_case("namespaces") => {
                if !value.trim_matches('"').split(',').any(|space| space == NAMESPACE || space == "*") {
                    return Ok(None);
                }
            }
            _ => {
                return Err(format!(
                    "the option `{option}` is not understood here; there is `namespaces=\"{NAMESPACE}\"`"
                ));
            }
        }
    }
    let name = if at == 0 { words.get(2).copied().unwrap_or("a key without a name") } else { words[0] };
    Ok(Some((name.to_owned(), key)))
}

/// Options between commas that no quotes enclose.
fn split(options: &str) -> Vec<&str> {
    let mut quoted = false;
    let is_end = |letter: char| {
        quoted ^= letter == '"';
        letter == ',' && !quoted
    };
    options.split(is_end).collect()
}

/// The armoured signatures of a file, one after another.
fn blocks(text: &str) -> impl Iterator<Item = &str> {
    const END: &str = "-----END SSH SIGNATURE-----";
    text.split_inclusive(END).map(str::trim).filter(|block| block.ends_with(END))
}

#[cfg(test)]
mod tests {
    use super::*;
    use russh::keys::ssh_key::LineEnding;
    use russh::keys::{Algorithm, PrivateKey};

    fn key() -> PrivateKey {
        PrivateKey::random(&mut rand::rng(), Algorithm::Ed25519).unwrap()
    }

    fn signed(key: &PrivateKey, namespace: &str, text: &[u8]) -> String {
        key.sign(namespace, HashAlg::Sha512, text).unwrap().to_pem(LineEnding::LF).unwrap()
    }

    fn line(key: &PrivateKey) -> String {
        let text = key.public_key().to_openssh().unwrap();
        text.split(' ').take(2).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn only_keys_that_are_named_approve_and_only_these_bytes() {
        let (ann, bob, eve) = (key(), key(), key());
        let text = format!("# who may\nann@x {}\n{} bob@y\n", line(&ann), line(&bob));
        let approvers = Approvers::parse("approvers", &text).unwrap();
        assert_eq!(approvers.len(), 2);
        let sign = |key: &PrivateKey| signed(key, NAMESPACE, b"plan");
        let all = format!("{}\n{}{}\n{}", sign(&ann), sign(&ann), sign(&eve), sign(&bob));
        let (by, others) = approvers.approvals(b"plan", &all);
        assert_eq!(by.iter().map(|one| one.by.as_str()).collect::<Vec<_>>(), ["ann@x", "bob@y"]);
        assert!(matches!(&others[..], [why] if why.contains("not among the approvers")), "{others:?}");
        let (by, others) = approvers.approvals(b"plan, changed", &sign(&ann));
        assert!(by.is_empty() && others[0].contains("of another plan"), "{others:?}");
        let (by, others) = approvers.approvals(b"plan", &signed(&ann, "git", b"plan"));
        assert!(by.is_empty() && others[0].contains("for `git`"), "{others:?}");
        assert_eq!(approvers.approvals(b"plan", "no signature"), (Vec::new(), Vec::new()));
    }

    #[test]
    fn lines_that_are_not_understood_are_told() {
        let line = line(&key());
        let text = format!("a namespaces=\"git\" {line}\nb namespaces=\"git,tunerun-plan\" {line}\n");
        assert_eq!(Approvers::parse("approvers", &text).unwrap().len(), 1);
        let text = format!("nothing here\na cert-authority {line}\nb ssh-ed25519 AAAA\n");
        let problems = Approvers::parse("approvers", &text).unwrap_err();
        let words: Vec<&str> = problems.iter().map(|problem| problem.message.as_str()).collect();
        assert_eq!(words.len(), 3, "{words:?}");
        assert!(words[1].contains("cert-authority"));
        assert_eq!(problems[1].span.as_ref().map(ToString::to_string).as_deref(), Some("approvers:2:1"));
    }
}
