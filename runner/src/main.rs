//! The `tunerun` command.
use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let outcome = match tunerun::lab::entry::hidden(&words) {
        Some(outcome) => outcome.map_err(|problem| vec![*problem]),
        None if words.first().is_some_and(|word| word == "lab") => lab(&words[1..]),
        None => Ok(()),
    };
    let Err(problems) = outcome else { return ExitCode::SUCCESS };
    for problem in problems {
        eprintln!("error: {}", problem.message);
        problem.notes.iter().for_each(|note| eprintln!("  note: {note}"));
        problem.help.iter().for_each(|help| eprintln!("  help: {help}"));
    }
    ExitCode::FAILURE
}

/// A stand-in until the command line is there: `lab up|down|list|exec`.
fn lab(words: &[OsString]) -> Result<(), tunerun::diagnostic::Problems> {
    use tunerun::lab::{Lab, LabSpec, Tier, list};
    let text: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let root = std::env::var_os("TUNERUN_LAB").map_or("/run/tunerun-lab".into(), std::path::PathBuf::from);
    match text.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["up", hosts @ ..] => {
            let (plain, hosts): (Vec<&str>, Vec<&str>) = hosts.iter().partition(|word| **word == "--plain");
            let hosts = if hosts.is_empty() { vec!["osd1", "osd2", "client1", "hv1"] } else { hosts };
            let program = std::env::current_exe().unwrap_or_default();
            let mut spec = LabSpec::new("lab", &hosts, root, program);
            spec.keep = true;
            spec.tier = if plain.is_empty() { Tier::Auto } else { Tier::Plain };
            spec.hidden = std::env::current_dir().into_iter().collect();
            let lab = Lab::up(&spec)?;
            let supervisor = lab.supervisor();
            println!("pid {} started {}", supervisor.pid, supervisor.start);
            lab.hosts().iter().for_each(|host| println!("{} {}", host.name, host.ip));
            Ok(())
        }
        ["down"] => Lab::attach(&root, "lab")?.down(),
        ["list"] => {
            for lab in list(&root) {
                println!("{} {:?} pid {} alive {}", lab.name, lab.tier, lab.supervisor.pid, lab.alive);
                lab.hosts.iter().for_each(|host| println!("  {} {}", host.name, host.ip));
            }
            Ok(())
        }
        ["exec", _, ..] => Err(vec![*Lab::attach(&root, "lab")?.exec(&words[1], &words[2..])]),
        _ => Ok(()),
    }
}
