//! The reader and the edits of `/etc/default/grub` against the real dash: same values before, wished values after.
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use modules::kernel_args::amend::Wish;
use modules::kernel_args::grub::{Asked, MAIN, VARIABLES, Variable, rewrite};
use modules::kernel_args::line::Line;
use modules::kernel_args::shell::script::{Reading, Script};
use modules::kernel_args::token::{Key, Token};
use proptest::prelude::*;

/// What dash has in the two variables after reading the scripts in order, each `None` where it is not set; no answer
/// where dash fails on a script. Fails the test where there is no dash.
fn dash(scripts: &[Script]) -> Option<[Option<String>; 2]> {
    // Nothing but the shell itself may run.
    let mut text = "PATH=/nowhere\n".to_owned();
    for script in scripts {
        text.push_str(std::str::from_utf8(&script.bytes).unwrap());
        text.push('\n');
    }
    // Each value ends with a mark that no script holds.
    for name in VARIABLES {
        text.push_str(&format!("printf '<<%s>>' \"${{{name}-unset}}\"\n"));
    }
    let output = Command::new("dash")
        .args(["-c", &text])
        .env_remove(VARIABLES[0])
        .env_remove(VARIABLES[1])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .unwrap_or_else(|why| panic!("this test needs dash: {why}"));
    let out = String::from_utf8(output.stdout).unwrap();
    let mut values = out.split(">>").filter_map(|part| part.split_once("<<"));
    let mut next = || values.next().map(|(_, value)| (value != "unset").then(|| value.to_owned()));
    output.status.success().then(|| Some([next()?, next()?])).flatten()
}

fn read_script(path: &Path, on_host: String) -> Script {
    Script { path: on_host, bytes: std::fs::read(path).unwrap() }
}

fn children(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn corpus() -> Vec<(String, Vec<Script>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/corpus/grub");
    let mut found = Vec::new();
    for path in children(&folder) {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            let mut scripts = vec![read_script(&path.join("default-grub"), MAIN.to_owned())];
            for part in children(&path.join("default-grub.d")) {
                let on_host = format!("{MAIN}.d/{}", part.file_name().unwrap().to_str().unwrap());
                scripts.push(read_script(&part, on_host));
            }
            found.push((name, scripts));
        } else if name.ends_with(".grub") || name.ends_with(".cfg") {
            found.push((name, vec![read_script(&path, MAIN.to_owned())]));
        }
    }
    assert_eq!(found.len(), 13);
    found
}

/// The scripts after the wishes, in the order in which they are read.
fn edited(scripts: &[Script], wishes: &[Wish], variable: Variable) -> Option<Vec<Script>> {
    let asked = Asked { wishes, variable, references: &BTreeMap::new(), drop_ins: true };
    let written = rewrite(&Reading::of(scripts.to_vec()), asked).ok()?;
    let mut files: BTreeMap<String, Vec<u8>> =
        scripts.iter().map(|script| (script.path.clone(), script.bytes.clone())).collect();
    files.extend(written.into_iter().map(|file| (file.path, file.after)));
    Some(files.into_iter().map(|(path, bytes)| Script { path, bytes }).collect())
}

fn boot_line(values: &[Option<String>; 2]) -> Line {
    let words: Vec<&str> = values.iter().flatten().map(String::as_str).collect();
    Line::read(&words.join(" "))
}

#[test]
fn dash_is_the_judge_it_seems() {
    let script = |text: &str| [Script { path: MAIN.to_owned(), bytes: text.as_bytes().to_vec() }];
    assert_eq!(dash(&script("GRUB_CMDLINE_LINUX='a b'\n")), Some([Some("a b".to_owned()), None]));
    assert_eq!(dash(&script("GRUB_CMDLINE_LINUX='a b\n")), None);
}

#[test]
fn the_corpus_reads_as_dash_reads_it() {
    for (name, scripts) in corpus() {
        let values = dash(&scripts).unwrap_or_else(|| panic!("dash fails on {name}"));
        let reading = Reading::of(scripts);
        for (variable, value) in VARIABLES.iter().zip(values) {
            let read = reading.value(variable).map(|value| value.likely());
            // Where code may set a variable, not set and empty are one likely value.
            assert_eq!(read.unwrap_or_default(), value.unwrap_or_default(), "{name} {variable}");
        }
    }
}

