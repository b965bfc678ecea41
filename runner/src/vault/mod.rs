//! Ansible Vault values and files: read and written, formats 1.1 and 1.2.
mod cipher;
mod envelope;

#[cfg(test)]
mod tests;

use std::fmt;

use zeroize::Zeroizing;

/// A password with the name that people give it (`--vault-id NAME@FILE`).
#[derive(Clone)]
pub struct Password {
    /// The vault id; `default` where none was given.
    pub id: String,
    secret: Zeroizing<Vec<u8>>,
}

impl Password {
    /// Takes a password as it stands in its file: blanks and line breaks around it do not count, as in Ansible.
    pub fn new(id: impl Into<String>, secret: &[u8]) -> Self {
        Self { id: id.into(), secret: Zeroizing::new(secret.trim_ascii().to_vec()) }
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Password({})", self.id)
    }
}

/// Why a vault text cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It does not begin with `$ANSIBLE_VAULT;`.
    NotVault,
    /// Its format or cipher is not known here.
    Unknown {
        /// The first line.
        header: String,
    },
    /// The text was cut or changed, whatever the password.
    Damaged {
        /// What is wrong with it.
        why: &'static str,
    },
    /// No password was given.
    NoPassword {
        /// The id that the text names.
        id: Option<String>,
    },
    /// None of the passwords opens it; if one of them is right, the text was changed.
    WrongPassword {
        /// The id that the text names.
        id: Option<String>,
        /// The ids that were tried.
        tried: Vec<String>,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named =
            |id: &Option<String>| id.as_ref().map_or(String::new(), |id| format!(" of the vault id `{id}`"));
        match self {
            Self::NotVault => {
                out.write_str("this is no vault text: it does not begin with `$ANSIBLE_VAULT;`")
            }
            Self::Unknown { header } => {
                write!(out, "this vault format is not known: `{header}`; 1.1 and 1.2 with AES256 are")
            }
            Self::Damaged { why } => {
                write!(out, "this vault text is damaged: {why}; no password can open it")
            }
            Self::NoPassword { id } => {
                write!(
                    out,
                    "this vault text needs the password{}: give it with --vault-password-file",
                    named(id)
                )
            }
            Self::WrongPassword { id, tried } => write!(
                out,
                "no given password opens this vault text{}: tried {}; if one of them is right, the text was changed",
                id.as_ref().map_or(String::new(), |id| format!(", which names the id `{id}`")),
                tried.join(", ")
            ),
        }
    }
}

impl std::error::Error for Refusal {}

/// Whether the envelope of a vault text is whole, as far as no password is needed to tell.
///
/// # Errors
/// The header is not known, or the body was cut or changed.
pub fn check(text: &str) -> Result<(), Refusal> {
    envelope::read(text).map(drop)
}

/// Whether the text, or the bytes of a file, are a vault; blanks before it do not count.
pub fn is_vault(text: &str) -> bool {
    text.trim_start().starts_with("$ANSIBLE_VAULT;")
}

/// Opens a vault file's text or an inline `!vault` value. Passwords of the id that the text names are tried first,
/// then all others.
///
/// # Errors
/// A [`Refusal`] that tells a wrong password from a damaged text.
pub fn decrypt(text: &str, passwords: &[Password]) -> Result<Zeroizing<Vec<u8>>, Refusal> {
    let envelope = envelope::read(text)?;
    if passwords.is_empty() {
        return Err(Refusal::NoPassword { id: envelope.id });
    }
    let (named, others): (Vec<_>, Vec<_>) =
        passwords.iter().partition(|password| Some(&password.id) == envelope.id.as_ref());
    for password in named.iter().chain(&others) {
        if let Some(plain) = cipher::open(&envelope, &password.secret)? {
            return Ok(plain);
        }
    }
    let tried = named.iter().chain(&others).map(|password| password.id.clone()).collect();
    Err(Refusal::WrongPassword { id: envelope.id, tried })
}

/// Encrypts bytes as Ansible does: format 1.2 with the password's id, or 1.1 where that is `default`. `salt` must be
/// 32 random bytes that were never used before.
pub fn encrypt(plain: &[u8], password: &Password, salt: &[u8; 32]) -> String {
    let id = Some(password.id.clone()).filter(|id| id != "default");
    envelope::write(&cipher::seal(plain, &password.secret, salt, id))
}
