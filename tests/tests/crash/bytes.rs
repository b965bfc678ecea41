//! A journal that is cut at every byte, or damaged in its middle.
use modules::fold::fold;
use modules::host::Host;
use modules::shape::Shape;
use modules::vocabulary::{Act, Claim, Content, HostPath, Identity, Image, Meta, Read, Seen, Step, TaskId};
use std::sync::{Arc, Mutex};
use tunerun::engine::batch::Batch;
use tunerun::engine::carrier::Carrier;
use tunerun::engine::marks::Logs;
use tunerun::engine::recovery::{Felt, HostPast, Undoing, by_host, undo_on};
use tunerun::engine::target::Acting;
use tunerun::engine::undo::way_back;
use tunerun::journal::{FORMAT, Journal, Record, Store, parse};

fn host() -> Host {
    Host::new()
        .file("/etc/one", "old one\n".repeat(30))
        .file("/etc/gone", "old gone\n")
        .file_mode("/etc/mode", "same\n", 0o644)
        .dir("/etc/dir")
        .value("/proc/sys/vm/swappiness", "60")
        .value("/proc/sys/vm/dirty_ratio", "20")
}

fn path(path: &str) -> HostPath {
    HostPath::new(path).unwrap()
}

fn put(host: &Host, at: &str, image: Image) -> Step {
    Step::put(Claim::file(&path(at)), path(at), host.see(&Read::text(&path(at))), image)
}

fn text(text: &str) -> Image {
    Image::File { content: Content::Bytes(text.into()), meta: Meta::default() }
}

fn write(host: &Host, at: &str, value: &str) -> Step {
    let before = host.see(&Read::text(&path(at)));
    Step::write(Claim::new("sysctl", at.rsplit('/').next().unwrap()), path(at), before, value, Shape::Words)
}

/// The steps of two batches; the second goes on with what the first left.
fn batches() -> [Vec<Step>; 2] {
    let before = host();
    let first = vec![
        put(&before, "/etc/one", text(&"new one\n".repeat(40))),
        put(&before, "/etc/new", text("new\n")),
        put(&before, "/etc/gone", Image::Absent),
        write(&before, "/proc/sys/vm/swappiness", "10"),
    ];
    let mut after = before;
    first.iter().for_each(|step| after.act(&step.act).unwrap());
    let mode = Image::File { content: Content::Same, meta: Meta { mode: Some(0o600), ..Meta::default() } };
    let second = vec![
        put(&after, "/etc/one", text("newer one\n")),
        put(&after, "/etc/mode", mode),
        put(&after, "/etc/dir/below", text("below\n")),
        write(&after, "/proc/sys/vm/swappiness", "1"),
        write(&after, "/proc/sys/vm/dirty_ratio", "5"),
    ];
    [first, second]
}

