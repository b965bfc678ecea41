//! What a run is doing now, in a line or two that are drawn again and again. A fold over events. Pure.
use super::event::Event;
use super::progress::Progress;
use crate::gate::so_far::SoFar;
use crate::gate::{Arm, Outcome};
use std::collections::BTreeSet;

/// So many samples of an arm are drawn.
const DRAWN: usize = 24;

/// A gate that is under way.
#[derive(Clone, Debug, Default)]
struct Gate {
    change: String,
    /// The first figure of each run that counts.
    samples: Vec<(Arm, f64)>,
    so_far: Vec<SoFar>,
}

/// A run as it stands.
#[derive(Clone, Debug, Default)]
pub struct Live {
    play: String,
    hosts: usize,
    wave: Option<(usize, usize)>,
    /// Hosts with a batch under way, and what was last told of each.
    acting: BTreeSet<String>,
    ended: usize,
    last: Option<String>,
    gate: Option<Gate>,
}

impl Live {
    /// Takes an event.
    pub fn take(&mut self, event: &Event) {
        match event {
            Event::Play { name, hosts } => {
                (self.play, self.hosts) = (name.clone(), *hosts);
                (self.wave, self.last, self.gate) = (None, None, None);
            }
            Event::Acting { host, .. } => drop(self.acting.insert(host.clone())),
            Event::Task { host, title, .. } => {
                self.acting.remove(host);
                self.last = Some(format!("{host}: {title}"));
            }
            Event::HostEnded { host, .. } => {
                self.acting.remove(host);
                self.ended += 1;
            }
            Event::Came(progress) => self.came(progress),
            _ => {}
        }
    }

    fn came(&mut self, progress: &Progress) {
        match progress {
            Progress::WaveBegan { number, of, .. } => self.wave = Some((*number, *of)),
            Progress::GateBegan { change, .. } => {
                self.gate = Some(Gate { change: change.clone(), ..Gate::default() });
            }
            Progress::Measured { arm, numbers, fault: None, .. } => {
                if let (Some(gate), Some((_, number))) = (&mut self.gate, numbers.first()) {
                    gate.samples.push((*arm, *number));
                }
            }
            Progress::SoFar(so_far) => {
                if let Some(gate) = &mut self.gate {
                    gate.so_far.clone_from(so_far);
                }
            }
            Progress::Judged {
                outcome: Outcome::Pass | Outcome::Regress | Outcome::Inconclusive, ..
            } => {
                self.gate = None;
            }
            _ => {}
        }
    }

    /// The lines, each at most `width` characters.
    pub fn lines(&self, width: usize) -> Vec<String> {
        let mut parts = Vec::new();
        if !self.play.is_empty() {
            parts.push(self.play.clone());
        }
        parts.extend(self.wave.map(|(number, of)| format!("wave {number} of {of}")));
        match self.acting.len() {
            0 => {}
            1..=3 => {
                parts.push(format!("at work: {}", self.acting.iter().cloned().collect::<Vec<_>>().join(", ")))
            }
            many => parts.push(format!("{many} hosts at work")),
        }
        if self.ended > 0 {
            parts.push(format!("{} of {} hosts done", self.ended, self.hosts.max(self.ended)));
        }
        parts.extend(self.last.clone());
        let mut lines = vec![parts.join(" · ")];
        lines.extend(self.gate.iter().flat_map(Gate::lines));
        lines.into_iter().filter(|line| !line.is_empty()).map(|line| cut(&line, width)).collect()
    }
}

impl Gate {
    fn lines(&self) -> Vec<String> {
        let of = |arm: Arm| -> Vec<f64> {
            let all: Vec<f64> =
                self.samples.iter().filter(|(other, _)| *other == arm).map(|(_, number)| *number).collect();
            all[all.len().saturating_sub(DRAWN)..].to_vec()
        };
        let (without, with) = (of(Arm::A), of(Arm::B));
        let ends = without.iter().chain(&with).fold(None, |ends: Option<(f64, f64)>, x| match ends {
            None => Some((*x, *x)),
            Some((low, high)) => Some((low.min(*x), high.max(*x))),
        });
        let mut lines = Vec::new();
        if let Some(ends) = ends {
            lines.push(format!(
                "gate {}: without {} with {}",
                self.change,
                spark(&without, ends),
                spark(&with, ends)
            ));
        }
        lines.extend(self.so_far.iter().map(closing));
        lines
    }
}

