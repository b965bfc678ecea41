//! The `tunerun` command.
mod cli;

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    // The lab starts this very program again, as supervisor and as hosts.
    match tunerun::lab::entry::hidden(&words) {
        Some(Ok(())) => ExitCode::SUCCESS,
        Some(Err(problem)) => {
            eprintln!("{}", problem.message);
            ExitCode::FAILURE
        }
        None => cli::main(),
    }
}
