//! Signs for certificates by a key that is here, behind the agent's protocol.
//!
//! russh's own way for certificates of key files knows only SHA-1 for RSA, which no server of today takes; its way for
//! agents knows all hashes, and its trait for signers is private. So this is an agent of one key, over a pipe in memory.
use russh::keys::agent::client::AgentClient;
use russh::keys::ssh_encoding::{Decode, Encode};
use russh::keys::ssh_key::private::KeypairData;
use russh::keys::{HashAlg, PrivateKey, signature};
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

const SIGN_REQUEST: u8 = 13;
const SIGN_RESPONSE: u8 = 14;
const FAILURE: u8 = 5;
const RSA_SHA256: u32 = 2;
const RSA_SHA512: u32 = 4;
/// What is to be signed is a login request of a few KiB.
const FRAME_LIMIT: usize = 256 * 1024;

/// An agent that holds one key; it ends when it is dropped.
pub(super) fn agent_of(key: Arc<PrivateKey>) -> AgentClient<DuplexStream> {
    let (ours, theirs) = tokio::io::duplex(16 * 1024);
    tokio::spawn(serve(key, theirs));
    AgentClient::connect(ours)
}

async fn serve(key: Arc<PrivateKey>, mut pipe: DuplexStream) -> io::Result<()> {
    loop {
        let length = pipe.read_u32().await? as usize;
        if length > FRAME_LIMIT {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut frame = vec![0; length];
        pipe.read_exact(&mut frame).await?;
        let mut answer = Vec::new();
        match sign(&key, &frame) {
            Some(blob) => {
                answer.push(SIGN_RESPONSE);
                blob.encode(&mut answer).map_err(io::Error::other)?;
            }
            None => answer.push(FAILURE),
        }
        let mut out = Vec::new();
        answer.encode(&mut out).map_err(io::Error::other)?;
        pipe.write_all(&out).await?;
    }
}

/// The signature's blob; nothing for any other request.
fn sign(key: &PrivateKey, frame: &[u8]) -> Option<Vec<u8>> {
    let mut rest = frame.strip_prefix(&[SIGN_REQUEST])?;
    let _which = Vec::<u8>::decode(&mut rest).ok()?;
    let data = Vec::<u8>::decode(&mut rest).ok()?;
    let flags = u32::decode(&mut rest).ok()?;
    let hash = match flags {
        RSA_SHA512 => Some(HashAlg::Sha512),
        RSA_SHA256 => Some(HashAlg::Sha256),
        _ => None,
    };
    let signed: russh::keys::ssh_key::Signature = match key.key_data() {
        KeypairData::Rsa(pair) => signature::Signer::try_sign(&(pair, hash), &data).ok()?,
        pair => signature::Signer::try_sign(pair, &data).ok()?,
    };
    let mut blob = Vec::new();
    signed.encode(&mut blob).ok()?;
    Some(blob)
}
