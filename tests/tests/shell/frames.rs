//! Frames, sections, statuses; what a script does to its shell.
use crate::{INTERPRETERS, open, run};
use tunerun::transport::{Identity, Script};

#[tokio::test]
async fn sections_carry_both_streams_and_status() {
    for interpreter in INTERPRETERS {
        let host = open(interpreter).await;
        let answer =
            run(&host, "echo one; echo oops >&2; s first 0; (exit 7); s second $?; printf tail; exit 3")
                .await;
        let tags: Vec<_> = answer.sections.iter().map(|section| (section.tag.as_str(), section.rc)).collect();
        assert_eq!(tags, [("first", Some(0)), ("second", Some(7))], "{interpreter}");
        let first = answer.section("first").unwrap();
        assert_eq!((first.stdout.text(), first.stderr.text()), ("one\n".into(), "oops\n".into()));
        assert_eq!((answer.rest.stdout.text(), answer.rc), ("tail".into(), 3), "{interpreter}");
    }
}

#[tokio::test]
async fn nothing_in_a_subshell_harms_the_shell() {
    for interpreter in INTERPRETERS {
        let host = open(interpreter).await;
        let long = "x".repeat(5000);
        for (text, rc) in [
            ("exit 9".to_owned(), Some(9)),
            ("if then fi (".to_owned(), None),
            ("echo 'unfinished".to_owned(), None),
            (format!("echo 'unfinished {long}"), None),
            ("cat <<X\nno end".to_owned(), Some(0)),
            ("set -e; false; echo no".to_owned(), Some(1)),
            ("kill -9 $(exec sh -c 'echo $PPID')".to_owned(), Some(137)),
            ("s() { :; }; _m=x; unset _k _c; exec >/dev/null 2>&1; cd /tmp; umask 0".to_owned(), Some(0)),
            ("return 4".to_owned(), None),
            ("break".to_owned(), None),
            ("exec 3<&0; cat; read line".to_owned(), None),
        ] {
            let answer = run(&host, &text).await;
            match rc {
                Some(rc) => assert_eq!(answer.rc, rc, "{interpreter}: {text}"),
                None => assert!(text == "break" || answer.rc != 0, "{interpreter}: {text}: {answer:?}"),
            }
            let after = run(&host, "pwd; umask; echo $LC_ALL; s x 0").await;
            let after = after.section("x").unwrap().stdout.text();
            assert_eq!(after.replace("0022", "022"), "/\n022\nC\n", "{interpreter} {text}");
        }
    }
}

#[tokio::test]
async fn commands_cannot_eat_frames() {
    for interpreter in INTERPRETERS {
        let host = open(interpreter).await;
        let answer = run(&host, "cat; s a $?; head -c 5; s b $?; sh -c 'read x'; s c $?").await;
        assert_eq!(answer.sections.len(), 3, "{interpreter}");
        assert!(answer.sections.iter().all(|section| section.stdout.is_empty()));
    }
}

#[tokio::test]
async fn a_session_script_stays_and_its_lock_is_not_inherited() {
    for interpreter in INTERPRETERS {
        let host = open(interpreter).await;
        let file = format!("/tmp/tunerun-lock-{}-{}", std::process::id(), interpreter.replace(' ', "-"));
        let take = Script::new(format!("exec 9>{file}; flock -n 9; _kept=5")).in_session();
        assert_eq!(host.run(&Identity::Login, &take).await.unwrap().rc, 0, "{interpreter}");
        let answer = run(&host, "echo $_kept; sleep 20 & echo $!").await;
        let text = answer.rest.stdout.text();
        let (kept, child) = text.trim().split_once('\n').unwrap();
        assert_eq!(kept, "5", "{interpreter}");
        let other = open(interpreter).await;
        let busy = run(&other, &format!("flock -n {file} true")).await;
        assert_eq!(busy.rc, 1, "{interpreter}: the lock is held");
        host.close().await;
        let free = run(&other, &format!("for i in 1 2 3 4 5 6 7 8 9; do flock -n {file} true && break; sleep 0.1; done; rc=$?; kill {child}; exit $rc")).await;
        std::fs::remove_file(&file).unwrap();
        assert_eq!(free.rc, 0, "{interpreter}: a child of the session holds its lock");
    }
}

#[tokio::test]
async fn two_hundred_sections_and_many_frames_stay_in_step() {
    for interpreter in INTERPRETERS {
        let host = open(interpreter).await;
        let text: String =
            (0..200).map(|at| format!("echo out{at}; echo err{at} >&2; s t{at} {at}\n")).collect();
        for _ in 0..3 {
            let answer = run(&host, &text).await;
            assert_eq!(answer.sections.len(), 200);
            for (at, section) in answer.sections.iter().enumerate() {
                assert_eq!(section.rc, Some(i32::try_from(at).unwrap()));
                assert_eq!(section.stdout.text(), format!("out{at}\n"), "{interpreter}");
                assert_eq!(section.stderr.text(), format!("err{at}\n"), "{interpreter}");
            }
        }
        for at in 0..50 {
            assert_eq!(run(&host, &format!("exit {at}")).await.rc, at);
        }
        assert_eq!(host.tally().frames, 53);
        assert_eq!(host.tally().channels, 1);
    }
}

#[tokio::test]
async fn identities_have_shells_of_their_own() {
    let host = open("sh").await;
    let one = host.shell(&Identity::Login).await.unwrap();
    let two = host.shell(&Identity::Login).await.unwrap();
    assert_eq!(one.session(), two.session());
    one.close().await;
    let error = one.run(&Script::new(":")).await.unwrap_err();
    assert!(error.to_string().contains("did not end") || error.to_string().contains("ended"), "{error}");
    let three = host.shell(&Identity::Login).await.unwrap();
    assert_ne!(one.session(), three.session());
    assert_eq!(three.run(&Script::new("exit 6")).await.unwrap().rc, 6);
}
