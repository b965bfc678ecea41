//! The SSH agent: which keys it has, and signatures by it.
use russh::client::Handle;
use russh::keys::agent::AgentIdentity;
use russh::keys::agent::client::{AgentClient, AgentStream};
use std::path::Path;

/// A connected agent and what it holds.
pub(super) struct Agent {
    pub client: AgentClient<Box<dyn AgentStream + Send + Unpin>>,
    pub identities: Vec<AgentIdentity>,
}

impl Agent {
    /// Connects. An error is a note for the login's error: other keys may do.
    pub(super) async fn connect(socket: &Path, handle: &Handle<super::gate::Gate>) -> Result<Self, String> {
        let said = |error: russh::keys::Error| format!("agent {}: {error}", socket.display());
        let mut client = AgentClient::connect_uds(socket).await.map_err(said)?.dynamic();
        if let Some(binding) = handle.agent_session_binding() {
            // Only agents with keys that are bound to destinations need it; others do not know the request.
            let _ = client.bind_session(binding, false).await;
        }
        let identities = client.request_identities().await.map_err(said)?;
        Ok(Self { client, identities })
    }
}