#[test]
fn edited_files_of_the_corpus_read_back_in_dash() {
    let token = |name, value| Token::new(name, Some(value)).unwrap();
    let wanted = [token("mitigations", "off"), token("dyndbg", "file x +p")];
    for (name, scripts) in corpus() {
        for variable in [Variable::Auto, Variable::Linux, Variable::Default] {
            let wishes: Vec<Wish> = wanted.iter().cloned().map(Wish::Set).collect();
            let after = match (edited(&scripts, &wishes, variable), variable) {
                (Some(after), _) => after,
                // What code may set behind GRUB_CMDLINE_LINUX could win, so that variable alone proves nothing.
                (None, Variable::Linux) if name.starts_with("11-") => continue,
                (None, _) => panic!("{name} {variable:?}"),
            };
            let values = dash(&after).unwrap_or_else(|| panic!("dash fails on the edited {name}"));
            let line = boot_line(&values);
            for token in &wanted {
                assert!(line.has_last(token), "{name} {variable:?}: {line}");
            }
        }
    }
}

const VALUES: [&str; 12] = [
    "",
    "quiet",
    "quiet splash",
    "mitigations=auto",
    "a=1 mitigations=auto  b=2",
    "console=tty0 console=ttyS0 ",
    " x",
    "$X y",
    "${GRUB_CMDLINE_LINUX} z",
    "${GRUB_CMDLINE_LINUX_DEFAULT:+$GRUB_CMDLINE_LINUX_DEFAULT }\\$tuned_params",
    "p=\\\"1 2\\\" q",
    "mitigations=auto mitigations=off mitigations=auto",
];

const OTHER_LINES: [&str; 6] = [
    "# GRUB_CMDLINE_LINUX=\"mitigations=auto\"\n",
    "\n",
    "GRUB_DEFAULT=0 \n",
    "if false; then\n  Z=1\nfi\n",
    "X=\"it's\"\n",
    "GRUB_DISTRIBUTOR=`lsb_release -i -s 2> /dev/null || echo Debian`\n",
];

/// Files as hosts have them, the two variables in every quoting.
fn script() -> impl Strategy<Value = String> {
    let names = vec!["GRUB_CMDLINE_LINUX", "GRUB_CMDLINE_LINUX_DEFAULT", "X", "GRUB_TIMEOUT"];
    let parts = (prop::sample::select(names), prop::sample::select(VALUES.to_vec()), 0..7);
    let assign = parts.prop_map(|(name, value, form)| match form {
        _ if name == "GRUB_TIMEOUT" => "GRUB_TIMEOUT=5\n".to_owned(),
        0 if !value.contains(['$', '\\']) => format!("{name}='{value}'\n"),
        1 if !value.contains(['$', '\\', ' ']) => format!("{name}={value}\n"),
        2 => format!("  {name}=\"{value}\" # note mitigations=auto\n"),
        3 => format!("export {name}=\"{value}\"; Y=1\n"),
        4 if !value.contains('$') => format!("{name}=\"{}\"\n", value.replace(' ', " \\\n ")),
        5 if !value.contains(['$', '\\']) => format!("{name}={}\n", value.replace(' ', "\\ ")),
        _ => format!("{name}=\"{value}\"\n"),
    });
    let other = prop::sample::select(OTHER_LINES.to_vec()).prop_map(str::to_owned);
    prop::collection::vec(prop_oneof![3 => assign, 2 => other], 0..8).prop_map(|lines| lines.concat())
}

fn wish() -> impl Strategy<Value = Wish> {
    prop::sample::select(vec![
        Wish::Set(Token::read("mitigations=off")),
        Wish::Set(Token::read("new=1")),
        Wish::Set(Token::read("p=\"3 4\"")),
        Wish::AbsentKey(Key::of("mitigations")),
        Wish::AbsentKey(Key::of("quiet")),
        Wish::Add(Token::read("console=hvc0")),
        Wish::Last(Token::read("console=tty0")),
        Wish::Replace(Key::of("console"), vec![Token::read("console=hvc0")]),
    ])
}

