//! `tunerun man`: the pages of the manual, made from the same words as `--help`.
use super::exit::Exit;
use super::{Cli, term};
use clap::{Args, Command, CommandFactory as _};
use std::io;
use std::path::PathBuf;

/// Writes the pages of the manual: one for the program, one for each subcommand.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  tunerun man --out /usr/local/share/man/man1       then: man tunerun, man tunerun-plan
  tunerun man | man -l -                            the first page alone, without --out")]
pub struct Man {
    /// The folder to write them in; without it the page of the program is printed
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

impl Man {
    /// Runs it.
    pub fn run(self) -> Exit {
        let mut top = Cli::command();
        top.build();
        let Some(folder) = self.out else {
            return match page(&top, "tunerun", &pages(&top, "tunerun")) {
                Ok(text) => {
                    term::bytes(&text);
                    Exit::Done
                }
                Err(why) => failed("the page cannot be made", &why),
            };
        };
        if let Err(why) = std::fs::create_dir_all(&folder) {
            return failed(&format!("{} cannot be made", folder.display()), &why);
        }
        let mut written = 0;
        for (name, command) in pages(&top, "tunerun") {
            let path = folder.join(format!("{name}.1"));
            let text = page(command, &name, &pages(command, &name));
            if let Err(why) = text.and_then(|text| std::fs::write(&path, text)) {
                return failed(&format!("{} cannot be written", path.display()), &why);
            }
            written += 1;
        }
        term::say(&format!("{written} pages in {}", folder.display()));
        Exit::Done
    }
}

fn failed(what: &str, why: &io::Error) -> Exit {
    term::wrong(format!("{what}: {}", term::io_words(why)), None);
    Exit::Failed
}

/// A command and all below it, by the names of their pages.
fn pages<'a>(command: &'a Command, name: &str) -> Vec<(String, &'a Command)> {
    let mut all = vec![(name.to_owned(), command)];
    for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help" && !inner.is_hide_set())
    {
        all.extend(pages(inner, &format!("{name}-{}", inner.get_name())));
    }
    all
}

/// One page. What stands below `--help` is given as it stands: its lines and columns mean something.
fn page(command: &Command, name: &str, below: &[(String, &Command)]) -> io::Result<Vec<u8>> {
    let whole = name.replace('-', " ");
    let mut shown = command.clone().display_name(name.to_owned()).bin_name(whole);
    if shown.get_version().is_none() {
        shown = shown.version(env!("CARGO_PKG_VERSION"));
    }
    let man = clap_mangen::Man::new(shown).title(name.to_uppercase()).section("1");
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    if command.get_arguments().any(|argument| !argument.is_hide_set()) {
        man.render_options_section(&mut text)?;
    }
    if below.len() > 1 {
        text.extend_from_slice(b".SH SUBCOMMANDS\n");
        for (name, command) in &below[1..] {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let section = format!(".TP\n\\fB{}\\fR(1)\n{}\n", escaped(name), escaped(&about));
            text.extend_from_slice(section.as_bytes());
        }
    }
    if let Some(after) = command.get_after_help() {
        text.extend_from_slice(verbatim(&after.to_string()).as_bytes());
    }
    if name != "tunerun" {
        text.extend_from_slice(b".SH \"SEE ALSO\"\n\\fBtunerun\\fR(1)\n");
    }
    Ok(text)
}

/// `Examples:` and `Exit codes:` as sections of their own, line by line.
fn verbatim(after: &str) -> String {
    let mut out = String::new();
    let mut open = false;
    for line in after.lines() {
        match line.strip_suffix(':').filter(|_| !line.starts_with(' ')) {
            Some(title) => {
                if open {
                    out.push_str(".fi\n");
                }
                out.push_str(&format!(".SH \"{}\"\n.nf\n", title.to_uppercase()));
                open = true;
            }
            None => {
                if !open {
                    out.push_str(".SH NOTES\n.nf\n");
                    open = true;
                }
                out.push_str(&escaped(line));
                out.push('\n');
            }
        }
    }
    if open {
        out.push_str(".fi\n");
    }
    out
}

/// Text in which nothing is a command of roff.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}