/// Figures as bars between the lowest and the highest of both arms.
fn spark(figures: &[f64], (low, high): (f64, f64)) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let bar = |figure: &f64| {
        let share = if high > low { (figure - low) / (high - low) } else { 0.5 };
        BARS[((share * 7.0).round().clamp(0.0, 7.0)) as usize]
    };
    figures.iter().map(bar).collect()
}

/// The interval on an axis from twice the margin below zero to as much above: `|` is the margin, `0` no change.
fn closing(so_far: &SoFar) -> String {
    const WIDTH: usize = 33;
    let reach = 2.0 * so_far.margin.max(0.01);
    let place = |share: f64| {
        let at = (share + reach) / (2.0 * reach) * (WIDTH - 1) as f64;
        at.round().clamp(0.0, (WIDTH - 1) as f64) as usize
    };
    let mut axis = vec![' '; WIDTH];
    let (from, to) = (place(so_far.from), place(so_far.to));
    axis[from..=to].fill('-');
    axis[place(-so_far.margin)] = '|';
    axis[place(0.0)] = '0';
    axis[from] = '[';
    axis[to] = ']';
    axis[place(so_far.change)] = 'o';
    let axis: String = axis.into_iter().collect();
    format!(
        "  {} {}{:.1} % so far ({} of {} pairs)",
        axis.trim_end(),
        if so_far.change >= 0.0 { "+" } else { "" },
        so_far.change * 100.0,
        so_far.pairs,
        so_far.most
    )
}

fn cut(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    line.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::event::TaskEnd;

    fn measured(arm: Arm, figure: f64) -> Event {
        let numbers = vec![("rate".to_owned(), figure)];
        Event::Came(Progress::Measured {
            host: "a".into(),
            run: 1,
            arm,
            figures: Vec::new(),
            numbers,
            fault: None,
        })
    }

    #[test]
    fn it_tells_where_a_run_is() {
        let mut live = Live::default();
        assert_eq!(live.lines(80), Vec::<String>::new());
        live.take(&Event::Play { name: "tune".into(), hosts: 40 });
        live.take(&Event::Came(Progress::WaveBegan { number: 2, of: 4, hosts: vec!["a".into()] }));
        live.take(&Event::Acting { host: "a".into(), steps: 3 });
        assert_eq!(live.lines(80), ["tune · wave 2 of 4 · at work: a"]);
        let end = TaskEnd::Changed;
        live.take(&Event::Task { host: "a".into(), title: "sysctl".into(), label: None, end });
        assert_eq!(live.lines(80), ["tune · wave 2 of 4 · a: sysctl"]);
        assert_eq!(live.lines(12), ["tune · wave…"]);
    }

    #[test]
    fn a_gate_is_drawn_with_its_interval() {
        let mut live = Live::default();
        let (least, most) = (std::time::Duration::ZERO, std::time::Duration::ZERO);
        live.take(&Event::Came(Progress::GateBegan {
            change: "tune".into(),
            design: String::new(),
            least,
            most,
        }));
        for (arm, figure) in [(Arm::A, 100.0), (Arm::B, 200.0), (Arm::B, 150.0), (Arm::A, 100.0)] {
            live.take(&measured(arm, figure));
        }
        assert_eq!(live.lines(80), ["gate tune: without ▁▁ with █▅"]);
        let so_far = SoFar {
            metric: "rate".into(),
            pairs: 3,
            most: 24,
            change: 0.01,
            from: -0.02,
            to: 0.04,
            margin: 0.05,
        };
        live.take(&Event::Came(Progress::SoFar(vec![so_far])));
        assert_eq!(live.lines(99)[1], "          |    [--0-o---] +1.0 % so far (3 of 24 pairs)");
    }
}
