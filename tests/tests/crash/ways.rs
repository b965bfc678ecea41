//! Ways back that need more than bytes: attributes, links, large contents, order, activations.
use crate::bed::Bed;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::process::Command;

/// Whether a program is there; loud where it is not.
fn has(program: &str) -> bool {
    let there =
        Command::new("sh").args(["-c", &format!("command -v {program}")]).output().unwrap().status.success();
    if !there {
        eprintln!("NOT TESTED: attributes need the program {program}");
        assert!(std::env::var_os("CI").is_none(), "CI must have the packages attr and acl");
    }
    there
}

fn said(program: &str, words: &[&str], path: &std::path::Path) -> String {
    let output = Command::new(program).args(words).arg(path).output().unwrap();
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn attributes_and_access_lists_survive_the_change_and_the_way_back() {
    for by_hand in [false, true] {
        let bed = Bed::new();
        let files = ["kept", "gone"];
        for name in files {
            bed.write(name, "old\n");
            if has("setfattr") {
                said("setfattr", &["-n", "user.note", "-v", "mine"], &bed.etc(name));
            }
            if has("setfacl") {
                said("setfacl", &["-m", "u:nobody:r"], &bed.etc(name));
            }
        }
        let seen = |name: &str| {
            let mut text = String::new();
            for (program, words) in [("getfattr", ["-d", "--absolute-names"]), ("getfacl", ["-p", "-n"])] {
                if has(program) {
                    text.push_str(&said(program, &words, &bed.etc(name)));
                }
            }
            text.replace(name, "")
        };
        let old = seen("kept");
        bed.playbook(
            "    - copy: {dest: ETC/kept, content: new}\n    - file: {path: ETC/gone, state: absent}\n",
        );
        bed.play().ended(0);
        assert_eq!((bed.read("kept"), seen("kept")), ("new".into(), old.clone()));
        if by_hand {
            bed.undo_sh().ended(0)
        } else {
            bed.tunerun(&["undo", "last"]).ended(0)
        };
        for name in files {
            assert_eq!((bed.read(name), seen(name)), ("old\n".into(), old.clone()), "{name}");
        }
    }
}

#[test]
fn large_contents_and_trees_come_back_from_the_host() {
    for by_hand in [false, true] {
        let bed = Bed::new();
        let large: String = (0..400_000).map(|number| format!("{number}\n")).collect();
        bed.write("large", &large);
        bed.write("gone", &large);
        std::fs::create_dir_all(bed.etc("tree/deep")).unwrap();
        bed.write("tree/deep/leaf", "leaf");
        std::fs::set_permissions(bed.etc("tree/deep"), std::fs::Permissions::from_mode(0o700)).unwrap();
        // The leaf is changed before its tree goes: it can be told only once the tree is back.
        bed.playbook(
            "    - copy: {dest: ETC/tree/deep/leaf, content: changed}\n    - file: {path: ETC/tree, state: absent}\n    \
             - copy: {dest: ETC/large, content: small}\n    - file: {path: ETC/gone, state: absent}\n",
        );
        bed.play().ended(0);
        assert_eq!(bed.names(), ["large"]);
        let journal = std::fs::read_dir(bed.root.join("runs"))
            .unwrap()
            .next()
            .unwrap()
            .unwrap()
            .path()
            .join("journal.jsonl");
        assert!(std::fs::metadata(journal).unwrap().len() < 100_000, "large contents stay on the host");
        if by_hand {
            bed.undo_sh().ended(0)
        } else {
            bed.tunerun(&["undo", "last"]).ended(0)
        };
        assert_eq!(bed.read("tree/deep/leaf"), "leaf");
        assert_eq!(bed.etc("tree/deep").metadata().unwrap().permissions().mode() & 0o7777, 0o700);
        assert!(bed.read("large") == large && bed.read("gone") == large);
    }
}

#[test]
fn other_names_of_a_file_see_the_way_back() {
    for by_hand in [false, true] {
        let bed = Bed::new();
        bed.write("one", "old\n");
        std::fs::hard_link(bed.etc("one"), bed.etc("two")).unwrap();
        bed.playbook("    - copy: {dest: ETC/one, content: new}\n");
        bed.play().ended(0);
        assert_eq!(bed.read("two"), "new");
        if by_hand {
            bed.undo_sh().ended(0)
        } else {
            bed.tunerun(&["undo", "last"]).ended(0)
        };
        assert_eq!((bed.read("one"), bed.read("two")), ("old\n".into(), "old\n".into()));
        assert_eq!(bed.etc("one").metadata().unwrap().ino(), bed.etc("two").metadata().unwrap().ino());
    }
}

#[test]
fn what_was_made_and_filled_goes_in_the_right_order_and_twice() {
    let bed = Bed::new();
    bed.playbook(
        "    - file: {path: ETC/a, state: directory}\n    - file: {path: ETC/a/b, state: directory}\n    \
         - copy: {dest: ETC/a/b/c, content: c}\n    - file: {path: ETC/a/b/d, src: c, state: link}\n    \
         - copy: {dest: ETC/a/b/c, content: cc}\n",
    );
    for _ in 0..2 {
        bed.play().ended(0);
        assert_eq!(bed.read("a/b/d"), "cc");
        for _ in 0..2 {
            bed.tunerun(&["undo", "last"]).ended(0);
            assert_eq!(bed.names(), Vec::<String>::new());
        }
    }
}

#[test]
fn a_command_goes_back_once_and_what_it_spoils_is_looked_at_again() {
    let bed = Bed::new();
    std::fs::create_dir(bed.etc("d")).unwrap();
    bed.write("d/conf", "old\n");
    // Whether the file is as it was left can be told only after the command went back: it may touch it.
    bed.playbook(
        "    - copy: {dest: ETC/d/conf, content: \"ours\\n\"}\n    \
         - shell: {cmd: echo more > ETC/d/more, undo: \"rm -f ETC/d/more; echo went >> ETC/count\", spoils: ETC/d}\n",
    );
    bed.play().ended(0);
    assert_eq!((bed.read("d/conf"), bed.read("d/more")), ("ours\n".into(), "more\n".into()));
    for _ in 0..3 {
        bed.tunerun(&["undo", "last"]).ended(0);
        assert_eq!((bed.read("d/conf"), bed.read("count")), ("old\n".into(), "went\n".into()));
        assert!(!bed.etc("d/more").exists());
        bed.undo_sh().ended(0);
        assert_eq!(bed.read("count"), "went\n", "what tunerun took back is not taken back by hand");
    }
}

/// A `systemctl` that writes down what it is asked.
fn systemctl(bed: &Bed) -> String {
    let bin = bed.root.join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let log = bed.root.join("asked");
    let text =
        format!("#!/bin/sh\necho \"$*\" >> {}\n[ ! -e {}/broken ]\n", log.display(), bed.root.display());
    std::fs::write(bin.join("systemctl"), text).unwrap();
    std::fs::set_permissions(bin.join("systemctl"), std::fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:{}", bin.display(), std::env::var("PATH").unwrap())
}

#[test]
#[expect(clippy::too_many_lines, reason = "one story")]
fn activations_follow_the_states_once_in_forward_order_also_after_a_crash() {
    use modules::fold::fold;
    use modules::vocabulary::{
        Activation, Back, Claim, Content, HostPath, Image, Meta, Read, Row, Step, TaskId,
    };
    use std::sync::Arc;
    use tunerun::engine::batch::Batch;
    use tunerun::engine::carrier::Carrier;
    use tunerun::engine::recovery::by_host;
    use tunerun::journal::{Record, Store};
    use tunerun::transport::endpoint::Endpoint;
    use tunerun::transport::{Connection, NoSecrets};
    let bed = Bed::new();
    bed.write("unit", "old\n");
    let path = systemctl(&bed);
    let asked = || std::fs::read_to_string(bed.root.join("asked")).unwrap_or_default();
    // A run as the engine makes it: a state, its daemon-reload, a handler's restart, an owed reboot.
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut endpoint = Endpoint::local("h");
        endpoint.interpreter = format!("env PATH={path} sh");
        let connection = Arc::new(Connection::open(&endpoint, Arc::new(NoSecrets)).await.unwrap());
        let state = Some(HostPath::new(bed.root.join("state").to_str().unwrap()).unwrap());
        let carrier = Carrier::Shell { connection, who: tunerun::transport::Identity::Login, state };
        let (greeting, _) = carrier.greet(&[]).await.unwrap();
        let unit = HostPath::new(bed.etc("unit").to_str().unwrap()).unwrap();
        let seen = carrier.look(&[Read::text(&unit)]).await.unwrap().remove(&Read::text(&unit)).unwrap();
        let image = Image::File { content: Content::Bytes("new\n".into()), meta: Meta::default() };
        let call = |name: &str, args: &[&str]| {
            let row = Row::new(name, args.iter().copied());
            Step::call(Claim::new("activation", name), row, Vec::new(), Back::Nothing)
        };
        let steps = [
            Step::put(Claim::file(&unit), unit.clone(), seen, image),
            call("systemctl-restart", &["b.service"]),
            call("systemctl-daemon-reload", &[]),
            call("systemctl-restart", &["a.service"]),
            call("systemctl-restart", &["b.service"]),
        ];
        let journal = Store::new(bed.root.join("runs")).begin().unwrap();
        let steps = fold(steps.into_iter().enumerate().map(|(task, step)| (TaskId(task as u32), step)));
        let batch = Batch { host: "h".into(), number: 1, steps, last: true, ..Batch::default() };
        let prepared = journal.prepare(batch, Vec::new()).await.unwrap();
        let report = carrier.carry_out(prepared, &greeting.who).await.unwrap();
        journal.note(Record::Done { host: "h".into(), batch: 1, report }).unwrap();
        let owed = Record::Owed { host: "h".into(), activation: Activation::Reboot };
        journal.decide(owed).await.unwrap();
        connection_closed(&carrier).await;
    });
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert_eq!(asked(), "restart -- b.service\ndaemon-reload\nrestart -- a.service\nrestart -- b.service\n");
    std::fs::write(bed.root.join("asked"), "").unwrap();
    let undo = || {
        let mut command = bed.words(&["undo", "last", "-i", "hosts.ini"]);
        crate::bed::Said::of(command.env("PATH", &path).output().unwrap())
    };
    // The activations fail: the states are back, and that is said.
    std::fs::write(bed.root.join("broken"), "").unwrap();
    undo().ended(6).says(&["1 step taken back", "daemon-reload", "owed: reboot"]);
    assert_eq!(bed.read("unit"), "old\n");
    let store = Store::new(bed.root.join("runs"));
    let pending = by_host(&store.read("last").unwrap())["h"].pending.len();
    assert_eq!(pending, 3, "they stay called for");
    std::fs::remove_file(bed.root.join("broken")).unwrap();
    std::fs::write(bed.root.join("asked"), "").unwrap();
    undo().ended(0);
    assert_eq!(asked(), "daemon-reload\nrestart -- b.service\nrestart -- a.service\n");
    std::fs::write(bed.root.join("asked"), "").unwrap();
    undo().ended(0);
    assert_eq!(asked(), "", "once");
}

async fn connection_closed(carrier: &tunerun::engine::carrier::Carrier) {
    if let tunerun::engine::carrier::Carrier::Shell { connection, .. } = carrier {
        connection.close().await;
    }
}

#[test]
fn many_hosts_go_back_side_by_side_with_a_line_each() {
    let bed = Bed::new();
    let hosts: String = (0..40)
        .map(|number| {
            format!(
                "h{number} ansible_connection=local tunerun_state_dir={}/state{number}\n",
                bed.root.display()
            )
        })
        .collect();
    std::fs::write(bed.root.join("hosts.ini"), hosts).unwrap();
    bed.playbook("    - copy: {dest: \"ETC/{{ inventory_hostname }}\", content: x}\n    - shell: {cmd: \"true\", undo: sleep 1}\n");
    bed.play().ended(0);
    assert_eq!(bed.names().len(), 40);
    let begun = std::time::Instant::now();
    bed.tunerun(&["undo", "last"]).ended(0).says(&["[40/40] ", "h7: 2 steps taken back"]);
    assert!(
        begun.elapsed().as_secs() < 30,
        "one after another they would take 40 seconds: {:?}",
        begun.elapsed()
    );
    assert_eq!(bed.names().len(), 0);
}