/// The lines that nothing may touch.
fn foreign(text: &str) -> Vec<&str> {
    let starts = ["#", "GRUB_D", "if", "fi", "  Z"];
    text.lines().filter(|line| starts.iter().any(|start| line.starts_with(start))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Reader and dash agree on any such file, before and after an edit; what was wished holds in dash; a second time
    /// changes nothing; foreign lines stay.
    #[test]
    fn edits_say_in_dash_what_was_planned(text in script(), wish in wish()) {
        let scripts = [Script { path: MAIN.to_owned(), bytes: text.clone().into_bytes() }];
        let reading = Reading::of(scripts.to_vec());
        let values = dash(&scripts).expect("every generated script is valid");
        for (variable, value) in VARIABLES.iter().zip(&values) {
            let known = reading.value(variable).and_then(|value| value.known());
            prop_assert!(known.is_none() || known == *value, "{} {:?} {:?}", variable, known, text);
        }
        let wishes = [wish];
        // Bytes that both variables show cannot be changed for one of them alone.
        let values: Vec<_> = VARIABLES.iter().filter_map(|name| reading.value(name)).collect();
        let mut seats: Vec<_> = values.iter().flat_map(|value| &value.cells).filter_map(|cell| cell.seat).collect();
        seats.sort_by_key(|seat| seat.start);
        let shared = seats.windows(2).any(|pair| pair[0] == pair[1]);
        let certain = !shared && values.iter().all(|value| value.known().is_some());
        let Some(after) = edited(&scripts, &wishes, Variable::Auto) else {
            prop_assert!(!certain, "refused without a reason: {:?} {:?}", wishes, text);
            return Ok(());
        };
        let line = boot_line(&dash(&after).expect("an edited script is valid"));
        match &wishes[0] {
            Wish::Set(token) => prop_assert!(line.has_last(token), "{} {:?}", line, text),
            Wish::Add(token) => prop_assert!(line.has(token), "{} {:?}", line, text),
            Wish::AbsentKey(key) => prop_assert!(line.last(key).is_none(), "{} {:?}", line, text),
            Wish::Last(token) => prop_assert_eq!(line.last(&token.key()), Some(token)),
            Wish::Replace(key, tokens) => {
                prop_assert_eq!(line.all(key).cloned().collect::<Vec<_>>(), tokens.clone());
            }
            _ => {}
        }
        prop_assert_eq!(edited(&after, &wishes, Variable::Auto), Some(after.clone()));
        let main = after.iter().find(|script| script.path == MAIN).expect("the main file stays");
        prop_assert_eq!(foreign(&text), foreign(std::str::from_utf8(&main.bytes).expect("text")));
    }
}

/// Found by the property above: an argument that a line continuation splits is one piece all the same.
#[test]
fn an_argument_over_two_lines_is_changed_in_place() {
    let text = "GRUB_CMDLINE_LINUX_DEFAULT=\"p=\\\"1 \\\n 2\\\" \\\n q\"\n\
                GRUB_CMDLINE_LINUX_DEFAULT=\"${GRUB_CMDLINE_LINUX_DEFAULT:+$GRUB_CMDLINE_LINUX_DEFAULT }\\$t\"\n";
    let scripts = [Script { path: MAIN.to_owned(), bytes: text.as_bytes().to_vec() }];
    let after =
        edited(&scripts, &[Wish::Set(Token::read("p=\"3 4\""))], Variable::Auto).expect("it is changed");
    assert_eq!(dash(&after), Some([None, Some("p=\"3 4\"  q $t".to_owned())]));
    let gone = edited(&scripts, &[Wish::AbsentKey(Key::of("p"))], Variable::Auto).expect("it is taken away");
    assert!(!boot_line(&dash(&gone).expect("valid")).to_string().contains('p'), "{gone:?}");
}
