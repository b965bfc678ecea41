//! Drawings of a gate: pairs of runs, changes with their intervals and margins, the figures before and after.
use super::change;
use super::chart::{Sign, axis, drawing, figure, fitting, gutter, key, line, px, table, words};
use super::element::{Element, el};
use super::scale::{Scale, percent};
use crate::gate::Arm;
use crate::gate::decide::Finding;
use crate::gate::distribution::median;
use crate::gate::summary::shown;
use crate::gate::verdict::Judged;
use crate::gate::{Reason, Verdict};
use crate::report::history::{Paired, Points};

const TOP: f64 = 12.0;
const HEIGHT: f64 = 200.0;

/// The pairs of one metric, each joined.
pub fn pairs(id: &str, points: &Points) -> Element {
    let from = points.metric.from.as_str();
    let scale = Scale::over(points.pairs.iter().flat_map(|pair| [pair.without, pair.with]));
    let down = |figure: f64| TOP + (1.0 - scale.share(figure)) * HEIGHT;
    let count = points.pairs.len();
    let better = points.pairs.iter().filter(|pair| better(points, pair)).count();
    let text = format!("{count} pairs; with the change better in {better}.");
    let mut outer =
        gutter(id, (TOP + HEIGHT + 30.0) as u32, &format!("{}: pairs of runs", points.metric.name), &text);
    for tick in scale.ticks(4) {
        outer = outer.with(line(("0", down(tick)), ("100%", down(tick)), "grid"));
        outer = outer.with(words("-8", down(tick) + 4.0, "end", "tick", &shown(from, tick)));
    }
    let every = count.div_ceil(12).max(1);
    for (at, pair) in points.pairs.iter().enumerate() {
        let middle = (at as f64 + 0.5) / count as f64;
        let apart = (0.22 / count as f64).min(0.02);
        // What was measured first stands first.
        let (x, y) = match pair.first {
            Arm::A => (middle - apart, middle + apart),
            Arm::B => (middle + apart, middle - apart),
        };
        let (x, y) = (percent(x), percent(y));
        let join = if pair.control { "join control" } else { "join" };
        outer = outer.with(line((&x, down(pair.without)), (&y, down(pair.with)), join));
        let signs = if pair.control { (Sign::Control, Sign::Control) } else { (Sign::Without, Sign::With) };
        outer = outer.with(signs.0.at(&x, down(pair.without))).with(signs.1.at(&y, down(pair.with)));
        if at % every == 0 {
            let number = (at + 1).to_string();
            outer = outer.with(words(&percent(middle), TOP + HEIGHT + 22.0, "middle", "tick", &number));
        }
    }
    let mut signs = vec![key(Sign::Without, "without the change"), key(Sign::With, "with it")];
    if points.pairs.iter().any(|pair| pair.control) {
        signs.push(key(Sign::Control, "a host that kept as it was"));
    }
    let title = format!("{}, pair by pair", points.metric.name);
    figure(&title, "Within a pair, what was measured first stands first.", signs, outer, pair_table(points))
}

fn better(points: &Points, pair: &Paired) -> bool {
    let direction = points.metric.direction;
    direction.goodness(pair.with) > direction.goodness(pair.without)
}

fn pair_table(points: &Points) -> Element {
    let from = points.metric.from.as_str();
    let rows = points.pairs.iter().enumerate().map(|(at, pair)| {
        let first = if pair.first == Arm::A { "without" } else { "with" };
        vec![
            (at + 1).to_string(),
            pair.host.clone(),
            first.to_owned(),
            shown(from, pair.without),
            shown(from, pair.with),
            change(pair.with / pair.without - 1.0),
        ]
    });
    let head = ["pair", "host", "first", "without", "with", "change"];
    table(&format!("Pairs of {}", points.metric.name), &head, rows)
}

