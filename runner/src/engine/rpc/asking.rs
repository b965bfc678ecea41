//! Looks over sockets: rows of one socket share a connection, rows of one method a request.
use crate::engine::carrier::CarrierError;
use crate::transport::rpc::{Client, NotOpened};
use crate::transport::{Connection, Identity};
use modules::programs::rpc::{asks, seconds, taken};
use modules::vocabulary::{HostPath, Read, Row, Seen};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::time::Duration;

/// The looks of some reads that go over sockets, by socket.
fn asked<'a>(reads: impl IntoIterator<Item = &'a Read>) -> BTreeMap<&'a HostPath, Vec<&'a Row>> {
    let mut by_socket: BTreeMap<&HostPath, Vec<&Row>> = BTreeMap::new();
    for read in reads {
        if let Read::Rpc { socket, row } = read {
            let rows = by_socket.entry(socket).or_default();
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
    }
    by_socket
}

/// Looks over sockets. Reads that go another way are left out.
///
/// # Errors
/// [`CarrierError`]: the link to the host failed. What a target does is an answer.
pub(crate) async fn look<'a>(
    connection: &Connection,
    who: &Identity,
    reads: impl IntoIterator<Item = &'a Read>,
) -> Result<BTreeMap<Read, Seen>, CarrierError> {
    let mut seen = BTreeMap::new();
    for (socket, rows) in asked(reads) {
        let answers = match Client::open(connection, who, socket).await {
            Ok(client) => by_client(client, &rows).await,
            Err(why) => {
                let answer = unopened(why)?;
                vec![answer; rows.len()]
            }
        };
        let pairs = rows.into_iter().zip(answers);
        seen.extend(pairs.map(|(row, answer)| (Read::rpc(socket, row.clone()), answer)));
    }
    Ok(seen)
}

/// What is seen of a socket that cannot be opened.
pub(super) fn unopened(why: NotOpened) -> Result<Seen, CarrierError> {
    match why {
        NotOpened::Absent => Ok(Seen::Absent),
        NotOpened::Denied(_) => Ok(Seen::Denied),
        NotOpened::Failed(words) => Ok(Seen::Failed(words)),
        NotOpened::Link(error) => Err(CarrierError::Link(error)),
    }
}

async fn by_client(mut client: Client<'_>, rows: &[&Row]) -> Vec<Seen> {
    let mut methods: Vec<&'static str> = Vec::new();
    for method in rows.iter().filter_map(|row| asks(row).ok()) {
        if !methods.contains(&method) {
            methods.push(method);
        }
    }
    let requests: Vec<(&str, &Json)> = methods.iter().map(|method| (*method, &Json::Null)).collect();
    let limit = Duration::from_secs(methods.iter().map(|method| seconds(method)).max().unwrap_or(1));
    let (replies, fault) = client.ask_all(&requests, limit).await;
    client.close().await;
    let answer = |row: &&Row| match asks(row) {
        Err(why) => Seen::Failed(why),
        Ok(method) => {
            let at = methods.iter().position(|known| *known == method);
            match (at.and_then(|at| replies[at].as_ref()), &fault) {
                (Some(reply), _) => taken(row, reply),
                (None, Some(fault)) => Seen::Failed(fault.to_string()),
                (None, None) => Seen::Failed(format!("no answer to {method} came")),
            }
        }
    };
    rows.iter().map(answer).collect()
}
