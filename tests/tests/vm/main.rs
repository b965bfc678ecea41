//! A virtual machine with a real boot loader, driven by the program over SSH: what no container can show.
mod bed;
mod cut;
mod judged;
mod killed;
mod lines;
mod lost;
mod queues;
mod thin;
mod trial;
