//! The command line: one file a subcommand.
mod apply;
mod approve;
mod attribute;
mod bench;
mod booting;
mod capture;
mod compare;
mod completions;
mod continuing;
mod detached;
mod diagnose;
mod doc;
mod ends;
mod evidence;
mod exit;
mod expected;
mod gate;
mod gather;
mod interrupt;
mod inventory;
mod journal;
mod lab;
mod ladder;
mod lint;
mod listing;
mod load;
mod lsp;
mod man;
mod noted;
mod options;
mod plan;
mod play;
mod prompting;
mod purpose;
mod rehearsal;
mod reopened;
mod report;
mod rolling;
mod run;
mod runs;
mod schema;
mod screen;
mod shape;
mod show;
mod sign;
mod sweep;
mod term;
mod trying;
mod vault;
mod verify;

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
    /// Plan a playbook and show the plan, or save it to be reviewed; change nothing
    Plan(plan::Plan),
    /// Approve a saved plan with an SSH key
    Sign(sign::Sign),
    /// Apply a saved plan exactly as it was reviewed
    Apply(apply::Apply),
    /// Tell what has drifted from a playbook; change nothing
    Verify(verify::Verify),
    /// Tell whether what a playbook asks for is felt, and by what proof; change nothing
    Evidence(evidence::Evidence),
    /// Tell what hosts spend their time on, and which tunings answer that; change nothing
    Diagnose(diagnose::Diagnose),
    /// Write the present state of hosts as a playbook; change nothing
    Capture(capture::Capture),
    /// Run one module on some hosts, without a playbook
    Run(run::Run),
    /// Take back what a run changed
    Undo(journal::Undo),
    /// Go on with a run that was cut off: take back what is half done, then play again
    Resume(journal::Resume),
    /// Look at a run that goes on by itself, to its end
    Attach(detached::Attach),
    /// Say yes or no to a run that waits for a person
    Approve(approve::Approve),
    /// Give up the ways back of a run and clean its folders on the hosts
    Close(journal::Close),
    /// List runs
    Runs(runs::Runs),
    /// Show a run: what was asked for, done, proven, and what it cost
    Show(show::Show),
    /// Write what a run was: as a page, as JUnit XML, as metrics
    Report(report::Report),
    /// Compare two runs
    Compare(compare::Compare),
    /// Run the benchmarks of a playbook's gates alone; change nothing
    Bench(bench::Bench),
    /// Play the changes of a playbook one by one, and tell what each is worth
    Ladder(ladder::Ladder),
    /// Try the changes of a play in combinations: which of them help, and the fewest that are enough
    Attribute(attribute::Attribute),
    /// Try values of one variable: which is best
    Sweep(sweep::Sweep),
    /// Judge stored gates again, and tell what a gate can see
    #[command(subcommand)]
    Gate(gate::Gate),
    /// List hosts, draw groups, show the variables of a host
    #[command(subcommand)]
    Inventory(inventory::Inventory),
    /// Explain a module, a keyword, the words, risks, exit codes, variables, or what differs from Ansible
    Doc(doc::Doc),
    /// Print the JSON schema of playbooks, inventories or plans, for editors and programs
    Schema(schema::Schema),
    /// Print completions for a shell
    Completions(completions::Completions),
    /// Write the manual's pages
    Man(man::Man),
    /// Help an editor: problems, completion and documentation while typing
    Lsp(lsp::Lsp),
    /// Check playbooks without contacting a host
    Lint(lint::Lint),
    /// View, encrypt and decrypt Ansible Vault files
    #[command(subcommand)]
    Vault(vault::Vault),
    /// Start, end, list and enter throw-away hosts on this machine
    #[command(subcommand)]
    Lab(lab::Lab),
}

/// Runs the command line.
pub fn main() -> ExitCode {
    detached::leave_terminal();
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
        Command::Plan(plan) => plan.run(),
        Command::Apply(apply) => apply.run(),
        Command::Sign(sign) => sign.run(),
        Command::Verify(verify) => verify.run(),
        Command::Evidence(evidence) => evidence.run(),
        Command::Diagnose(diagnose) => diagnose.run(),
        Command::Capture(capture) => capture.run(),
        Command::Run(run) => run.run(),
        Command::Undo(undo) => undo.run(),
        Command::Resume(resume) => resume.run(),
        Command::Attach(attach) => attach.run(),
        Command::Approve(approve) => approve.run(),
        Command::Close(close) => close.run(),
        Command::Runs(runs) => runs.run(),
        Command::Show(show) => show.run(),
        Command::Report(report) => report.run(),
        Command::Compare(compare) => compare.run(),
        Command::Bench(bench) => bench.run(),
        Command::Ladder(ladder) => ladder.run(),
        Command::Attribute(attribute) => attribute.run(),
        Command::Sweep(sweep) => sweep.run(),
        Command::Gate(gate) => gate.run(),
        Command::Inventory(inventory) => inventory.run(),
        Command::Doc(doc) => doc.run(),
        Command::Schema(schema) => schema.run(),
        Command::Completions(completions) => completions.run(),
        Command::Man(man) => man.run(),
        Command::Lsp(lsp) => lsp.run(),
        Command::Lint(lint) => lint.run(),
        Command::Vault(vault) => vault.run(),
        Command::Lab(lab) => lab.run(),
    };
    exit.into()
}
