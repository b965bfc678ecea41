//! Later waves: measured before and after beside hosts that are not changed yet; and a last look whether the effect is
//! the change's.
use super::conduct::Rolling;
use super::gating::changing;
use super::halt::Halt;
use super::stage::Stage;
use crate::gate::spotcheck::{SpotCheck, spot_check};
use crate::gate::{Arm, Figure, Outcome, Run, RunEnd, Toggle, Wanted};
use crate::inventory::HostId;
use crate::playbook::rollout::Gate;
use crate::report::progress::Progress;
use crate::yaml::Node;

/// So many hosts of a wave are measured; the others are changed with them.
const SAMPLE: usize = 4;

impl Rolling<'_, '_> {
    /// One later wave. The evidence is the canaries'; here a loss that shows ends it, and missing figures.
    pub async fn later(
        &mut self,
        hosts: &[HostId],
        max_down: usize,
        node: &Node,
        number: usize,
    ) -> Result<(), Halt> {
        let asked = self.asked(hosts).await;
        let changing = changing(hosts, &asked);
        let sample: Vec<HostId> = changing.iter().copied().take(SAMPLE).collect();
        let controls = self.unchanged(number, sample.len()).await;
        if controls.is_empty() || sample.is_empty() {
            let why = match sample.is_empty() {
                true => {
                    format!("{} is as the play says already", Stage::names(&self.scene, hosts).join(", "))
                }
                false => "no host is left to compare with; the canaries were judged".to_owned(),
            };
            self.tell(Progress::NothingToJudge { why });
            return self.forward(hosts, max_down).await;
        }
        let beside = |gate: &Gate| Gate { toggle: Toggle::None, max_pairs: None, ..gate.clone() };
        self.mark(&sample);
        let title = self.title();
        let mut bed = match self.bed(node, (&sample, &controls), max_down, &title, beside) {
            Ok(bed) => bed,
            Err(problems) => return Err(self.wrong(problems)),
        };
        self.begin(&mut bed, u32::try_from(number).unwrap_or(u32::MAX)).await?;
        self.calm(&mut bed).await?;
        let verdict = self.experiment(&mut bed).await?;
        self.answered(&bed, &verdict).await?;
        if !self.keeps(&verdict) {
            let why =
                format!("{} {}: {}", bed.experiment.change, verdict.outcome.word(), verdict.reason.text());
            return self.goes_back(&mut bed, verdict.outcome, why).await;
        }
        self.at_ease().await?;
        let rest: Vec<HostId> = hosts.iter().copied().filter(|host| !sample.contains(host)).collect();
        self.forward(&rest, max_down).await
    }

    /// Hosts of later waves that ask for the change still.
    async fn unchanged(&mut self, number: usize, most: usize) -> Vec<HostId> {
        let later = self.stage.order.waves.iter().skip(number + 1).flat_map(|wave| wave.hosts.iter().rev());
        let free: Vec<HostId> = later.copied().filter(|host| !self.has_left(*host)).take(most).collect();
        self.fleet.enter(&free);
        let asked = self.asked(&free).await;
        changing(&free, &asked)
    }

    /// After the last wave: B A B A on one canary. The effect must come and go with the change.
    pub async fn spot_check(&mut self) -> Result<(), Halt> {
        let Some(found) = self.judged.take() else { return Ok(()) };
        let waves = self.stage.order.waves.len();
        let mut bed = found.bed;
        // Later waves have marks of their own.
        self.since = found.since;
        let estimate =
            found.verdict.looks.iter().rev().find(|look| look.metric == 0).map(|look| look.estimate);
        let (Some(estimate), Some(host)) = (estimate, bed.changed().first().copied()) else { return Ok(()) };
        if waves < 2 || bed.experiment.toggle != Toggle::Runtime || found.verdict.outcome != Outcome::Pass {
            return Ok(());
        }
        let Some(name) =
            bed.subjects.iter().find(|subject| subject.host == host).map(|subject| subject.name.clone())
        else {
            return Ok(());
        };
        bed.experiment.id.push_str("-spot-check");
        let made = bed.runs.len();
        for (slot, arm) in [Arm::B, Arm::A, Arm::B, Arm::A].into_iter().enumerate() {
            let wanted = [Wanted { host: name.clone(), slot: slot as u32, arm, repeat: false }];
            self.put(&mut bed, &[(host, arm)].into()).await?;
            self.measure(&mut bed, &wanted).await?;
        }
        self.put(&mut bed, &[(host, Arm::B)].into()).await?;
        let metric = &bed.experiment.metrics[0];
        let goodness: Vec<f64> = bed.runs[made..]
            .iter()
            .filter_map(|run| metric.direction.goodness(number(run, &metric.from)?))
            .collect();
        let words = match <[f64; 4]>::try_from(goodness).map(|runs| spot_check(runs, &estimate)) {
            Ok(SpotCheck::Confirmed) => "spot check: the effect comes and goes with the change",
            Ok(SpotCheck::TooSmall) => "spot check: the effect is too small for two pairs to tell",
            Ok(SpotCheck::Contradicted) => {
                "spot check: NOT CONFIRMED: the effect of the canaries does not come and go with the change now"
            }
            Err(_) => "spot check: it could not be measured",
        };
        self.tell(Progress::Noted(format!("{words} ({} on {name})", metric.name)));
        self.decided(words.to_owned(), "the gate").await
    }
}

fn number(run: &Run, from: &str) -> Option<f64> {
    match &run.end {
        RunEnd::Measured { figures } => match figures.get(from) {
            Some(Figure::Number(number)) => Some(*number),
            _ => None,
        },
        RunEnd::Failed(_) => None,
    }
}
