//! What a run waits for: a host that answers or boots, a port, a file, the hand of a person.
mod manual;
mod ping;
mod reboot;
mod wait_for;

pub use manual::Manual;
pub use ping::Ping;
pub use reboot::Reboot;
pub use wait_for::WaitFor;
