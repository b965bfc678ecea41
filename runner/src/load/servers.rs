//! The servers that calls talk to: a port on the peer, a socket on each loader itself.
use super::host::{Host, ROOM, Serving};
use super::{Ground, Load};
use crate::bench::{Answers, Call, Server};
use crate::gate::Fault;
use std::time::Duration;

/// Starts them; each answers once this is over.
pub(super) async fn start(
    ground: Ground<'_>,
    load: &Load,
    calls: &[Call],
    loaders: &[Host],
) -> Result<Vec<Serving>, Fault> {
    let mut all = Vec::new();
    match started(ground, load, calls, loaders, &mut all).await {
        Ok(()) => Ok(all),
        Err(fault) => {
            end(all).await;
            Err(fault)
        }
    }
}

async fn started(
    ground: Ground<'_>,
    load: &Load,
    calls: &[Call],
    loaders: &[Host],
    all: &mut Vec<Serving>,
) -> Result<(), Fault> {
    let servers: Vec<(&Server, Duration)> =
        calls.iter().filter_map(|call| Some((call.server.as_ref()?, call.limit))).collect();
    fits(load, &servers, loaders)?;
    for (server, limit) in servers {
        if matches!(server.at, Answers::Socket(_)) {
            for loader in loaders {
                all.push(loader.serve(server, limit).await?);
            }
            continue;
        }
        let Some(peer) = &load.peer else {
            return Err(unfit(load, "talks to a server: `peer:` names the host it is started on"));
        };
        all.push(Host::reach(ground, peer).await?.serve(server, limit).await?);
    }
    Ok(())
}

/// Refuses what would wait for a channel for ever, and several clients of a server that knows one.
fn fits(load: &Load, servers: &[(&Server, Duration)], loaders: &[Host]) -> Result<(), Fault> {
    let ports = servers.iter().filter(|(server, _)| matches!(server.at, Answers::Port(_))).count();
    if ports > 0 && loaders.len() > 1 {
        let hosts = loaders.len();
        return Err(unfit(load, &format!("has one server, and {hosts} hosts load it: name one")));
    }
    let on_peer = load.peer.as_ref().is_none_or(|peer| load.on.iter().any(|own| own.host == peer.host));
    let room = if on_peer { ROOM / 2 } else { ROOM };
    if servers.len() > room {
        let count = servers.len();
        let words = format!("needs {count} servers at once, and a connection has room for {room}");
        return Err(unfit(load, &words));
    }
    Ok(())
}

fn unfit(load: &Load, what: &str) -> Fault {
    Fault::Unfit { what: format!("benchmark {} {what}", load.id) }
}

/// Ends them.
pub(super) async fn end(servers: Vec<Serving>) {
    for server in servers {
        server.let_go().await;
    }
}
