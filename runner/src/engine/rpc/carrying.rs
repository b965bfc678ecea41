//! A batch over a socket: the host's lock and the way back first, then a look, then one request after another, then a
//! look again.
use super::asking::{look, unopened};
use crate::engine::batch::{
    ActDone, Batch, BatchReport, Prepared, RpcText, rpc_begun, rpc_closing, rpc_opening,
};
use crate::engine::carrier::CarrierError;
use crate::transport::rpc::Client;
use crate::transport::{Connection, Identity};
use modules::programs::rpc::{Reply, explained, forbids, guards, method, seconds};
use modules::vocabulary::{Act, Bytes, HostPath, Output, Read, Seen, Step, touches};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::time::Duration;

/// The status of an act of which it is not known whether it was done.
const UNKNOWN: i32 = 255;

/// The socket that requests go over, and who sends them.
struct Sender<'a> {
    connection: &'a Connection,
    who: &'a Identity,
    client: Option<(HostPath, Client<'a>)>,
}

/// Carries a batch out of which every step is an RPC.
///
/// # Errors
/// [`CarrierError`]: whether anything was sent is not known then, and must be looked at.
pub(crate) async fn carry_out(
    connection: &Connection,
    who: &Identity,
    prepared: &Prepared,
    base: &str,
) -> Result<BatchReport, CarrierError> {
    let batch = prepared.batch();
    let RpcText { script, looks } = rpc_opening(prepared, base).map_err(CarrierError::Value)?;
    let answer = connection.run(who, &script).await?;
    let opened = BatchReport::of_rpc(batch, &looks, &answer).map_err(CarrierError::Answer)?;
    if opened.nothing_was_written() {
        return Ok(opened);
    }
    if let Some(words) = stale(connection, who, batch).await? {
        return Ok(BatchReport { stale: Some(words), ..BatchReport::default() });
    }
    let marked = connection.run(who, &rpc_begun(prepared, base)).await?;
    if marked.rc != 0 {
        let unstaged = Some(format!("the acts cannot be marked: {}", marked.rest.stderr.text().trim()));
        return Ok(BatchReport { unstaged, ..BatchReport::default() });
    }
    let mut sender = Sender { connection, who, client: None };
    let mut acts: Vec<Option<ActDone>> = Vec::new();
    let mut ok = true;
    for folded in &batch.steps {
        if !ok && !batch.undo {
            acts.push(None);
            continue;
        }
        let output = sender.act(&folded.step).await?;
        ok &= output.status == 0;
        acts.push(Some(ActDone { output }));
    }
    sender.close().await;
    let reads = batch.steps.iter().filter_map(|folded| folded.step.look.as_ref()).chain(&batch.verify);
    let seen = look(connection, who, reads).await?;
    let RpcText { script, looks } = rpc_closing(prepared, base, &acts, ok).map_err(CarrierError::Value)?;
    let answer = connection.run(who, &script).await?;
    let mut report = BatchReport::of_rpc(batch, &looks, &answer).map_err(CarrierError::Answer)?;
    report.seen.extend(seen);
    report.acts = acts;
    Ok(report)
}

/// What is not as it was when it was planned. What an earlier step of the batch makes is not there yet.
async fn stale(
    connection: &Connection,
    who: &Identity,
    batch: &Batch,
) -> Result<Option<String>, CarrierError> {
    let compared: Vec<&Step> = batch
        .steps
        .iter()
        .enumerate()
        .filter(|(index, folded)| {
            let look = folded.step.look.as_ref();
            let earlier = &batch.steps[..*index];
            look.is_some_and(|look| !earlier.iter().any(|earlier| touches(&earlier.step.act, look)))
        })
        .map(|(_, folded)| &folded.step)
        .collect();
    let seen = look(connection, who, compared.iter().filter_map(|step| step.look.as_ref())).await?;
    let mut words: Vec<String> = Vec::new();
    for step in compared {
        let Some(now) = step.look.as_ref().and_then(|look| seen.get(look)) else { continue };
        if !step.before.same_state(now) {
            words.push(format!(
                "{} is not as it was when this was planned; found: {}",
                step.claim,
                shown(now)
            ));
        }
    }
    Ok((!words.is_empty()).then(|| words.join("\n")))
}

fn shown(seen: &Seen) -> String {
    match seen {
        Seen::Value(value) => value.clone(),
        Seen::Absent => "nothing is there".to_owned(),
        Seen::Denied => "it may not be connected to".to_owned(),
        Seen::Failed(why) => why.clone(),
        other => format!("{other:?}"),
    }
}

impl<'a> Sender<'a> {
    /// Sends one request, once. The output is what a program would give: status, answer, words.
    async fn act(&mut self, step: &Step) -> Result<Output, CarrierError> {
        let Act::Rpc { socket, method: name, params } = &step.act else {
            return Err(CarrierError::Value(format!("{} is not an RPC", step.claim)));
        };
        if method(name).is_none() {
            let words = format!("the table of RPC methods that change something has no row `{name}`");
            return Err(CarrierError::Value(words));
        }
        if let Some(why) = self.forbidden(socket, name, params).await? {
            return Ok(said(1, &why));
        }
        let client = match self.client(socket).await? {
            Ok(client) => client,
            Err(seen) => return Ok(said(1, &format!("{name} was not sent: {}", shown(&seen)))),
        };
        let limit = Duration::from_secs(seconds(name));
        match client.ask(name, params, limit).await {
            Ok(Reply::Result(result)) => {
                Ok(Output { status: 0, stdout: Bytes::from(result.to_string()), stderr: Bytes::default() })
            }
            Ok(Reply::Error { code, message }) => Ok(said(1, &explained(name, params, code, &message))),
            Err(fault) => {
                self.close().await;
                Ok(said(UNKNOWN, &format!("{fault}; whether it was done is not known, so it is looked at")))
            }
        }
    }

    /// Why it may not be sent now, whoever asks for it.
    async fn forbidden(
        &self,
        socket: &HostPath,
        name: &str,
        params: &Json,
    ) -> Result<Option<String>, CarrierError> {
        let rows = guards(name, params);
        let reads: Vec<Read> = rows.iter().map(|row| Read::rpc(socket, row.clone())).collect();
        let mut seen: BTreeMap<Read, Seen> = look(self.connection, self.who, &reads).await?;
        let seen: Vec<_> = rows
            .into_iter()
            .zip(&reads)
            .map(|(row, read)| (row, seen.remove(read).unwrap_or(Seen::Denied)))
            .collect();
        Ok(forbids(name, params, &seen))
    }

    async fn client(&mut self, socket: &HostPath) -> Result<Result<&mut Client<'a>, Seen>, CarrierError> {
        if self.client.as_ref().is_some_and(|(at, _)| at != socket) {
            self.close().await;
        }
        if self.client.is_none() {
            match Client::open(self.connection, self.who, socket).await {
                Ok(client) => self.client = Some((socket.clone(), client)),
                Err(why) => return Ok(Err(unopened(why)?)),
            }
        }
        match &mut self.client {
            Some((_, client)) => Ok(Ok(client)),
            None => Ok(Err(Seen::Absent)),
        }
    }

    async fn close(&mut self) {
        if let Some((_, client)) = self.client.take() {
            client.close().await;
        }
    }
}

fn said(status: i32, words: &str) -> Output {
    Output { status, stdout: Bytes::default(), stderr: Bytes::from(words) }
}
