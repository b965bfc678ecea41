//! Where the events of a run go: lines for people, a picture that is drawn again at a terminal, or JSON for programs.
use super::exit::Exit;
use super::term;
use clap::Args;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use serde_json::json;
use tunerun::report::event::Event;
use tunerun::report::live::Live;
use tunerun::report::progress::Progress;
use tunerun::report::terminal::Terminal;

/// How a run is told.
#[derive(Args, Clone, Debug, Default)]
pub struct Telling {
    /// Tell only trouble, answers of gates, and how it ended
    #[arg(short, long, conflicts_with = "json")]
    pub quiet: bool,
    /// Print each event as a line of JSON; what is for people goes to stderr
    #[arg(long)]
    pub json: bool,
}

/// Whoever is told of a run.
pub struct Screen {
    telling: Telling,
    terminal: Terminal,
    live: Option<(Live, Vec<ProgressBar>)>,
}

/// The picture has at most so many lines.
const LINES: usize = 4;

impl Screen {
    /// For a run that begins.
    pub fn new(telling: &Telling) -> Self {
        let draws = !telling.quiet && !telling.json && term::can_draw();
        let live = draws.then(|| {
            let picture = MultiProgress::new();
            let bars: Vec<ProgressBar> = (0..LINES)
                .map(|_| {
                    let bar = picture.add(ProgressBar::new_spinner());
                    bar.set_style(
                        ProgressStyle::with_template("{msg}")
                            .unwrap_or_else(|_| ProgressStyle::default_spinner()),
                    );
                    bar
                })
                .collect();
            term::draw(Some(picture));
            (Live::default(), bars)
        });
        Self { telling: telling.clone(), terminal: Terminal::new(term::paint_stderr()), live }
    }

    /// Takes an event.
    pub fn take(&mut self, event: &Event) {
        if self.telling.json {
            term::bytes(format!("{}\n", json!(event)).as_bytes());
        }
        let text = self.terminal.take(event);
        if let Some(text) = text.filter(|_| !self.telling.quiet || is_loud(event)) {
            term::say(&text);
        }
        if let Some((live, bars)) = &mut self.live {
            live.take(event);
            let lines = live.lines(term::width());
            for (at, bar) in bars.iter().enumerate() {
                bar.set_message(lines.get(at).cloned().unwrap_or_default());
                bar.tick();
            }
        }
    }

    /// The run is over: what stays is the text.
    pub fn ended(mut self) -> String {
        if let Some((_, bars)) = self.live.take() {
            bars.iter().for_each(ProgressBar::finish_and_clear);
            term::draw(None);
        }
        self.terminal.summary()
    }
}

/// The last line for programs.
pub fn over(telling: &Telling, exit: Exit, halt: Option<&str>) {
    if telling.json {
        term::bytes(format!("{}\n", json!({"event": "over", "exit": exit as u8, "why": halt})).as_bytes());
    }
}

/// What is told in quiet mode, too.
fn is_loud(event: &Event) -> bool {
    match event {
        Event::Began { .. } | Event::Trouble { .. } => true,
        Event::Undone { left, .. } => !left.is_empty(),
        Event::Came(progress) => matches!(
            progress,
            Progress::Waited { .. }
                | Progress::Judged { .. }
                | Progress::RollsBack { .. }
                | Progress::Noted(_)
        ),
        _ => false,
    }
}
