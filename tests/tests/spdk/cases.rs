//! All recorded cases, one after another: each answer is what a client makes of it.
use crate::bed::{case, cases, client};
use modules::programs::rpc::{ASKING, Reply, explained, method, taken};
use modules::vocabulary::{Row, Seen};
use serde_json::{Value as Json, json};
use std::time::Duration;
use tests::spdk::{Recorded, Served};
use tunerun::transport::rpc::Fault;

/// Recorded answers come in milliseconds; those that never came are not awaited long.
const LIMIT: Duration = Duration::from_secs(5);
const NEVER: Duration = Duration::from_millis(120);

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::too_many_lines, reason = "one story")]
async fn every_recorded_answer_is_understood() {
    let bed = crate::bed::Bed::new();
    let served = Served::new(&bed.socket(), crate::bed::target());
    let names = cases();
    assert_eq!(names.len(), 187);
    let (mut replies, mut faults, mut lists) = (0, 0, 0);
    for name in &names {
        let recorded = case(name);
        if recorded.get("subsystems").is_some() {
            // What SPDK's own client printed: it is no answer, and the modules' tests compare their list with it.
            lists += 1;
            continue;
        }
        let request = recorded.get("request").cloned().unwrap_or(Json::Null);
        let asked = request["method"].as_str().unwrap_or("spdk_get_version").to_owned();
        let params = request.get("params").cloned().unwrap_or(Json::Null);
        let answer = Some(recorded["response"].clone()).filter(|answer| !answer.is_null());
        let closes = recorded["connection_after"] == "closed";
        // A raw request had the number 1, or none.
        let id = request.get("id").cloned().unwrap_or_else(|| json!(1));
        let id = match &answer {
            Some(answer) if request.is_null() && answer["id"].is_u64() => answer["id"].clone(),
            _ => id,
        };
        let tail = recorded["response_tail_bytes"].as_str().unwrap_or_default();
        let tail = if name == "raw_two_requests_one_write" { "\n" } else { tail };
        served.state().recorded =
            Some(Recorded { answer: answer.clone(), id, tail: tail.to_owned(), closes });
        let link = bed.link().await;
        let mut client = client(&link, served.path()).await;
        let limit = if answer.is_none() && !closes { NEVER } else { LIMIT };
        let came = client.ask(&asked, &params, limit).await;
        match (&answer, came) {
            (None, Err(Fault::Closed { method, arrived: 0 })) if closes => {
                assert_eq!(method, asked, "{name}");
                faults += 1;
            }
            (None, Err(fault @ Fault::Late { .. })) if !closes => {
                assert!(fault.to_string().contains(&asked), "{name}: {fault}");
                faults += 1;
            }
            (Some(answer), Err(Fault::Unread { said, .. })) if answer["id"].is_null() => {
                assert!(said.contains("-32600"), "{name}: {said}");
                faults += 1;
            }
            (Some(answer), Err(Fault::Unasked { id, .. })) if answer["id"].is_string() => {
                assert!(id.contains("abc"), "{name}: {id}");
                faults += 1;
            }
            (Some(answer), Ok(Reply::Result(result))) => {
                assert_eq!(result, answer["result"], "{name}");
                if !request.is_null() {
                    result_is_taken(name, &asked, &params, &result);
                }
                replies += 1;
            }
            (Some(answer), Ok(Reply::Error { code, message })) => {
                assert_eq!(
                    (&json!(code), &json!(message)),
                    (&answer["error"]["code"], &answer["error"]["message"]),
                    "{name}"
                );
                let words = explained(&asked, &params, code, &message);
                assert!(words.contains(&asked) && words.contains(&message), "{name}: {words}");
                if method(&asked).is_some() && code == -12 {
                    assert!(words.contains("huge pages"), "{name}: {words}");
                }
                replies += 1;
            }
            (answer, came) => panic!("{name}: {answer:?} became {came:?}"),
        }
        client.close().await;
    }
    assert_eq!((replies + faults + lists, lists), (187, 1));
    assert!(faults >= 9, "{faults} faults");
}

/// Every row that asks a method understands each of its recorded results.
fn result_is_taken(name: &str, asked: &str, params: &Json, result: &Json) {
    for row in ASKING.iter().filter(|row| row.method == asked) {
        let args = ["vhost.0", "0"];
        let row = Row::new(row.name, args[..row.takes].iter().copied());
        let seen = taken(&row, &Reply::Result(result.clone()));
        assert!(!matches!(seen, Seen::Failed(_)), "{name}, {params}: {seen:?}");
    }
}

#[test]
fn a_session_is_seen_in_the_recorded_answer() {
    let recorded = case("vhost_get_controllers_with_client");
    let reply = Reply::Result(recorded["response"]["result"].clone());
    assert_eq!(
        taken(&Row::new("spdk-sessions", ["vhost.0"]), &reply),
        Seen::Value("[\"vhost.0s0\"]".to_owned())
    );
    assert_eq!(taken(&Row::new("spdk-slot", ["vhost.0", "0"]), &reply), Seen::Value("Malloc0".to_owned()));
    assert_eq!(taken(&Row::new("spdk-slot", ["vhost.0", "1"]), &reply), Seen::Absent);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_requests_in_one_write_have_two_answers() {
    let bed = crate::bed::Bed::new();
    let served = Served::new(&bed.socket(), crate::bed::target());
    let link = bed.link().await;
    let mut client = client(&link, served.path()).await;
    let asked = [("spdk_get_version", &Json::Null), ("framework_wait_init", &Json::Null)];
    let (replies, fault) = client.ask_all(&asked, LIMIT).await;
    assert_eq!(fault, None);
    let recorded = case("raw_two_requests_one_write");
    assert_eq!(replies[0], Some(Reply::Result(recorded["response"]["result"].clone())));
    assert_eq!(replies[1], Some(Reply::Result(json!(true))));
}
