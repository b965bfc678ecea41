//! `tunerun lab`: throw-away hosts on this machine.
use super::exit::Exit;
use super::options::command_line;
use super::rehearsal::labs;
use super::term;
use clap::{Args, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::PathBuf;
use tunerun::lab::{Lab as Running, LabSpec, Tier, list};

/// Starts, ends, lists and enters throw-away SSH hosts on this machine, to rehearse playbooks on.
#[derive(Subcommand, Clone, Debug)]
#[command(after_help = "Examples:
  sudo tunerun lab up                                     four hosts: osd1 osd2 client1 hv1
  sudo tunerun lab up --host a --host b --plain           two hosts without systemd, in 50 ms
  sudo tunerun play playbooks/site.yaml -i lab            plays on them; without `lab up` for the run's length
  sudo tunerun lab exec ssh -F /run/tunerun-lab/lab/ssh_config osd1
  sudo tunerun lab down")]
pub enum Lab {
    /// Start hosts that stay until `lab down`
    Up(Up),
    /// End the hosts and clear away what they left
    Down(Name),
    /// List labs and their hosts
    List,
    /// Run a program inside the lab's network
    Exec(Exec),
}

/// Which lab.
#[derive(Args, Clone, Debug)]
pub struct Name {
    /// The lab's name
    #[arg(long, default_value = "lab")]
    pub name: String,
}

/// A lab to be started.
#[derive(Args, Clone, Debug)]
pub struct Up {
    #[command(flatten)]
    pub name: Name,
    /// A host's name; may be given several times
    #[arg(long = "host", value_name = "HOST", default_values_t = ["osd1", "osd2", "client1", "hv1"].map(str::to_owned))]
    pub hosts: Vec<String>,
    /// How real the hosts are
    #[arg(long, value_enum, default_value_t = Kind::Auto)]
    pub tier: Kind,
    /// The size of what each host can write, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 256)]
    pub size: u64,
}

/// How real hosts are.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Kind {
    /// Booted where systemd-nspawn is installed, else plain
    Auto,
    /// Namespaces with an sshd: no systemd, no reboot
    Plain,
    /// Booted by systemd-nspawn: real units, real reboots
    Booted,
}

/// A program to be run.
#[derive(Args, Clone, Debug)]
pub struct Exec {
    #[command(flatten)]
    pub name: Name,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub program: Vec<OsString>,
}

impl Lab {
    /// Runs it.
    pub fn run(self) -> Exit {
        match self {
            Self::Up(up) => up.run(),
            Self::Down(name) => down(&name.name),
            Self::List => listed(),
            Self::Exec(exec) => match Running::attach(&labs(), &exec.name.name) {
                Ok(lab) => {
                    // It returns only where the program could not be started.
                    term::problems_only(&[*lab.exec(&exec.program[0], &exec.program[1..])]);
                    Exit::Failed
                }
                Err(problems) => not_there(&exec.name.name, &problems),
            },
        }
    }
}

impl Up {
    fn run(self) -> Exit {
        let hosts: Vec<&str> = self.hosts.iter().map(String::as_str).collect();
        let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("/proc/self/exe"));
        let mut spec = LabSpec::new(&self.name.name, &hosts, labs(), program);
        spec.tier = match self.tier {
            Kind::Auto => Tier::Auto,
            Kind::Plain => Tier::Plain,
            Kind::Booted => Tier::Booted,
        };
        spec.upper_mib = self.size;
        spec.keep = true;
        spec.hidden = std::env::current_dir().into_iter().collect();
        spec.command = command_line();
        match Running::up(&spec) {
            Ok(lab) => {
                let names: Vec<String> = lab.hosts().into_iter().map(|host| host.name).collect();
                term::say(&format!(
                    "{} hosts are up ({}): {}",
                    names.len(),
                    tier(lab.tier()),
                    names.join(", ")
                ));
                term::say("next: tunerun play PLAYBOOK -i lab, and in the end: tunerun lab down");
                Exit::Done
            }
            Err(problems) => {
                term::problems(&problems);
                Exit::Failed
            }
        }
    }
}

fn down(name: &str) -> Exit {
    match Running::attach(&labs(), name).and_then(Running::down) {
        Ok(()) => {
            term::say(&format!("the lab `{name}` is gone, and all that its hosts held"));
            Exit::Done
        }
        Err(problems) => not_there(name, &problems),
    }
}

/// A lab that cannot be entered: it is not there, or not for this user.
fn not_there(name: &str, problems: &tunerun::diagnostic::Problems) -> Exit {
    if nix::unistd::geteuid().is_root() {
        term::problems_only(problems);
        return Exit::Failed;
    }
    term::wrong(
        format!("the lab `{name}` belongs to root, if it runs: its hosts are made of mounts and networks"),
        Some(&format!("sudo {}", command_line())),
    );
    Exit::Failed
}

fn listed() -> Exit {
    let labs = list(&labs());
    let mut out = String::new();
    for lab in &labs {
        let standing = if lab.alive { "up" } else { "gone, cleared away by the next `lab up`" };
        let _ =
            writeln!(out, "{}  {}  {standing}  supervisor {}", lab.name, tier(lab.tier), lab.supervisor.pid);
        for host in &lab.hosts {
            let _ = writeln!(out, "  {}  {}:{}", host.name, host.ip, host.port);
        }
    }
    if labs.is_empty() {
        let words = match nix::unistd::geteuid().is_root() {
            true => "no lab runs; `tunerun lab up` starts one",
            false => "no lab is seen; labs belong to root: sudo tunerun lab list",
        };
        term::say(words);
    } else {
        term::data(&out);
    }
    Exit::Done
}

fn tier(tier: Tier) -> &'static str {
    match tier {
        Tier::Booted => "booted: real systemd",
        Tier::Plain => "plain: no systemd, no reboot",
        Tier::Auto => "auto",
    }
}
