//! `tunerun play`: plan, show, ask, apply, prove.
use super::bench;
use super::continuing::{GOES_ON, interrupted_back};
use super::ends::{none_begins, unreached, worse};
use super::exit::Exit;
use super::gather::{self, Steering};
use super::interrupt::{AskedBack, Interrupt};
use super::listing::list_hosts;
use super::load;
use super::noted::NOTED;
use super::options::{HostOptions, LinkOptions, home, user};
use super::prompting::Prompting;
use super::purpose::{Plans, Purpose};
use super::rolling::{self, Conducted};
use super::screen::{Screen, Telling, over};
use super::shape::Shape;
use super::term;
use clap::Args;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use tokio::sync::mpsc;
use tunerun::engine::doubles::doubles;
use tunerun::engine::fleet::{Fleet, Planning, plan_all, union};
use tunerun::engine::links::Links;
use tunerun::engine::run::{Consent, Events, HostError, HostRun};
use tunerun::engine::target::HostState;
use tunerun::engine::walk::{Planned, Scene, Walked};
use tunerun::inventory::HostId;
use tunerun::journal::{Journal, Record, Store};
use tunerun::plan::Origin;
use tunerun::playbook::Loader;
use tunerun::report::event::Event;
use tunerun::report::plan::{Sum, fleet};
use tunerun::rollout::{Profiles, Stages};
use tunerun::transport::endpoint::Defaults;

/// Plans a playbook for its hosts, shows the plan, asks, applies it and proves it.
///
/// What a task asks for and what is there are compared first, for all hosts; nothing is written before that is shown
/// and confirmed. Where a batch of steps fails on a host, that batch is taken back there.
#[derive(Args, Clone, Debug, Default)]
#[command(after_help = "Examples:
  tunerun play site.yaml -i prod --check --diff     what would change, with diffs; changes nothing
  tunerun play site.yaml -i prod --limit osd1       one host first
  tunerun play site.yaml -i prod --yes              without the question, for CI")]
pub struct Play {
    /// The playbook
    pub playbook: PathBuf,
    #[command(flatten)]
    pub hosts: HostOptions,
    #[command(flatten)]
    pub links: LinkOptions,
    #[command(flatten)]
    pub telling: Telling,
    /// Only plan and show; change nothing
    #[arg(short = 'C', long)]
    pub check: bool,
    /// Show what changes line by line
    #[arg(short = 'D', long)]
    pub diff: bool,
    /// Only tasks with one of these tags
    #[arg(short, long, value_delimiter = ',')]
    pub tags: Vec<String>,
    /// No tasks with one of these tags
    #[arg(long, value_delimiter = ',')]
    pub skip_tags: Vec<String>,
    /// Begin at the task with this name
    #[arg(long, value_name = "NAME")]
    pub start_at_task: Option<String>,
    /// Apply without asking
    #[arg(short, long)]
    pub yes: bool,
    /// Plan and ask here, then let the run go on by itself: see `tunerun attach`
    #[arg(long, conflicts_with = "check")]
    pub detach: bool,
    /// Ask before each host; hosts go one after another
    #[arg(long)]
    pub step: bool,
    /// Go on though some hosts cannot be reached while planning
    #[arg(long)]
    pub allow_partial: bool,
    /// Run no commands while planning, not even those that only read
    #[arg(long)]
    pub no_probes: bool,
    /// End with code 10 where changes are planned (with --check)
    #[arg(long)]
    pub detailed_exitcode: bool,
    /// Go on on hosts where this earlier run was left open
    #[arg(long, value_name = "RUN")]
    pub over: Vec<String>,
    /// List the tasks and end
    #[arg(long)]
    pub list_tasks: bool,
    /// List the hosts of each play and end
    #[arg(long)]
    pub list_hosts: bool,
    /// List the tags and end
    #[arg(long)]
    pub list_tags: bool,
    /// What the plan is for.
    #[arg(skip)]
    pub purpose: Purpose,
    /// Whether all of the playbook is played as it is written.
    #[arg(skip)]
    pub shape: Shape,
    /// The run's name, once it has begun, for whoever called.
    #[arg(skip)]
    pub name: Arc<OnceLock<String>>,
    /// Whether a person asked for all to go back.
    #[arg(skip)]
    pub asked_back: AskedBack,
    /// What was decided before the run began, and by whom: it is recorded with it.
    #[arg(skip)]
    pub decided: Vec<(String, String)>,
}

impl Play {
    /// Runs it.
    pub fn run(mut self) -> Exit {
        if self.telling.json {
            term::data_is_for_programs();
        }
        if std::mem::take(&mut self.detach) {
            return self.detached();
        }
        self.with(gather::loader())
    }

