//! Play after play: plain plays batch by batch, rollouts wave by wave.
use super::calmly::Calm;
use super::desk::{Answer, Desk};
use super::event::{Told, heard};
use super::guards::{Alive, Guards, Stopped};
use super::halt::Halt;
use super::stage::{Stage, Stages};
use crate::engine::fleet::Fleet;
use crate::engine::links::Links;
use crate::engine::run::{Mark, Part};
use crate::engine::walk::{Gated, Scene};
use crate::inventory::HostId;
use crate::journal::{HostEnd, Journal, JournalError, Record};
use crate::playbook::rollout::{Activate, OnInconclusive};
use crate::report::event::Event;
use crate::report::progress::Progress;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

/// Applies what was planned, in the order of the playbook.
pub async fn conduct(
    fleet: &mut Fleet<'_>,
    scene: &Arc<Scene>,
    links: &Arc<Links>,
    desk: &Desk,
    stages: &Stages,
) -> Conducted {
    let mut conducted = Conducted::default();
    let mut questions = 0;
    for (number, play) in scene.playbook.plays.iter().enumerate() {
        let members = scene.chosen().get(number).map_or(0, Vec::len);
        fleet.tell(Event::Play { name: play.name.clone(), hosts: members });
        let halt = match stages.get(&number) {
            Some(stage) => {
                let mut rolling = Rolling::new(fleet, scene, links, desk, stage, questions);
                let halt = rolling.whole().await.err();
                questions = rolling.questions;
                conducted.guards.extend(rolling.guards.take());
                conducted.guards.extend(rolling.calmed());
                if halt.is_some() {
                    rolling.rest();
                }
                rolling.told_to_command(halt.as_ref()).await;
                halt
            }
            None => {
                for batch in scene.batches(number) {
                    if !scene.is_lost(number, &batch) {
                        fleet.together(number, &batch).await;
                    }
                    if scene.is_lost(number, &batch) {
                        conducted.stopped = true;
                        return conducted;
                    }
                }
                None
            }
        };
        conducted.halt = halt;
        conducted.stopped = fleet.broken().is_some();
        if conducted.halt.is_some() || conducted.stopped {
            return conducted;
        }
        scene.choose_again();
    }
    conducted
}

/// How far a playbook was conducted.
#[derive(Default)]
pub struct Conducted {
    /// Why a rollout ended early, if it did.
    pub halt: Option<Halt>,
    /// Whether so many hosts have failed that the rest was left out.
    pub stopped: bool,
    guards: Vec<Guards>,
}

impl Conducted {
    /// Once all parts of hosts have ended: what guards have set is given back. `open` names hosts whose part ended with
    /// something left. Gives what stays, in words.
    ///
    /// # Errors
    /// [`JournalError`].
    pub async fn give_back(&self, journal: &Journal, open: &[String]) -> Result<Vec<String>, JournalError> {
        let mut stays = Vec::new();
        for guards in &self.guards {
            match guards.end(journal, open).await {
                Ok(words) => stays.extend(words),
                Err(Stopped::Journal(error)) => return Err(error),
                Err(stopped) => stays.push(stopped.diagnostic().message),
            }
        }
        Ok(stays)
    }
}

/// A rollout under way.
pub(super) struct Rolling<'r, 'f> {
    pub fleet: &'r mut Fleet<'f>,
    pub scene: Arc<Scene>,
    pub links: Arc<Links>,
    pub desk: &'r Desk,
    pub stage: &'r Stage,
    /// Where each host stood when its wave began.
    pub marks: BTreeMap<HostId, Mark>,
    /// Where each host stood before what is judged now.
    pub since: BTreeMap<HostId, Mark>,
    /// The part of the play that is judged now; none for the whole play.
    pub part: Option<u32>,
    /// Whether hosts are booted where a change is felt only then: its gate said so.
    pub boots: bool,
    /// Hosts of which something is down for a while.
    pub down: HashSet<HostId>,
    /// Hosts that were begun.
    pub begun: Vec<HostId>,
    /// The hosts of the wave under way.
    pub wave: Vec<HostId>,
    /// Hosts that have failed, and hosts that could not be reached.
    pub failures: u32,
    pub unreachable: u32,
    /// The gates over parts of the play, as the canaries met them.
    pub gates: Vec<Gated>,
    /// What the gate of the canaries has found, for what comes after.
    pub judged: Option<super::gating::Found>,
    /// What stands around hosts that go down, once it is needed.
    pub guards: Option<Guards>,
    /// Keeps what guards have set alive.
    pub alive: Option<Alive>,
    /// The clusters of the gate that is under way.
    pub calm: Option<Calm>,
    /// The guards of gates that are over.
    pub over: Vec<Guards>,
    questions: usize,
}

