//! Programs that run for a while on a channel of their own, and end when we do: their input is their lifeline.
use super::error::LinkError;
use super::exec::{Link, Output};
use super::identity::Identity;
use super::shell::{Captured, Stream};
use super::wire::{Exit, Wire};

/// A program under way. Where this is dropped its channel is closed, and what watches the input ends the program.
pub(crate) struct Tethered {
    wire: Wire,
    stdout: Captured,
    stderr: Captured,
    exit: Option<Exit>,
}

impl Link {
    /// Starts shell text as an identity; its input stays open. At most `cap` bytes of each output are kept.
    pub(crate) async fn tether(
        &self,
        identity: &Identity,
        program: &str,
        cap: usize,
    ) -> Result<Tethered, LinkError> {
        let wire = self.start(identity, program).await?;
        Ok(Tethered { wire, stdout: Captured::new(cap), stderr: Captured::new(cap), exit: None })
    }
}

impl Tethered {
    async fn next(&mut self) {
        let (stdout, stderr) = (&mut self.stdout, &mut self.stderr);
        let mut sink = |stream: Stream, bytes: &[u8]| match stream {
            Stream::Out => stdout.push(bytes),
            Stream::Err => stderr.push(bytes),
        };
        self.exit = self.wire.reader.next(&mut sink).await;
    }

    /// Waits until it has said a line on its output. False where it ended before.
    pub(crate) async fn said(&mut self, line: &str) -> bool {
        loop {
            if self.stdout.text().lines().any(|said| said == line) {
                return true;
            }
            if self.exit.is_some() {
                return false;
            }
            self.next().await;
        }
    }

    /// Waits for its end.
    pub(crate) async fn ended(mut self) -> Output {
        while self.exit.is_none() {
            self.next().await;
        }
        let exit = self.exit.clone().unwrap_or_default();
        Output { exit, stdout: std::mem::take(&mut self.stdout), stderr: std::mem::take(&mut self.stderr) }
    }

    /// Ends its input, and waits for its end.
    pub(crate) async fn let_go(self) -> Output {
        self.wire.writer.finish().await;
        self.ended().await
    }
}

impl Drop for Tethered {
    fn drop(&mut self) {
        // An input only ends when that is said, and saying it takes a runtime; without one the connection ends as well.
        if let (None, Ok(runtime)) = (&self.exit, tokio::runtime::Handle::try_current()) {
            let writer = self.wire.writer.clone();
            runtime.spawn(async move { writer.close(true).await });
        }
    }
}
