//! The command line: one file a subcommand.
mod exit;
mod gather;
mod inventory;
mod journal;
mod load;
mod options;
mod play;
mod rehearsal;
mod reopened;
mod show;
mod term;

use clap::{Parser, Subcommand};
use exit::Exit;
use std::process::ExitCode;

/// Plan, apply and prove tunings of storage hosts over SSH, and take them back.
#[derive(Parser)]
#[command(name = "tunerun", version, after_help = Exit::TABLE, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Plan a playbook, show the plan, ask, apply it and prove it
    Play(play::Play),
    /// Take back what a run changed
    Undo(journal::Undo),
    /// Go on with a run that was cut off: take back what is half done, then play again
    Resume(journal::Resume),
    /// Give up the ways back of a run and clean its folders on the hosts
    Close(journal::Close),
    /// List runs
    Runs(show::Runs),
    /// Show a run: what was asked for, done, proven, and what it cost
    Show(show::Show),
    /// List hosts, draw groups, show the variables of a host
    #[command(subcommand)]
    Inventory(inventory::Inventory),
}

/// Runs the command line.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            let wrong = error.use_stderr();
            return if wrong { Exit::Wrong.into() } else { Exit::Done.into() };
        }
    };
    let exit = match cli.command {
        Command::Play(play) => play.run(),
        Command::Undo(undo) => undo.run(),
        Command::Resume(resume) => resume.run(),
        Command::Close(close) => close.run(),
        Command::Runs(runs) => runs.run(),
        Command::Show(show) => show.run(),
        Command::Inventory(inventory) => inventory.run(),
    };
    exit.into()
}