impl<'r, 'f> Rolling<'r, 'f> {
    fn new(
        fleet: &'r mut Fleet<'f>,
        scene: &Arc<Scene>,
        links: &Arc<Links>,
        desk: &'r Desk,
        stage: &'r Stage,
        questions: usize,
    ) -> Self {
        Self {
            fleet,
            scene: Arc::clone(scene),
            links: Arc::clone(links),
            desk,
            stage,
            marks: BTreeMap::new(),
            since: BTreeMap::new(),
            part: None,
            boots: false,
            down: HashSet::new(),
            begun: Vec::new(),
            wave: Vec::new(),
            failures: 0,
            unreachable: 0,
            gates: Vec::new(),
            judged: None,
            guards: None,
            alive: None,
            calm: None,
            over: Vec::new(),
            questions,
        }
    }

    async fn whole(&mut self) -> Result<(), Halt> {
        let stage = self.stage;
        let order = &stage.order;
        for (number, wave) in order.waves.iter().enumerate() {
            let hosts: Vec<HostId> =
                wave.hosts.iter().copied().filter(|host| !self.has_left(*host)).collect();
            if hosts.is_empty() {
                continue;
            }
            if let Some(question) = &wave.pause {
                self.pause(question).await?;
            }
            self.in_window()?;
            self.may_go_on().await?;
            self.tell(Progress::WaveBegan {
                number: number + 1,
                of: order.waves.len(),
                hosts: Stage::names(&self.scene, &hosts),
            });
            self.enter(&hosts);
            let title = self.title();
            match (&stage.gate, number) {
                (Some(gate), 0) => self.gate(&hosts, wave.max_down, gate, &title).await?,
                (Some(gate), _) => self.later(&hosts, wave.max_down, gate, number).await?,
                (None, 0) if !self.stage.parts.is_empty() => self.parts(&hosts, wave.max_down).await?,
                (None, _) => match self.gates.last().cloned() {
                    Some(gated) => self.later(&hosts, wave.max_down, &gated.gate, number).await?,
                    None => self.forward(&hosts, wave.max_down).await?,
                },
            }
            if let Some(soak) = wave.soak.filter(|_| number + 1 < order.waves.len()) {
                self.soak(soak).await;
            }
        }
        if !order.left_out.is_empty() {
            let names = Stage::names(&self.scene, &order.left_out).join(", ");
            self.tell(Progress::Noted(format!("the waves do not reach {names}: left as it is")));
            order.left_out.iter().for_each(|host| self.fleet.end_part(*host, HostEnd::Waiting));
        }
        self.spot_check().await
    }

    /// The hosts of a wave begin: where they stand is what they may go back to.
    fn enter(&mut self, hosts: &[HostId]) {
        self.fleet.enter(hosts);
        self.feel(hosts);
        self.wave = hosts.to_vec();
        for host in hosts {
            if let Some(run) = self.fleet.part(*host) {
                run.stays_open = true;
                self.marks.insert(*host, run.mark());
            }
            self.begun.push(*host);
        }
    }

    /// Whether what hosts are told is felt in their turn, or written and owed.
    pub fn feel(&mut self, hosts: &[HostId]) {
        let open = self.stage.window.as_ref().is_none_or(|window| window.is_open((self.desk.now)()));
        let activate = self.stage.rollout.activate;
        let later = activate == Activate::Later || (activate == Activate::Window && !open);
        self.boots |= activate == Activate::Window;
        for host in hosts {
            if let Some(run) = self.fleet.part(*host) {
                run.felt_later = later;
            }
        }
    }

    /// What is judged now.
    pub fn of(&self) -> Part {
        Part { play: self.stage.play, part: self.part }
    }

    /// What people call the play.
    pub fn title(&self) -> String {
        self.scene.playbook.plays[self.stage.play].name.clone()
    }

