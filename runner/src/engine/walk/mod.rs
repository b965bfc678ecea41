//! The planner: one walk over the playbook for one host, from facts and from what was done, to what is to be done.
//!
//! A walk is a pure function of the playbook, the inventory, the facts and the outcomes so far. It is made again after
//! each look and after each batch, always from the start: so a plan, a check and a run are the same code.
mod acting;
mod args;
mod asking;
mod clusters;
mod decide;
mod fights;
mod flush;
mod gauge;
mod hosts;
mod hostvars;
mod includes;
mod instance;
mod items;
mod layers;
mod loops;
mod outcome;
mod probe;
mod replay;
mod retrying;
mod said;
mod scene;
mod scope;
mod setting;
mod sources;
mod trial;
mod turns;
mod words;

pub use gauge::Gauge;
pub use hosts::{Acts, Chosen, Select};
pub use items::walk;
pub use outcome::{Gated, Key, Planned, Ran, Told, Verdict, Walked, What};
pub use scene::{Asked, Once, Scene};
pub use scope::{Live, Scope};
