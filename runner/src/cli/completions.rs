//! `tunerun completions`: what a shell needs to complete commands, options and their values.
use super::exit::Exit;
use super::{Cli, term};
use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

/// Prints the completions of a shell.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  tunerun completions bash > /etc/bash_completion.d/tunerun
  tunerun completions zsh > ~/.zfunc/_tunerun
  tunerun completions fish > ~/.config/fish/completions/tunerun.fish")]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}

impl Completions {
    /// Runs it.
    pub fn run(self) -> Exit {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "tunerun", &mut text);
        term::bytes(&text);
        Exit::Done
    }
}
