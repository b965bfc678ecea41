//! Texts of inventories and variables: read, decoded, and decrypted where all of a file is vaulted.
use super::world::World;
use crate::diagnostic::{Diagnostic, Problems};
use crate::source::{Source, Span};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// A problem with reading a path.
pub(super) fn unreadable(path: &Path, error: &io::Error) -> Diagnostic {
    Diagnostic::error(format!("{} cannot be read: {error}", path.display()), None)
        .help("check its owner and mode")
}

/// A text file, decrypted if all of it is vaulted.
pub(super) fn source(path: &Path, world: &dyn World) -> Result<Arc<Source>, Problems> {
    let bytes = world.read(path).map_err(|error| vec![unreadable(path, &error)])?;
    decode(path, bytes, world)
}

pub(super) fn decode(path: &Path, bytes: Vec<u8>, world: &dyn World) -> Result<Arc<Source>, Problems> {
    let name = path.display().to_string();
    let mut text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(bad) => lossy_comments(&name, bad.as_bytes())?,
    };
    if text.starts_with('\u{feff}') {
        text.remove(0);
    }
    let vaulted = text.starts_with("$ANSIBLE_VAULT;");
    if vaulted {
        text = world.decrypt(&text, &name).map_err(|why| {
            vec![
                Diagnostic::error(format!("{name} is vaulted and cannot be decrypted: {why}"), None)
                    .help("give the password with `--vault-password-file` or `--ask-vault-pass`"),
            ]
        })?;
    }
    Ok(if vaulted { Source::secret(name, text) } else { Source::new(name, text) })
}

/// Bytes that are not UTF-8 are let pass in comments, as Ansible does.
fn lossy_comments(name: &str, bytes: &[u8]) -> Result<String, Problems> {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let source = Source::new(name, text);
    let mut problems = Problems::new();
    let mut start = 0;
    for line in source.text.split_inclusive('\n') {
        if let Some(at) = line.find('\u{fffd}')
            && !line.trim_start().starts_with(['#', ';'])
        {
            let span = Span::new(&source, start + at, start + at + '\u{fffd}'.len_utf8());
            problems.push(Diagnostic::error("a byte that is not UTF-8", span).help("save the file as UTF-8"));
        }
        start += line.len();
    }
    if problems.is_empty() { Ok(source.text.clone()) } else { Err(problems) }
}