    /// The canaries of a play with gates over its parts: each part is judged before the next begins.
    async fn parts(&mut self, hosts: &[HostId], max_down: usize) -> Result<(), Halt> {
        for host in hosts {
            if let Some(run) = self.fleet.part(*host)
                && let Ok(gates) = run.gates(self.stage.play).await
                && self.gates.is_empty()
            {
                self.gates = gates;
            }
        }
        for gated in self.gates.clone() {
            self.reach(hosts, Some(gated.part - 1));
            self.forward(hosts, max_down).await?;
            self.part = Some(gated.part);
            self.reach(hosts, Some(gated.part));
            self.gate(hosts, max_down, &gated.gate, &gated.title).await?;
            self.part = None;
        }
        self.reach(hosts, None);
        self.forward(hosts, max_down).await
    }

    /// How far hosts are taken for now.
    fn reach(&mut self, hosts: &[HostId], until: Option<u32>) {
        for host in hosts {
            if let Some(run) = self.fleet.part(*host) {
                run.until = until;
            }
        }
    }

    /// Hosts that were not begun wait.
    fn rest(&mut self) {
        let rest: Vec<HostId> =
            self.fleet.hosts().into_iter().filter(|host| !self.begun.contains(host)).collect();
        let of_play: Vec<HostId> =
            self.stage.order.waves.iter().flat_map(|wave| wave.hosts.clone()).collect();
        for host in rest.into_iter().filter(|host| of_play.contains(host)) {
            self.fleet.end_part(host, HostEnd::Waiting);
        }
    }

    /// Whether a host has failed or cannot be reached.
    pub fn has_left(&self, host: HostId) -> bool {
        let name = self.scene.inventory().host_name(host).to_owned();
        self.scene.has_left(&name)
    }

    pub fn tell(&self, progress: Progress) {
        self.fleet.tell(Event::Came(progress));
    }

    /// The playbook's own command hears what became of the rollout.
    async fn told_to_command(&self, halt: Option<&Halt>) {
        let told = Told::of(halt, &self.desk.run, &self.title());
        if let Some(why) = heard(&self.stage.rollout.on_event, &told).await {
            self.tell(Progress::Noted(format!("the command of `on_event` failed: {why}")));
        }
    }

    /// Records who decided what.
    pub async fn decided(&self, what: String, by: &str) -> Result<(), Halt> {
        let record = Record::Decided { what, by: by.to_owned() };
        self.fleet.journal.decide(record).await.map_err(|error| Halt::Held { why: error.to_string() })
    }

    /// Nothing goes forward outside of the window, unless the window is only about what is felt. What was begun was
    /// finished.
    pub fn in_window(&self) -> Result<(), Halt> {
        match &self.stage.window {
            _ if self.stage.rollout.activate == Activate::Window => Ok(()),
            Some(window) if !window.is_open((self.desk.now)()) => Err(Halt::Held {
                why: "the window is over; `tunerun resume last` goes on in the next one".to_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// Nothing more is begun once a person has stopped the run; while one is asked, it waits.
    pub async fn may_go_on(&self) -> Result<(), Halt> {
        match self.scene.stopping().stops().await {
            true => Err(Halt::Held { why: "a person has stopped it".to_owned() }),
            false => Ok(()),
        }
    }

    async fn pause(&mut self, question: &str) -> Result<(), Halt> {
        self.questions += 1;
        if !self.desk.attended {
            let on =
                format!("a person's word: {question} (`tunerun approve {}`, or `--deny`)", self.desk.run);
            self.tell(Progress::Waited { on });
        }
        let answer = self.desk.wait(self.questions, question).await;
        let word = if answer == Answer::Yes { "yes" } else { "no" };
        self.decided(format!("{question} {word}"), "a person").await?;
        match answer {
            Answer::Yes => Ok(()),
            Answer::No => Err(Halt::Held { why: format!("a person said no: {question}") }),
        }
    }

    async fn soak(&self, soak: Duration) {
        self.tell(Progress::Waited {
            on: format!("{}: the wave is watched", crate::report::progress::time(soak)),
        });
        tokio::select! {
            () = tokio::time::sleep(soak) => {}
            () = self.scene.stopping().stopped() => {}
        }
    }

    /// What becomes of no answer: unattended it goes back, at a terminal it waits.
    pub fn on_inconclusive(&self) -> OnInconclusive {
        let unsaid = if self.desk.attended { OnInconclusive::Hold } else { OnInconclusive::Run };
        self.stage.rollout.on_inconclusive.unwrap_or(unsaid)
    }
}
