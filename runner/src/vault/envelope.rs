//! The text around the ciphertext: the header line, and hexadecimal digits of three hexadecimal lines.
use super::Refusal;

/// A vault text taken apart.
pub(super) struct Envelope {
    /// The vault id of format 1.2.
    pub id: Option<String>,
    pub salt: Vec<u8>,
    pub mac: Vec<u8>,
    pub ciphertext: Vec<u8>,
}

const DAMAGED_HEX: Refusal = Refusal::Damaged { why: "its body is not hexadecimal digits of even number" };

/// Takes a vault text apart; blanks around its lines do not count.
pub(super) fn read(text: &str) -> Result<Envelope, Refusal> {
    let mut lines = text.trim().lines().map(str::trim);
    let header = lines.next().unwrap_or("");
    let fields: Vec<&str> = header.split(';').map(str::trim).collect();
    let id = match fields.as_slice() {
        ["$ANSIBLE_VAULT", "1.1", "AES256"] => None,
        ["$ANSIBLE_VAULT", "1.2", "AES256", id] if !id.is_empty() => Some((*id).to_owned()),
        ["$ANSIBLE_VAULT", ..] => return Err(Refusal::Unknown { header: header.to_owned() }),
        _ => return Err(Refusal::NotVault),
    };
    let body: String = lines.collect();
    if body.is_empty() {
        return Err(Refusal::Damaged { why: "it has a header and no body" });
    }
    let inner = bytes(body.as_bytes())?;
    let parts: Vec<&[u8]> = inner.split(|byte| *byte == b'\n').collect();
    let [salt, mac, ciphertext] = parts.as_slice() else {
        return Err(Refusal::Damaged {
            why: "it does not hold salt, digest and ciphertext: it was cut or changed",
        });
    };
    let envelope = Envelope { id, salt: bytes(salt)?, mac: bytes(mac)?, ciphertext: bytes(ciphertext)? };
    if envelope.mac.len() != 32 {
        return Err(Refusal::Damaged { why: "its digest is not 32 bytes long" });
    }
    if envelope.ciphertext.is_empty() || !envelope.ciphertext.len().is_multiple_of(16) {
        return Err(Refusal::Damaged { why: "its ciphertext is not whole blocks: its end is missing" });
    }
    Ok(envelope)
}

/// Writes a vault text in lines of 80 digits, with a line break at its end.
pub(super) fn write(envelope: &Envelope) -> String {
    let inner = [&envelope.salt, &envelope.mac, &envelope.ciphertext].map(|bytes| digits(bytes)).join("\n");
    let body = digits(inner.as_bytes());
    let mut out = match &envelope.id {
        Some(id) => format!("$ANSIBLE_VAULT;1.2;AES256;{id}\n"),
        None => "$ANSIBLE_VAULT;1.1;AES256\n".to_owned(),
    };
    for line in body.as_bytes().chunks(80) {
        out.extend(line.iter().map(|byte| char::from(*byte)));
        out.push('\n');
    }
    out
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(digits: &[u8]) -> Result<Vec<u8>, Refusal> {
    let value = |digit: u8| char::from(digit).to_digit(16).ok_or(DAMAGED_HEX);
    let (pairs, []) = digits.as_chunks::<2>() else { return Err(DAMAGED_HEX) };
    pairs.iter().map(|[high, low]| Ok((value(*high)? * 16 + value(*low)?) as u8)).collect()
}