    /// Runs it with a loader of its own.
    pub(super) fn with(self, loader: Loader<'static>) -> Exit {
        let dir = gather::folder(&self.playbook);
        let loaded = gather::playbook(&loader, &self.playbook);
        let hosts = load::hosts(&self.hosts, Some(&dir));
        let (mut playbook, hosts) = match (loaded, hosts) {
            (Ok(playbook), Ok(hosts)) => (playbook, hosts),
            (Err(exit), _) | (_, Err(exit)) => return exit,
        };
        self.shape.of(&mut playbook);
        if self.list_tasks || self.list_tags {
            return self.list(&playbook);
        }
        let steering = Steering {
            tags: self.tags.clone(),
            skip_tags: self.skip_tags.clone(),
            start: self.start_at_task.clone(),
            limit: self.hosts.limit.clone(),
            check: self.check && !self.purpose.is_for_later(),
            diff: self.diff,
            no_probes: self.no_probes,
            declared_only: self.purpose.is_for_later(),
            step: self.step,
        };
        let asked = hosts.asked.clone();
        let made_from = hosts.world.origins();
        let scene = match gather::scene(&self.playbook, loader, playbook, hosts, steering) {
            Ok(scene) => Arc::new(scene),
            Err(exit) => return exit,
        };
        if self.list_hosts {
            return list_hosts(&scene);
        }
        let stages = match self.staged(&scene) {
            Ok(stages) => Arc::new(stages),
            Err(exit) => return exit,
        };
        if self.acts()
            && (!self.yes || self.step)
            && !term::can_ask()
            && !matches!(self.purpose, Purpose::Task(_))
        {
            nobody();
            return Exit::Declined;
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        match runtime {
            Ok(runtime) => {
                let (name, back) = (Arc::clone(&self.name), Arc::clone(&self.asked_back));
                let (hosts, links) = (self.hosts.clone(), self.links.clone());
                let exit = runtime.block_on(self.with_links(scene, stages, asked, made_from));
                drop(runtime);
                match (back.get(), name.get()) {
                    (Some(()), Some(run)) => interrupted_back(run, &hosts, &links),
                    _ => exit,
                }
            }
            Err(why) => {
                term::wrong(format!("the runtime did not start: {why}"), None);
                Exit::Failed
            }
        }
    }

    /// The hosts that the run may meet: those of its plays, and where a gate measures, whoever loads or answers.
    fn met(scene: &Scene, stages: &Stages) -> Vec<HostId> {
        match stages.values().any(|stage| !stage.gates().is_empty()) {
            true => scene.inventory().hosts().collect(),
            false => union(scene),
        }
    }

    async fn with_links(
        self,
        scene: Arc<Scene>,
        stages: Arc<Stages>,
        asked: Vec<String>,
        made_from: Vec<Origin>,
    ) -> Exit {
        let (connection, becoming) = self.links.clone().ask();
        let agent = std::env::var_os("SSH_AUTH_SOCK").map(PathBuf::from);
        let defaults = Defaults::new(home(), user(), agent);
        let lab = match super::rehearsal::lab(&scene, &Self::met(&scene, &stages)).await {
            Ok(lab) => lab,
            Err(exit) => return exit,
        };
        let links = Arc::new(
            Links::new(defaults, Arc::new(Prompting { connection }), lab, becoming)
                .with_forks(usize::from(self.links.forks)),
        );
        let (events, mut received) = mpsc::unbounded_channel();
        let telling = self.telling.clone();
        let told = tokio::spawn(async move {
            // Planning tells nothing: the picture begins with the run.
            let mut screen: Option<Screen> = None;
            while let Some(event) = received.recv().await {
                screen.get_or_insert_with(|| Screen::new(&telling)).take(&event);
            }
            screen
        });
        let telling = self.telling.clone();
        let conducted = self.conduct(scene, stages, links, events, asked, made_from).await;
        if let Ok(Some(screen)) = told.await {
            term::data(&screen.ended());
        }
        conducted.halt.iter().for_each(|words| term::data(words));
        over(&telling, conducted.exit, conducted.halt.as_deref());
        conducted.exit
    }

    /// Plans all hosts, shows and asks, then applies play by play.
    async fn conduct(
        &self,
        scene: Arc<Scene>,
        stages: Arc<Stages>,
        links: Arc<Links>,
        events: Events,
        asked: Vec<String>,
        mut made_from: Vec<Origin>,
    ) -> Conducted {
        let host = |id| {
            let name = scene.inventory().host_name(id).to_owned();
            let state = HostState::new(&name, id);
            let ask = Arc::new(|question: &str| term::ask_in_turn(question));
            let mut run = HostRun::new(Arc::clone(&scene), Arc::clone(&links), events.clone(), ask, state);
            run.review = self.purpose.review(&name);
            run.consent = self.consent(&[]);
            run
        };
        if let Purpose::Bench(asked) = &self.purpose {
            let profiles = Profiles::beside(&self.links.runs());
            return bench::measured((asked, &profiles), &scene, &links, &stages, &host).await.into();
        }
        let Planning { planned, unreachable, broken } = plan_all(&scene, &host).await;
        for why in broken {
            term::wrong(why, None);
        }
        let unreachable: Vec<_> =
            unreachable.into_iter().filter(|(host, _)| self.purpose.is_about(host)).collect();
        if let Some(exit) = self.doubled(&scene, &links, &planned) {
            return exit.into();
        }
        if let Some(exit) = self.foreseen(&scene, &stages, &planned, &unreachable) {
            return exit.into();
        }
        made_from.extend(NOTED.origins());
        self.look_up(&mut made_from);
        let planned = match self.judged(&scene, planned, &unreachable, &made_from) {
            Ok(planned) => planned,
            Err(exit) => return exit.into(),
        };
        let agreed = planned.into_iter().map(|(mut run, walked)| {
            run.consent = self.consent(&walked.planned);
            (run, walked)
        });
        let planned: Plans = agreed.collect();
        if let Some(ends) = none_begins(&planned) {
            // Nothing to record, and nothing that could be undone.
            planned.iter().zip(&ends).for_each(|((run, _), end)| run.stays_out(*end));
            term::say("no host can begin, so nothing was changed, and there is no run to undo");
            return unreached(ends.into_iter().fold(Exit::Done, worse), &unreachable).into();
        }
        let store = Store::new(self.links.runs());
        let journal = match self.begin(&store, asked, made_from).await {
            Ok(journal) => journal,
            Err(exit) => return exit.into(),
        };
        let _ = events.send(Event::Began { run: journal.run().to_owned() });
        let listening = Interrupt::listen(&scene, &journal, &self.asked_back);
        let fleet = Fleet::new(&scene, &journal, planned, &events, &host);
        let (exit, halt) = self.rolled(fleet, &scene, &links, &stages).await;
        drop(listening);
        let exit = rolling::ended(unreached(exit, &unreachable), halt.as_ref());
        if journal.decide(Record::Ended { exit: exit as u8 }).await.is_err() {
            term::wrong("the end of the run could not be recorded", None);
        }
        let words = halt.map(|halt| rolling::words(&halt, journal.run()));
        let stopped = || format!("stopped by a person; {}", rolling::held(journal.run()));
        Conducted { exit, halt: words.or_else(|| (exit == Exit::Held).then(stopped)) }
    }

    /// Refuses one machine under two names.
    fn doubled(&self, scene: &Arc<Scene>, links: &Arc<Links>, planned: &Plans) -> Option<Exit> {
        let doubles = doubles(scene, links, planned);
        if doubles.is_empty() || matches!(self.purpose, Purpose::Verify) {
            return None;
        }
        term::problems_only(&doubles);
        term::say("nothing was changed");
        Some(Exit::Wrong)
    }

    /// What a person agrees to by saying yes to a plan: what is decided later is asked for then, unless `--yes` takes it.
    fn consent(&self, planned: &[Planned]) -> Consent {
        let agreed = if self.yes { Consent::default() } else { Consent::to(planned) };
        Consent { each_host: self.step, ..agreed }
    }

    /// Shows the plan and asks. Gives the exit where nothing is to be applied.
    pub(super) fn shown(
        &self,
        scene: &Scene,
        planned: &[(HostRun, Walked)],
        unreachable: &[(String, HostError)],
    ) -> Option<Exit> {
        self.left_out(planned.len(), unreachable);
        let plans = planned.iter().map(|(run, walked)| (run.state.name.as_str(), walked));
        let show = self.check || self.diff || !self.yes;
        if show {
            term::data(&fleet(plans, self.diff, term::paint()));
            self.expected();
        }
        let sums: Vec<Sum> = planned.iter().map(|(_, walked)| Sum::of(walked)).collect();
        let failures = sums.iter().any(|sum| sum.failures > 0);
        let pending = sums.iter().any(Sum::is_pending);
        if self.check {
            return Some(self.looked(&sums, unreachable));
        }
        if !unreachable.is_empty() && !self.allow_partial && !within(scene, unreachable.len()) {
            term::wrong(
                format!(
                    "{} cannot be reached; nothing was changed",
                    unreachable.iter().map(|(host, _)| host.as_str()).collect::<Vec<_>>().join(", ")
                ),
                Some("mend that, leave them out by --limit, or say --allow-partial"),
            );
            return Some(Exit::Unreachable);
        }
        if let Some(exit) = self.left_open(planned) {
            return Some(exit);
        }
        if failures && !show {
            let failing = planned.iter().filter(|(_, walked)| Sum::of(walked).failures > 0);
            term::data(&fleet(
                failing.map(|(run, walked)| (run.state.name.as_str(), walked)),
                false,
                term::paint(),
            ));
        }
        if pending && !self.yes && !term::can_ask() {
            nobody();
            return Some(Exit::Declined);
        }
        if pending && !self.yes && !term::ask("Apply this?") {
            term::say("nothing was changed");
            return Some(Exit::Declined);
        }
        None
    }

    /// Tells which hosts a plan does not speak of, and why.
    pub(super) fn left_out(&self, planned: usize, unreachable: &[(String, HostError)]) {
        for (host, error) in unreachable {
            term::problems_only(&[error.diagnostic(host)]);
        }
        if !unreachable.is_empty() && planned > 0 {
            let all = planned + unreachable.len();
            term::say(&format!(
                "partial: {} of {all} hosts cannot be reached and are left out",
                unreachable.len()
            ));
        }
    }

    /// How a look ends.
    pub(super) fn looked(&self, sums: &[Sum], unreachable: &[(String, HostError)]) -> Exit {
        let failures = sums.iter().any(|sum| sum.failures > 0);
        let pending = sums.iter().any(Sum::is_pending);
        match (unreachable.is_empty(), failures, pending) {
            (false, ..) => Exit::Unreachable,
            (true, true, _) => Exit::Failed,
            (true, false, true) if self.detailed_exitcode => Exit::Pending,
            _ => Exit::Done,
        }
    }

    /// Runs that were left open on the hosts must be named, resumed or undone first.
    pub(super) fn left_open(&self, planned: &[(HostRun, Walked)]) -> Option<Exit> {
        let open: Vec<String> = planned
            .iter()
            .flat_map(|(run, _)| run.open_runs.iter().map(|open| (open, &run.state.name)))
            .filter(|(open, _)| !self.over.contains(open))
            .map(|(open, host)| format!("{open} on {host}"))
            .collect();
        if open.is_empty() {
            return None;
        }
        let held = planned.iter().find_map(|(run, _)| Some((&run.state.name, run.held.as_ref()?)));
        if let Some((host, by)) = held {
            term::wrong(
                format!("{host} is held by another run ({by}); nothing was changed"),
                Some("wait until that run has ended, then start again"),
            );
            return Some(Exit::Busy);
        }
        term::wrong(
            format!("an earlier run was left open: {}", open.join(", ")),
            Some("first `tunerun resume RUN` or `tunerun undo RUN`; or say --over RUN to go on over it"),
        );
        Some(Exit::Busy)
    }

    async fn begin(
        &self,
        store: &Store,
        inventories: Vec<String>,
        made_from: Vec<Origin>,
    ) -> Result<Journal, Exit> {
        let wrong = |why: &dyn std::fmt::Display| {
            term::wrong(
                format!("the run cannot be recorded, so it does not begin: {why}"),
                Some("see --runs DIR"),
            );
            Exit::Failed
        };
        let journal = store.begin().map_err(|why| wrong(&why))?;
        // One call begins one run.
        let _ = self.name.set(journal.run().to_owned());
        let record = Record::Began {
            format: tunerun::journal::FORMAT,
            run: journal.run().to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command: self.command(),
            made_from: made_from.into_iter().map(|origin| (origin.name, origin.digest)).collect(),
            inventories,
            dir: std::env::current_dir().unwrap_or_default().display().to_string(),
            by: format!("{} on {}", user(), nix::unistd::gethostname().unwrap_or_default().to_string_lossy()),
            asked: self.invocation().map(Box::new),
            continues: self.continues().map(|earlier| earlier.run().to_owned()),
        };
        journal.decide(record).await.map_err(|why| wrong(&why))?;
        for (what, by) in &self.decided {
            let record = Record::Decided { what: what.clone(), by: by.clone() };
            journal.decide(record).await.map_err(|why| wrong(&why))?;
        }
        if let Some(earlier) = self.continues() {
            let what = format!("{GOES_ON}{}", journal.run());
            earlier.decide(Record::Decided { what, by: user() }).await.map_err(|why| wrong(&why))?;
        }
        Ok(journal)
    }
}

/// Nobody says yes to a plan that a pipe would apply.
fn nobody() {
    term::wrong(
        "nobody can be asked whether to apply the plan",
        Some("add --yes to apply without asking, or --check to plan only"),
    );
}

/// Whether the plays allow so many hosts to be left out.
pub(super) fn within(scene: &Scene, missing: usize) -> bool {
    use tunerun::playbook::Batch;
    let total = union(scene).len();
    scene.playbook.plays.iter().all(|play| match &play.max_unreachable {
        Some(Batch::Hosts(most)) => missing <= *most as usize,
        Some(Batch::Percent(most)) => missing as f64 <= total as f64 * most / 100.0,
        _ => false,
    })
}