/// The changes of all metrics on one axis: the estimate, its interval, what is accepted, and nothing.
pub fn forest(id: &str, verdict: &Verdict) -> Option<Element> {
    const ROW: f64 = 46.0;
    let judged = &verdict.metrics;
    let known: Vec<(&Judged, f64)> =
        judged.iter().filter_map(|judged| Some((judged, middle(judged)?))).collect();
    if known.is_empty() {
        return None;
    }
    let figures = known.iter().flat_map(|(judged, middle)| {
        let ends = judged.change.map_or([*middle; 2], |change| [change.from, change.to]);
        ends.into_iter().chain([*middle, judged.margin, 0.0])
    });
    let scale = Scale::over(figures);
    let bottom = TOP + ROW * known.len() as f64;
    let told: Vec<String> =
        known.iter().map(|(judged, _)| format!("{}: {}", judged.name, in_words(judged))).collect();
    let mut out =
        drawing(id, (bottom + 26.0) as u32, "Change of each metric", &format!("{}.", told.join("; ")));
    out = out.all(axis(scale, (TOP, bottom), change));
    let zero = scale.across(0.0);
    out = out.with(line((&zero, TOP), (&zero, bottom), "zero"));
    for (at, (judged, middle)) in known.iter().enumerate() {
        let top = TOP + ROW * at as f64;
        let (name, y) = (top + 14.0, top + 31.0);
        out = out.with(words("0", name, "start", "label", &fitting(&judged.name, 40)));
        out = out.with(words("100%", name, "end", "figure", &change(*middle)));
        let margin = scale.across(judged.margin);
        out = out.with(line((&margin, y - 9.0), (&margin, y + 9.0), "margin"));
        if let Some(interval) = judged.change {
            let (from, to) = (scale.across(interval.from), scale.across(interval.to));
            out =
                out.with(line((&from, y), (&to, y), &format!("interval {}", finding_class(verdict, judged))));
        }
        let dot = el("circle").at("cx", scale.across(*middle)).at("cy", px(y)).at("r", "5");
        out = out.with(dot.class(&format!("estimate {}", finding_class(verdict, judged))));
    }
    let signs = vec![
        key(Sign::Estimate, "the change, with the interval that holds over all looks"),
        key(Sign::Margin, "margin: the largest loss that is accepted"),
        key(Sign::Zero, "no change"),
    ];
    Some(figure("Change of each metric", "Beside its margin.", signs, out, judged_table(verdict)))
}

/// Whether every run with the change lies beyond every run without it: that needs no interval.
fn apart(verdict: &Verdict, judged: &Judged) -> bool {
    matches!(&verdict.reason, Reason::Catastrophe { metric, .. } if *metric == judged.name)
}

fn finding_class(verdict: &Verdict, judged: &Judged) -> &'static str {
    match judged.finding {
        Finding::Pass => "good",
        Finding::Regress => "bad",
        Finding::Open if apart(verdict, judged) => "bad",
        Finding::Open | Finding::Lacking => "open",
    }
}

/// The estimate; before the first look the change of the medians.
fn middle(judged: &Judged) -> Option<f64> {
    let medians = || judged.a.zip(judged.b).filter(|(a, _)| *a > 0.0).map(|(a, b)| b / a - 1.0);
    judged.change.map(|change| change.middle).or_else(medians)
}

fn in_words(judged: &Judged) -> String {
    match (judged.change, middle(judged)) {
        (Some(interval), _) => {
            format!("{} ({} to {})", change(interval.middle), change(interval.from), change(interval.to))
        }
        (None, Some(middle)) => format!("{} of the medians", change(middle)),
        (None, None) => "-".to_owned(),
    }
}

/// Each metric in one row.
fn judged_table(verdict: &Verdict) -> Element {
    let rows = verdict.metrics.iter().map(|judged| {
        let finding = match judged.finding {
            Finding::Pass if judged.cost => "pass, at its price",
            Finding::Pass if judged.measurable => "pass, measurable cost",
            Finding::Pass => "pass",
            Finding::Regress => "REGRESS",
            Finding::Open if apart(verdict, judged) => "REGRESS: far apart",
            Finding::Open => "open",
            Finding::Lacking => "cannot be judged",
        };
        let gain = judged.gain.map(|(gain, shown)| {
            format!(", gain of {} {}", change(gain), if shown { "shown" } else { "not shown" })
        });
        let lacks = judged.lacks.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        vec![
            judged.name.clone(),
            in_words(judged),
            change(judged.margin),
            format!("{finding}{}{lacks}", gain.unwrap_or_default()),
        ]
    });
    table("Changes of the metrics", &["metric", "change (interval)", "margin", "finding"], rows)
}

