//! Tables of what was tried: changes in combinations, values in turn.
use crate::gate::Metric;
use crate::gate::distribution::mean;
use crate::gate::summary::shown;
use crate::trials::Effect;
use crate::trials::sweep::Swept;
use std::fmt::Write;

/// What one change is worth, for one metric.
pub struct Worth<'a> {
    /// The change.
    pub title: &'a str,
    /// Its effect.
    pub effect: Effect,
}

/// An effect as a relative change of the figure with its interval, smaller end first.
pub fn change(metric: &Metric, effect: Effect) -> String {
    let percent = |difference: f64| match difference.is_finite() {
        true => format!("{:+.1}", metric.direction.relative(difference) * 100.0),
        false => "?".to_owned(),
    };
    let (mut from, mut to) = (effect.from(), effect.to());
    if metric.direction.relative(from) > metric.direction.relative(to) {
        std::mem::swap(&mut from, &mut to);
    }
    format!("{} % [{}, {}]", percent(effect.middle), percent(from), percent(to))
}

/// The effects of all changes on one metric, largest first.
pub fn effects(metric: &Metric, mut all: Vec<Worth<'_>>) -> String {
    all.sort_by(|one, other| other.effect.middle.total_cmp(&one.effect.middle));
    let word = |effect: Effect| match (effect.helps(), effect.harms()) {
        (true, _) => "helps",
        (_, true) => "harms",
        _ => "nothing shown",
    };
    let head = [metric.name.clone(), "its effect".to_owned(), String::new()];
    let rows = all
        .iter()
        .map(|worth| [worth.title.to_owned(), change(metric, worth.effect), word(worth.effect).to_owned()]);
    table(std::iter::once(head).chain(rows).collect())
}

/// What each value of a sweep gave for one metric. `rounds` holds the goodness of every value, round by round.
pub fn swept(metric: &Metric, values: &[String], rounds: &[Vec<f64>], swept: &Swept) -> String {
    let head = [metric.name.as_str(), "on average", "beside the first", ""].map(str::to_owned);
    let rows = values.iter().enumerate().map(|(at, value)| {
        let figure = metric.direction.figure(mean(&rounds.iter().map(|round| round[at]).collect::<Vec<_>>()));
        let beside = match at {
            0 => "-".to_owned(),
            _ => change(metric, swept.beside_first[at]),
        };
        let word = match at {
            best if best == swept.best => "best",
            _ if swept.beside_best[at].harms() => "",
            _ => "not told apart from the best",
        };
        [value.clone(), shown(&metric.from, figure), beside, word.to_owned()]
    });
    table(std::iter::once(head).chain(rows).collect())
}

fn table<const N: usize>(rows: Vec<[String; N]>) -> String {
    let mut text = String::new();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(width).collect();
    for row in &rows {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        let _ = writeln!(text, "  {}", cells.join("  ").trim_end());
    }
    text
}
