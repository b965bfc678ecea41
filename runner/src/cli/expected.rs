//! How long a play will take, as far as earlier runs tell.
use super::play::Play;
use super::term;
use tunerun::journal::Store;
use tunerun::report::progress::{span, time};

impl Play {
    /// Tells how long it will take, where earlier runs of the playbook say so and that is long.
    pub(super) fn expected(&self) {
        const RUNS: usize = 5;
        let dir = std::env::current_dir().unwrap_or_default().display().to_string();
        let playbook = self.playbook.display().to_string();
        let mut took = Store::new(self.links.runs()).took(&playbook, &dir, RUNS);
        took.sort();
        let Some(middle) = took.get(took.len() / 2).filter(|middle| middle.as_secs() >= 10) else { return };
        let runs = if took.len() == 1 {
            "the last run took".to_owned()
        } else {
            format!("the last {} runs took", took.len())
        };
        let times = span(took[0], took[took.len() - 1]);
        let times = times.trim_start_matches("about ");
        term::say(&format!("expected: about {}; {runs} {times}", time(*middle)));
    }
}
