//! What a host is told to run a benchmark or its server: a process group of its own, which ends with its time or with
//! us. A POSIX shell, `setsid` of util-linux or busybox, and /proc are enough.
use crate::bench::{Answers, Call, Server};
use crate::transport::shell::word::quote;
use std::fmt::Write as _;
use std::time::Duration;

/// What a server says once it answers.
pub const READY: &str = "tunerun: ready";

/// How long each command afterwards may take.
pub const AFTER: Duration = Duration::from_secs(60);

/// What starts every script: the program gets no input, since ours is the lifeline, and the shell's own words are lost.
const BEGIN: &str = "command -v setsid >/dev/null 2>&1 || { echo 'setsid is not installed: without it a benchmark cannot \
be ended for sure' >&2; exit 127; }; exec 3<&0 4>&2 </dev/null 2>/dev/null; \
end() { for g; do kill -KILL -$g || kill -KILL $g; kill -KILL -$g; done; }; ";

fn words(argv: &[String]) -> String {
    argv.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ")
}

/// Two watchers of the process group `$p`: one until our end, one until its time is over. Each is a group of its own, so
/// that nothing of it stays behind.
fn watchers(limit: Duration) -> String {
    let clock = clock(limit);
    format!(
        "setsid sh -c 'cat >/dev/null; kill -KILL -\"$1\"' tunerun $p <&3 >/dev/null 4>&- & w=$!; {clock}exec 3<&-; "
    )
}

/// The watcher `$l` of the process group `$p`, until its time is over.
fn clock(limit: Duration) -> String {
    let seconds = limit.as_secs().max(1);
    format!(
        "setsid sh -c 'sleep \"$2\"; kill -KILL -\"$1\"' tunerun $p {seconds} </dev/null >/dev/null 3<&- 4>&- & l=$!; "
    )
}

/// The end of whatever the program left, and of the watchers. A child that is not yet the leader of its group is ended
/// alone, and what it may have started in between by its group afterwards.
const END: &str = "end $p $w $l; ";

/// A call of a benchmark.
pub fn call(call: &Call) -> String {
    let mut text = BEGIN.to_owned();
    let env: String = call.env.iter().map(|(name, value)| format!("{name}={} ", quote(value))).collect();
    let env = if env.is_empty() { String::new() } else { format!("env {env}") };
    let _ = write!(text, "setsid {env}{} </dev/null 2>&4 3<&- 4>&- & p=$!; ", words(&call.argv));
    text.push_str(&watchers(call.limit));
    text.push_str("wait $p; r=$?; ");
    text.push_str(END);
    for argv in &call.after {
        let _ = write!(text, "setsid {} </dev/null >/dev/null 2>&4 4>&- & p=$!; ", words(argv));
        text.push_str(&clock(AFTER));
        text.push_str("wait $p; end $p $l; ");
    }
    text.push_str("exit $r");
    text
}