/// The figures of all runs without and with the change: each as a point, their middle half as a box.
pub fn spread(id: &str, points: &Points) -> Option<Element> {
    const ROW: f64 = 56.0;
    let from = points.metric.from.as_str();
    if points.without.is_empty() || points.with.is_empty() {
        return None;
    }
    let scale = Scale::over(points.without.iter().chain(&points.with).copied());
    let bottom = TOP + 2.0 * ROW;
    let text = format!(
        "Median without {}, with {}.",
        shown(from, median(&points.without)),
        shown(from, median(&points.with))
    );
    let title = format!("{}: figures of all runs", points.metric.name);
    let mut out = drawing(id, (bottom + 26.0) as u32, &title, &text);
    out = out.all(axis(scale, (TOP, bottom), |figure| shown(from, figure)));
    let sides = [("without", &points.without, Sign::Without, "a"), ("with", &points.with, Sign::With, "b")];
    for (at, (name, figures, sign, class)) in sides.into_iter().enumerate() {
        let top = TOP + ROW * at as f64;
        let y = top + 34.0;
        let label = format!("{name}: median {} of {} runs", shown(from, median(figures)), figures.len());
        out = out.with(words("0", top + 14.0, "start", "label", &label));
        let (low, middle, high) = quarters(figures);
        let (x, end) = (scale.share(low), scale.share(high));
        out = out.with(
            el("rect")
                .at("x", percent(x))
                .at("y", px(y - 9.0))
                .at("width", percent((end - x).max(0.002)))
                .at("height", "18")
                .class(&format!("box {class}")),
        );
        for (run, figure) in figures.iter().enumerate() {
            // Points that would lie on each other stand beside each other, always in the same way.
            let aside = ((run * 5) % 7) as f64 * 2.0 - 6.0;
            out = out.with(sign.at(&scale.across(*figure), y + aside));
        }
        let middle = scale.across(middle);
        out = out.with(line((&middle, y - 12.0), (&middle, y + 12.0), &format!("median {class}")));
    }
    let title = format!("{}, without and with", points.metric.name);
    let note = "A point is a run, the box the middle half of them, the line their median.";
    Some(figure(&title, note, Vec::new(), out, spread_table(points)))
}

fn spread_table(points: &Points) -> Element {
    let from = points.metric.from.as_str();
    let row = |name: &str, figures: &[f64]| {
        let (low, middle, high) = quarters(figures);
        let least = figures.iter().copied().fold(f64::INFINITY, f64::min);
        let most = figures.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let figures = [least, low, middle, high, most].map(|figure| shown(from, figure));
        std::iter::once(name.to_owned()).chain(figures).collect::<Vec<String>>()
    };
    let rows = [row("without", &points.without), row("with", &points.with)];
    let head = ["runs", "least", "first quarter", "median", "third quarter", "most"];
    table(&format!("Figures of {}", points.metric.name), &head, rows)
}

/// The quarters of some figures, of which there is at least one.
fn quarters(figures: &[f64]) -> (f64, f64, f64) {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let place = share * (sorted.len() - 1) as f64;
        let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
        low + (high - low) * place.fract()
    };
    (at(0.25), at(0.5), at(0.75))
}

#[cfg(test)]
mod tests {
    use super::quarters;

    #[test]
    fn quarters_lie_between_the_figures() {
        assert_eq!(quarters(&[4.0, 1.0, 3.0, 2.0, 5.0]), (2.0, 3.0, 4.0));
        assert_eq!(quarters(&[7.0]), (7.0, 7.0, 7.0));
        assert_eq!(quarters(&[1.0, 2.0]), (1.25, 1.5, 1.75));
    }
}
