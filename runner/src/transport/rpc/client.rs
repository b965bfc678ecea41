//! Requests over one socket, and their answers by number.
use super::fault::Fault;
use super::frame::{Answers, Garbage};
use super::pipe::{NotOpened, Pipe};
use crate::transport::{Connection, Identity};
use modules::programs::rpc::{Reply, encoded};
use modules::vocabulary::HostPath;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// A client of who serves a socket. After a [`Fault`] it is of no more use.
pub struct Client<'a> {
    connection: &'a Connection,
    pipe: Pipe,
    answers: Answers,
    next: u64,
}

impl<'a> Client<'a> {
    /// Connects.
    ///
    /// # Errors
    /// [`NotOpened`].
    pub async fn open(
        connection: &'a Connection,
        who: &Identity,
        socket: &HostPath,
    ) -> Result<Self, NotOpened> {
        let pipe = Pipe::open(connection, who, socket.as_str()).await?;
        Ok(Self { connection, pipe, answers: Answers::default(), next: 1 })
    }

    /// Sends one request and waits for its answer. It is never sent twice.
    ///
    /// # Errors
    /// [`Fault`]: whether it was carried out is not known then.
    pub async fn ask(&mut self, method: &str, params: &Json, limit: Duration) -> Result<Reply, Fault> {
        let (mut replies, fault) = self.ask_all(&[(method, params)], limit).await;
        match (replies.pop().flatten(), fault) {
            (Some(reply), _) => Ok(reply),
            (None, Some(fault)) => Err(fault),
            (None, None) => Err(Fault::Closed { method: method.to_owned(), arrived: 0 }),
        }
    }

    /// Sends requests in one piece and waits for all answers, in whatever order they come. What was answered before a
    /// fault counts.
    pub async fn ask_all(
        &mut self,
        requests: &[(&str, &Json)],
        limit: Duration,
    ) -> (Vec<Option<Reply>>, Option<Fault>) {
        let mut replies: Vec<Option<Reply>> = vec![None; requests.len()];
        let mut open: BTreeMap<u64, usize> = BTreeMap::new();
        let mut text = String::new();
        for (index, (method, params)) in requests.iter().enumerate() {
            text.push_str(&encoded(self.next, method, params));
            open.insert(self.next, index);
            self.next += 1;
        }
        let counters = &self.connection.link().counters;
        counters.round_trips(1);
        counters.sent(text.len());
        let deadline = Instant::now() + limit;
        // What cannot be sent shows as the end of the answers.
        let sent = timeout_at(deadline, self.pipe.send(text.into_bytes())).await;
        let fault = match sent {
            Ok(_) => self.receive(requests, &mut open, &mut replies, (deadline, limit)).await,
            Err(_) => Some(late(requests[0].0, limit, 0)),
        };
        (replies, fault)
    }

    async fn receive(
        &mut self,
        requests: &[(&str, &Json)],
        open: &mut BTreeMap<u64, usize>,
        replies: &mut [Option<Reply>],
        (deadline, limit): (Instant, Duration),
    ) -> Option<Fault> {
        while let Some((_, first)) = open.first_key_value() {
            let method = requests[*first].0.to_owned();
            match self.answers.next_reply() {
                Ok(Some((id, reply))) => {
                    match (id.as_u64().and_then(|id| open.remove(&id)), reply) {
                        (Some(index), reply) => replies[index] = Some(reply),
                        (None, Reply::Error { code, message }) if id.is_null() => {
                            return Some(Fault::Unread { method, said: format!("{message} ({code})") });
                        }
                        (None, _) => return Some(Fault::Unasked { method, id: id.to_string() }),
                    }
                    continue;
                }
                Ok(None) => {}
                Err(Garbage(why)) => return Some(Fault::Garbage { method, why }),
            }
            match timeout_at(deadline, self.pipe.receive()).await {
                Ok(Some(bytes)) => {
                    self.connection.link().counters.received(bytes.len());
                    self.answers.feed(&bytes);
                }
                Ok(None) => return Some(Fault::Closed { method, arrived: self.answers.waiting() }),
                Err(_) => return Some(late(&method, limit, self.answers.waiting())),
            }
        }
        None
    }

    /// Lets go of the socket.
    pub async fn close(self) {
        self.pipe.close().await;
    }
}

fn late(method: &str, after: Duration, arrived: usize) -> Fault {
    Fault::Late { method: method.to_owned(), after, arrived }
}