/// A server: it says [`READY`] once it answers, and runs until our end.
pub fn server(server: &Server, limit: Duration) -> String {
    let mut text = BEGIN.to_owned();
    let answers = match &server.at {
        Answers::Port(port) => format!(
            "answers() {{ for f in /proc/net/tcp /proc/net/tcp6; do while read -r _ a _ s _; do \
             case \"$a $s\" in *:{port:04X}' 0A') return 0;; esac; done <$f; done; return 1; }}; \
             if answers; then echo 'port {port} is taken already' >&4; exit 1; fi; "
        ),
        Answers::Socket(path) => {
            let path = quote(path);
            format!(
                "answers() {{ [ -S {path} ]; }}; \
                 if answers; then printf '%s is there already\\n' {path} >&4; exit 1; fi; "
            )
        }
    };
    text.push_str(&answers);
    let _ = write!(text, "setsid {} </dev/null >/dev/null 2>&4 3<&- 4>&- & p=$!; ", words(&server.argv));
    text.push_str(&watchers(limit));
    let _ = write!(
        text,
        "i=0; until answers; do kill -0 $p || {{ echo 'the server ended at once' >&4; {END}exit 1; }}; i=$((i+1)); \
         [ $i -lt 400 ] || {{ echo 'the server does not answer' >&4; {END}exit 1; }}; sleep 0.05 || sleep 1; done; \
         echo '{READY}'; wait $p; r=$?; {END}exit $r"
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};
    use std::time::Instant;

    fn argv(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    fn start(shell: &[&str], text: &str) -> std::process::Child {
        let mut command = Command::new(shell[0]);
        command.args(&shell[1..]).arg("-c").arg(text);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    const SHELLS: [&[&str]; 3] = [&["dash"], &["bash"], &["busybox", "sh"]];

    /// Whether some process has this word among its arguments.
    fn runs(word: &str) -> bool {
        let all = std::fs::read_dir("/proc").unwrap().flatten();
        all.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
            .any(|line| line.split(|byte| *byte == 0).any(|own| own == word.as_bytes()))
    }

    fn until(what: impl Fn() -> bool) {
        let end = Instant::now() + Duration::from_secs(10);
        while !what() {
            assert!(Instant::now() < end, "it never was so");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn outputs_and_status_come_back_as_they_are() {
        let odd = "a'b $x `y`\n\"z\"";
        let one = Call {
            env: vec![("ODD", odd.to_owned())],
            ..Call::new(
                argv(&["sh", "-c", "printf %s \"$ODD\"; printf %s \"$1\" >&2; exit 7", "x", odd]),
                Duration::from_secs(20),
            )
        };
        for shell in SHELLS {
            let mut child = start(shell, &call(&one));
            // Its input stays open until its end.
            let input = child.stdin.take();
            let output = child.wait_with_output().unwrap();
            drop(input);
            assert_eq!(output.status.code(), Some(7), "{shell:?}");
            assert_eq!(String::from_utf8_lossy(&output.stdout), odd, "{shell:?}");
            assert_eq!(String::from_utf8_lossy(&output.stderr), odd, "{shell:?}");
        }
    }

    #[test]
    fn the_whole_group_ends_with_its_time_or_with_us() {
        for (number, shell) in SHELLS.into_iter().enumerate() {
            let word = format!("86{number}{}", std::process::id());
            let sleeps = argv(&["sh", "-c", "sleep \"$1\" & sleep \"$1\"", "x", &word]);
            let mut child = start(shell, &call(&Call::new(sleeps.clone(), Duration::from_secs(600))));
            until(|| runs(&word));
            drop(child.stdin.take());
            assert_eq!(child.wait().unwrap().code(), Some(137), "{shell:?}");
            until(|| !runs(&word));
            let mut late = start(shell, &call(&Call::new(sleeps, Duration::from_secs(1))));
            let input = late.stdin.take();
            assert_eq!(late.wait().unwrap().code(), Some(137), "{shell:?}");
            until(|| !runs(&word));
            drop(input);
        }
    }

    /// A program that ends at once must not outrun the end of its watchers: each would wait for the whole time.
    #[test]
    fn no_watcher_stays_behind_a_program_that_ends_at_once() {
        for (number, shell) in SHELLS.into_iter().enumerate() {
            let seconds = 90_000 + u64::from(std::process::id()) * 3 + number as u64;
            let text = call(&Call::new(argv(&["false"]), Duration::from_secs(seconds)));
            for _ in 0..60 {
                let mut child = start(shell, &text);
                let input = child.stdin.take();
                assert_eq!(child.wait().unwrap().code(), Some(1), "{shell:?}");
                drop(input);
            }
            until(|| !runs(&seconds.to_string()));
        }
    }

    #[test]
    fn what_comes_after_comes_in_any_case() {
        let file = std::env::temp_dir().join(format!("tunerun-after-{}", std::process::id()));
        let after = vec![argv(&["touch", file.to_str().unwrap()])];
        let one = Call { after, ..Call::new(argv(&["false"]), Duration::from_secs(5)) };
        let mut child = start(&["dash"], &call(&one));
        let input = child.stdin.take();
        assert_eq!(child.wait().unwrap().code(), Some(1));
        drop(input);
        std::fs::remove_file(file).unwrap();
    }

    #[test]
    fn a_server_that_does_not_come_up_says_why() {
        let of = |at, words: &[&str]| server(&Server { argv: argv(words), at }, Duration::from_secs(30));
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = taken.local_addr().unwrap().port();
        for shell in SHELLS {
            let output = start(shell, &of(Answers::Port(port), &["sleep", "5"])).wait_with_output().unwrap();
            assert!(String::from_utf8_lossy(&output.stderr).contains("is taken already"), "{output:?}");
            let mut child = start(shell, &of(Answers::Socket("/nonexistent/s".into()), &["false"]));
            let input = child.stdin.take();
            let output = child.wait_with_output().unwrap();
            drop(input);
            assert!(String::from_utf8_lossy(&output.stderr).contains("ended at once"), "{output:?}");
        }
    }
}
