//! `tunerun approve`: a person's word to a run that waits elsewhere.
use super::exit::Exit;
use super::options::LinkOptions;
use super::term;
use clap::Args;
use std::path::Path;
use tunerun::journal::Store;

/// Says yes or no to a run that waits for a person: a `pause:` of a rollout where nobody sits at its terminal.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  tunerun approve last                   the question is shown, and the run goes on
  tunerun approve k7fq --deny            the run holds there; resume or undo it")]
pub struct Approve {
    /// The run: its name, the end of its name, or `last`
    pub run: String,
    /// Say no: the run holds
    #[arg(long)]
    pub deny: bool,
    #[command(flatten)]
    pub links: LinkOptions,
}

impl Approve {
    /// Runs it.
    pub fn run(self) -> Exit {
        let store = Store::new(self.links.runs());
        let path = match store.path(&self.run) {
            Ok(path) => path,
            Err(why) => {
                term::wrong(why.to_string(), None);
                return Exit::Wrong;
            }
        };
        let folder = path.parent().unwrap_or_else(|| Path::new("."));
        let Some((number, question)) = open(folder) else {
            term::wrong("this run does not wait for a person", Some("`tunerun show RUN` tells how far it is"));
            return Exit::Wrong;
        };
        let word = if self.deny { "denied" } else { "approved" };
        if let Err(why) = std::fs::write(folder.join(format!("{word}-{number}")), "") {
            term::wrong(format!("it cannot be written down: {}", term::io_words(&why)), None);
            return Exit::Failed;
        }
        term::data(&format!("{word}: {question}"));
        Exit::Done
    }
}

/// The question that is open: asked, and neither approved nor denied.
fn open(folder: &Path) -> Option<(usize, String)> {
    let answered = |number: usize| {
        ["approved", "denied"].iter().any(|word| folder.join(format!("{word}-{number}")).exists())
    };
    let asked = (1..1000).map_while(|number| {
        std::fs::read_to_string(folder.join(format!("asked-{number}"))).ok().map(|text| (number, text))
    });
    asked.filter(|(number, _)| !answered(*number)).last()
}
