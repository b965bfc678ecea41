//! What the pure parts cost: loading, planning from facts, inventories, folding. `cargo bench -p tests --bench pure`.
use criterion::{Criterion, criterion_group, criterion_main};
use modules::fold::fold;
use modules::vocabulary::{Claim, Content, HostPath, Identity, Image, Meta, Read, Seen, Step, TaskId};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use tunerun::engine::target::{Acting, HostState, Known, Target};
use tunerun::engine::vocabulary::vocabulary;
use tunerun::engine::walk::{Asked, Scene, walk};
use tunerun::inventory::{Inventory, InventorySource, Kind, Output, World};
use tunerun::playbook::{Loader, Memory};
use tunerun::template::{TemplateWorld, Templates};

const TASKS: usize = 1_000;
const HOSTS: usize = 50;
const FILES: usize = 7;

/// A playbook of 1,000 tasks that edit a few files by lines.
fn playbook() -> String {
    let mut text = "- hosts: all\n  gather_facts: false\n  tasks:\n".to_owned();
    for task in 0..TASKS {
        let _ = write!(
            text,
            "    - name: task {task}\n      lineinfile:\n        path: /etc/sysctl.d/{}.conf\n        regexp: '^key{task}\\s*='\n        line: 'key{task} = {{{{ value | default({task}) }}}}'\n        create: true\n      tags: [t{}]\n      when: enabled | default(true)\n",
            task % FILES,
            task % 10
        );
    }
    text
}

/// Inventories in memory.
struct Texts(String);

impl World for Texts {
    fn read(&self, _: &Path) -> std::io::Result<Vec<u8>> {
        Ok(self.0.clone().into_bytes())
    }
    fn list(&self, _: &Path) -> std::io::Result<Vec<String>> {
        Ok(Vec::new())
    }
    fn kind(&self, path: &Path) -> Option<Kind> {
        path.extension().map(|_| Kind::File)
    }
    fn run(&self, _: &Path, _: &[&str]) -> std::io::Result<Output> {
        Err(std::io::Error::other("no programs here"))
    }
}

fn inventory(name: &str, text: String) -> Inventory {
    Inventory::load(&[InventorySource::Path(name.into())], &Texts(text), None).unwrap().0
}

fn ten_thousand(yaml: bool) -> String {
    let mut text = if yaml { "all:\n  children:\n".to_owned() } else { String::new() };
    for group in 0..100 {
        let _ = match yaml {
            true => writeln!(text, "    rack{group:03}:\n      vars:\n        rack: {group}\n      hosts:"),
            false => writeln!(text, "[rack{group:03}]"),
        };
        for host in 0..100 {
            let name = group * 100 + host;
            let _ = match yaml {
                true => writeln!(
                    text,
                    "        osd{name:05}:\n          ansible_host: 10.{group}.0.{host}\n          osd_count: {}",
                    host % 24
                ),
                false => {
                    writeln!(text, "osd{name:05} ansible_host=10.{group}.0.{host} osd_count={}", host % 24)
                }
            };
        }
    }
    text
}

fn loading(bench: &mut Criterion) {
    let files: &'static Memory = Box::leak(Box::new(Memory::new([("site.yml", playbook().as_str())])));
    bench.bench_function("load 1,000 tasks", |run| {
        run.iter(|| black_box(Loader::new(files, vocabulary(), Vec::new()).load("site.yml").unwrap()));
    });
}

fn planning(bench: &mut Criterion) {
    let files: &'static Memory = Box::leak(Box::new(Memory::new([("site.yml", playbook().as_str())])));
    let loader = Loader::new(files, vocabulary(), Vec::new());
    let playbook = loader.load("site.yml").unwrap();
    let hosts: String = (0..HOSTS).map(|host| format!("h{host}\n")).collect();
    let inventory = inventory("hosts.ini", hosts);
    let plays = vec![inventory.hosts().collect::<Vec<_>>()];
    let templates = Templates::new(TemplateWorld::default());
    let scene =
        Scene::new(playbook, "/".into(), loader, templates, inventory, plays.clone(), Asked::default());
    let seen: BTreeMap<Read, Seen> = (0..FILES)
        .flat_map(|file| {
            let path = HostPath::new(&format!("/etc/sysctl.d/{file}.conf")).unwrap();
            let folder = path.parent().unwrap();
            let dir = modules::host::Host::new().dir("/etc/sysctl.d").see(&Read::Stat(folder.clone()));
            [(Read::text(&path), Seen::Absent), (Read::Stat(folder), dir)]
        })
        .collect();
    let seen = Arc::new(seen);
    bench.bench_function("plan 1,000 tasks for 50 hosts", |run| {
        run.iter(|| {
            for id in &plays[0] {
                let name = scene.inventory().host_name(*id).to_owned();
                let mut state = HostState::new(&name, *id);
                let target = Target { host: name, user: Acting::Login };
                state.known.insert(
                    target,
                    Known { who: Some(Identity::default()), seen: Arc::clone(&seen), machine: None },
                );
                black_box(walk(&scene, &mut state, 0));
            }
        });
    });
}

fn inventories(bench: &mut Criterion) {
    for (name, yaml) in [("hosts.yaml", true), ("hosts.ini", false)] {
        let text = ten_thousand(yaml);
        bench.bench_function(&format!("inventory of 10,000 hosts, {name}"), |run| {
            run.iter(|| black_box(inventory(name, text.clone())));
        });
    }
}

fn folding(bench: &mut Criterion) {
    let steps: Vec<(TaskId, Step)> = (0..100_000_u32)
        .map(|number| {
            let path = HostPath::new(&format!("/etc/sysctl.d/{}.conf", number % 100)).unwrap();
            let image =
                Image::File { content: Content::Bytes(number.to_string().into()), meta: Meta::default() };
            (TaskId(number), Step::put(Claim::file(&path), path, Seen::Absent, image))
        })
        .collect();
    bench.bench_function("fold 100,000 steps", |run| run.iter(|| black_box(fold(steps.clone()))));
}

criterion_group! {
    name = pure;
    config = Criterion::default().sample_size(10);
    targets = loading, planning, inventories, folding
}
criterion_main!(pure);
