//! Playbooks as people write them, played by the real program: what they leave and what it says.
mod bed;
mod blocks;
mod handlers;
mod hosts;
mod idioms;
mod includes;
mod loops;
mod mistakes;
mod owners;
mod precedence;
mod results;
mod resuming;
mod roles;
mod secrets;
mod steering;