struct Run {
    root: std::path::PathBuf,
    text: Vec<u8>,
    /// The host before the run, after each batch.
    states: Vec<Host>,
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

async fn began(journal: &Journal) {
    let record = Record::Began {
        format: FORMAT,
        run: journal.run().into(),
        version: "0".into(),
        command: "tunerun play".into(),
        made_from: Vec::new(),
        asked: None,
        continues: None,
        inventories: vec!["h,".into()],
        dir: String::new(),
        by: "a test".into(),
    };
    journal.decide(record).await.unwrap();
}

async fn run(name: &str) -> Run {
    let root = std::env::temp_dir().join(format!("tunerun-crash-{name}-{}", std::process::id()));
    let journal = Store::new(&root).begin().unwrap();
    let carrier = Carrier::Memory(Arc::new(Mutex::new(host())));
    let Carrier::Memory(shared) = &carrier else { unreachable!() };
    let mut states = vec![host()];
    began(&journal).await;
    for (number, steps) in (1..).zip(batches()) {
        let steps = fold(steps.into_iter().enumerate().map(|(task, step)| (TaskId(task as u32), step)));
        let batch = Batch { host: "h".into(), number, steps, ..Batch::default() };
        let prepared = journal.prepare(batch, vec![(0, "a task".into())]).await.unwrap();
        let report = carrier.carry_out(prepared, &Identity::default()).await.unwrap();
        assert!(
            report.acts.iter().all(|act| act.as_ref().is_some_and(|act| act.output.status == 0)),
            "{report:?}"
        );
        journal.note(Record::Done { host: "h".into(), batch: number, report }).unwrap();
        states.push(shared.lock().unwrap().clone());
    }
    journal.decide(Record::Ended { exit: 0 }).await.unwrap();
    let text = std::fs::read(journal.path()).unwrap();
    assert!(text.len() <= 16 * 1024, "{} bytes", text.len());
    Run { root, text, states }
}

fn now(past: &HostPast, host: &Host) -> std::collections::BTreeMap<Read, Seen> {
    past.past.iter().flat_map(|past| past.looks()).map(|read| (read.clone(), host.see(read))).collect()
}

/// The host after the way back of what is left of a journal, and what was left alone.
fn undone(text: &[u8], host: &Host) -> (Host, Vec<String>) {
    let mut host = host.clone();
    let hosts = by_host(&parse(text).unwrap_or_else(|why| panic!("cut at {}: {why}", text.len())));
    let Some(past) = hosts.get("h") else { return (host, Vec::new()) };
    let back = way_back(&past.past, &Logs::default(), now(past, &host), &Identity::default(), &[]);
    assert!(!back.again);
    for folded in &back.steps {
        let look = folded.step.look.as_ref().unwrap();
        assert!(host.see(look).same_state(&folded.step.before), "{folded:?} would be stale");
        host.act(&folded.step.act).unwrap();
    }
    (host, back.conflicts)
}

#[tokio::test]
async fn what_is_left_of_a_journal_leads_back_wherever_it_is_cut() {
    let run = run("cut").await;
    let old = host();
    let mut complete = 0;
    for cut in 0..=run.text.len() {
        let text = &run.text[..cut];
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let known = String::from_utf8_lossy(&text[..whole]).matches("\"record\":\"prepared\"").count();
        let done = String::from_utf8_lossy(&text[..whole]).matches("\"record\":\"done\"").count();
        // No act reaches a host before its record is whole: so the host is at most where the last one leads.
        for (state, host) in run.states.iter().enumerate().skip(done).take(known + 1 - done) {
            let (back, conflicts) = undone(text, host);
            assert_eq!(conflicts, Vec::<String>::new(), "cut at {cut}, host after batch {state}");
            assert_eq!(
                back.differences(&old),
                Vec::<String>::new(),
                "cut at {cut}, host after batch {state}"
            );
            let (again, _) = undone(text, &back);
            assert_eq!(again.differences(&old), Vec::<String>::new());
            complete += 1;
        }
    }
    assert!(complete > run.text.len());
}

#[tokio::test]
async fn a_batch_that_was_cut_off_between_any_two_acts_goes_back() {
    let run = run("half").await;
    let old = host();
    let batches = batches();
    // Whole records up to and with each `prepared`, the host anywhere within that batch.
    let lines: Vec<&[u8]> = run.text.split_inclusive(|byte| *byte == b'\n').collect();
    let mut begun = 0;
    for (at, line) in lines.iter().enumerate() {
        if !String::from_utf8_lossy(line).contains("\"record\":\"prepared\"") {
            continue;
        }
        let mut host = run.states[begun].clone();
        let text = lines[..=at].concat();
        for acts in 0..=batches[begun].len() {
            let (back, conflicts) = undone(&text, &host);
            assert_eq!(conflicts, Vec::<String>::new());
            assert_eq!(back.differences(&old), Vec::<String>::new(), "batch {begun} after {acts} acts");
            if let Some(step) = batches[begun].get(acts) {
                host.act(&step.act).unwrap();
            }
        }
        begun += 1;
    }
    assert_eq!(begun, 2);
}

#[tokio::test]
async fn any_changed_byte_in_the_middle_is_told_with_its_line() {
    let run = run("damaged").await;
    let last = run.text[..run.text.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    for at in 0..last - 1 {
        let mut text = run.text.clone();
        text[at] = if text[at] == b'7' { b'8' } else { b'7' };
        let why = match parse(&text) {
            Err(why) => why,
            Ok(journaled) => {
                panic!("byte {at} was changed and {} records were read", journaled.entries.len())
            }
        };
        let newer = why.contains("has format 7");
        assert!(newer || (why.contains("line ") && why.contains("damaged")), "{why}");
        assert!(why.contains("undo.sh"), "{why}");
    }
    // A torn end of several lines is what a power cut leaves: it was never acted on.
    let mut torn = run.text.clone();
    torn[last - 3] = 0;
    torn[last + 3] = 0;
    assert!(parse(&torn).unwrap().torn > run.text.len() - last);
}

#[tokio::test]
async fn a_newer_journal_is_refused_by_name() {
    let run = run("newer").await;
    let text = String::from_utf8(run.text.clone()).unwrap();
    let newer = text.replacen("\"format\":1", "\"format\":9", 1);
    let why = parse(newer.as_bytes()).unwrap_err();
    assert!(why.contains("format 9") && why.contains("undo.sh"), "{why}");
}

/// The writer's thread closes the file, and with it the lock, on its own time.
fn reopened(store: &Store, name: &str) -> (Journal, tunerun::journal::Journaled) {
    for _ in 0..200 {
        if let Ok(reopened) = store.reopen(name) {
            return reopened;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("{name} stays held");
}

#[tokio::test]
async fn undo_goes_on_with_a_journal_that_was_cut_and_can_be_repeated() {
    let run = run("reopened").await;
    let store = Store::new(&run.root);
    let name = store.runs().remove(0);
    let path = store.path(&name).unwrap();
    // In the middle of the second `done`: the second batch may be done or not.
    let cut = String::from_utf8_lossy(&run.text).rfind("\"record\":\"done\"").unwrap();
    std::fs::write(&path, &run.text[..cut]).unwrap();
    let memory = Arc::new(Mutex::new(run.states[2].clone()));
    let carrier = Carrier::Memory(Arc::clone(&memory));
    for steps in [8, 0] {
        let (journal, journaled) = reopened(&store, &name);
        let hosts = by_host(&journaled);
        let past = &hosts["h"];
        let undoing = Undoing {
            host: "h",
            who: &Identity::default(),
            acting: &Acting::Login,
            past: &past.past,
            cut_off: &[],
            number: past.number,
            force: &[],
            pending: &[],
            felt: Felt::Now,
        };
        let undone = undo_on(&carrier, &journal, undoing).await.unwrap();
        assert_eq!(undone.left, Vec::<String>::new());
        assert_eq!(undone.steps, steps);
        assert_eq!(memory.lock().unwrap().differences(&host()), Vec::<String>::new());
        let busy = store.reopen(&name).err().map(|why| why.to_string());
        assert!(busy.is_some_and(|why| why.contains("another tunerun is writing it")));
        journal.decide(Record::Ended { exit: 0 }).await.unwrap();
    }
    assert!(matches!(batches()[0][3].act, Act::Write { .. }));
}
