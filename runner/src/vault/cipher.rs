//! The cryptography of format 1.1 and 1.2: PBKDF2 with SHA-256, AES-256 in counter mode, HMAC over the ciphertext.
use aes::Aes256;
use ctr::cipher::{KeyIvInit, StreamCipher};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

use super::Refusal;
use super::envelope::Envelope;

const ROUNDS: u32 = 10_000;
const BLOCK: usize = 16;

/// Key of the cipher, key of the digest, first counter: 80 bytes.
struct Keys(Zeroizing<[u8; 80]>);

impl Keys {
    fn new(password: &[u8], salt: &[u8]) -> Self {
        let mut keys = Zeroizing::new([0; 80]);
        pbkdf2::pbkdf2_hmac::<Sha256>(password, salt, ROUNDS, &mut *keys);
        Self(keys)
    }

    fn mac(&self) -> Option<Hmac<Sha256>> {
        Hmac::<Sha256>::new_from_slice(&self.0[32..64]).ok()
    }

    fn apply(&self, bytes: &mut [u8]) -> Option<()> {
        let mut cipher = ctr::Ctr128BE::<Aes256>::new_from_slices(&self.0[..32], &self.0[64..]).ok()?;
        cipher.apply_keystream(bytes);
        Some(())
    }
}

/// The plain bytes, or nothing where the password is not that of this text.
pub(super) fn open(envelope: &Envelope, password: &[u8]) -> Result<Option<Zeroizing<Vec<u8>>>, Refusal> {
    let keys = Keys::new(password, &envelope.salt);
    let Some(mut mac) = keys.mac() else { return Ok(None) };
    mac.update(&envelope.ciphertext);
    // `verify_slice` compares in constant time.
    if mac.verify_slice(&envelope.mac).is_err() {
        return Ok(None);
    }
    let mut plain = Zeroizing::new(envelope.ciphertext.clone());
    if keys.apply(&mut plain).is_none() {
        return Ok(None);
    }
    let padding = plain.last().copied().map_or(0, usize::from);
    let padded = (1..=BLOCK).contains(&padding)
        && padding <= plain.len()
        && plain[plain.len() - padding..].iter().all(|byte| usize::from(*byte) == padding);
    if !padded {
        return Err(Refusal::Damaged { why: "its padding is wrong although its digest is right" });
    }
    let len = plain.len() - padding;
    plain.truncate(len);
    Ok(Some(plain))
}

/// Encrypts bytes with a salt that was never used before.
pub(super) fn seal(plain: &[u8], password: &[u8], salt: &[u8; 32], id: Option<String>) -> Envelope {
    let keys = Keys::new(password, salt);
    let padding = BLOCK - plain.len() % BLOCK;
    let mut ciphertext = plain.to_vec();
    ciphertext.resize(plain.len() + padding, padding as u8);
    let done = keys.apply(&mut ciphertext);
    debug_assert!(done.is_some(), "keys and counter have the cipher's lengths");
    let mac = keys.mac().map(|mut mac| {
        mac.update(&ciphertext);
        mac.finalize().into_bytes().to_vec()
    });
    Envelope { id, salt: salt.to_vec(), mac: mac.unwrap_or_default(), ciphertext }
}
