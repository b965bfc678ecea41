//! The servers that calls talk to: a port on the peer, a socket on the loader itself.
use super::host::{Host, ROOM, Serving};
use super::{Ground, Load};
use crate::bench::{Answers, Call};
use crate::gate::Fault;

/// Starts them; each answers once this is over.
pub(super) async fn start(
    ground: Ground<'_>,
    load: &Load,
    calls: &[Call],
    loaders: &[Host],
) -> Result<Vec<Serving>, Fault> {
    let serving = calls.iter().filter(|call| call.server.is_some()).count();
    if serving == 0 {
        return Ok(Vec::new());
    }
    let unfit = |what: String| Err(Fault::Unfit { what: format!("benchmark {} {what}", load.id) });
    if loaders.len() > 1 {
        return unfit(format!("has one server, and {} hosts load it: name one", loaders.len()));
    }
    let here = load.peer.as_ref().is_some_and(|peer| load.on.iter().any(|own| own.host == peer.host));
    let room = if here { ROOM / 2 } else { ROOM };
    if serving > room {
        return unfit(format!("needs {serving} servers at once, and a connection has room for {room}"));
    }
    let mut all = Vec::new();
    for call in calls {
        match one(ground, load, call, loaders).await {
            Ok(started) => all.extend(started),
            Err(fault) => {
                end(all).await;
                return Err(fault);
            }
        }
    }
    Ok(all)
}

async fn one(
    ground: Ground<'_>,
    load: &Load,
    call: &Call,
    loaders: &[Host],
) -> Result<Option<Serving>, Fault> {
    let Some(server) = &call.server else { return Ok(None) };
    if let (Answers::Socket(_), Some(loader)) = (&server.at, loaders.first()) {
        return loader.serve(server, call.limit).await.map(Some);
    }
    let Some(peer) = &load.peer else {
        let what =
            format!("benchmark {} talks to a server: `peer:` names the host it is started on", load.id);
        return Err(Fault::Unfit { what });
    };
    Host::reach(ground, peer).await?.serve(server, call.limit).await.map(Some)
}

/// Ends them.
pub(super) async fn end(servers: Vec<Serving>) {
    for server in servers {
        server.let_go().await;
    }
}
