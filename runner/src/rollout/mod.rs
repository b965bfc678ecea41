//! Rollouts: who goes when, what must hold around each host, what a gate says of it, and the way back of all of it.
//!
//! The walk of the data: [`stages`] reads what a play says into a [`Stage`], with its hosts in waves. [`conduct()`] takes
//! play after play over the [`Fleet`](crate::engine::fleet::Fleet): plain plays batch by batch, stages wave by wave. A
//! wave goes forward in turns within [`guards`], or a gate judges it: slots of runs are measured until
//! [`judge`](crate::gate::judge()) has its answer. What ends it early is a [`Halt`].
mod alone;
mod anew;
mod bed;
mod bundle;
mod calmly;
mod conduct;
mod desk;
mod event;
mod foresee;
mod forward;
mod gating;
mod guarded;
pub mod guards;
mod halt;
mod later;
mod measuring;
mod profiles;
mod stage;
mod waves;
mod window;

pub use alone::{Alone, alone, learn};
pub use bundle::{Bundle, Change, bundle};
pub use conduct::{Conducted, conduct};
pub use desk::{Answer, Desk};
pub use foresee::{Foreseen, foresee};
pub use forward::ROLLED_BACK;
pub use halt::Halt;
pub use profiles::{Profile, Profiles};
pub use stage::{Stage, Stages, stages};
pub use window::{Moment, Window};
