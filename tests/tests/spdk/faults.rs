//! Faults that real targets show, on a client and on plays.
use crate::bed::{ALL, Bed, client, target};
use modules::programs::rpc::Reply;
use serde_json::{Value as Json, json};
use std::time::Duration;
use tests::spdk::{Fault as Shown, Served};
use tunerun::transport::rpc::Fault;

const LIMIT: Duration = Duration::from_millis(600);

#[tokio::test(flavor = "multi_thread")]
async fn a_client_tells_every_fault() {
    let bed = Bed::new();
    let served = Served::new(&bed.socket(), target());
    let params = json!({ "name": "M", "num_blocks": 1024, "block_size": 512 });
    let name = "bdev_malloc_create";
    for (shown, is_done) in [
        (Shown::Trickle, true),
        (Shown::Together, true),
        (Shown::Slow(Duration::from_millis(200)), true),
        (Shown::Garbage, true),
        (Shown::WrongId, true),
        (Shown::CloseMid, true),
        (Shown::CloseSilent, true),
        (Shown::CloseUndone, false),
        (Shown::Silent, true),
    ] {
        served.state().target = target();
        served.fault(name, shown.clone());
        let link = bed.link().await;
        let mut client = client(&link, served.path()).await;
        let came = client.ask(name, &params, LIMIT).await;
        let fine = match (&shown, &came) {
            (Shown::Trickle | Shown::Together | Shown::Slow(_), Ok(Reply::Result(result))) => *result == "M",
            (Shown::Garbage, Err(Fault::Garbage { why, .. })) => why.contains("Segmentation"),
            (Shown::WrongId, Err(Fault::Unasked { id, .. })) => id == "4711",
            (Shown::CloseMid, Err(Fault::Closed { arrived, .. })) => *arrived > 0,
            (Shown::CloseSilent | Shown::CloseUndone, Err(Fault::Closed { arrived, .. })) => *arrived == 0,
            (Shown::Silent, Err(Fault::Late { .. })) => true,
            _ => false,
        };
        assert!(fine, "{shown:?} became {came:?}");
        if let Err(fault) = came {
            assert!(fault.to_string().contains(name), "{fault}");
        }
        assert_eq!(served.asked(), [name], "{shown:?}: it is sent once");
        assert_eq!(served.target() != target(), is_done, "{shown:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_in_one_write_are_told_apart() {
    let bed = Bed::new();
    let served = Served::new(&bed.socket(), target());
    let link = bed.link().await;
    let methods = ["spdk_get_version", "framework_get_reactors", "bdev_get_bdevs", "vhost_get_controllers"];
    for method in methods {
        served.fault(method, Shown::Together);
    }
    let asked: Vec<(&str, &Json)> = methods.iter().map(|method| (*method, &Json::Null)).collect();
    let (replies, fault) = client(&link, served.path()).await.ask_all(&asked, LIMIT).await;
    assert_eq!(fault, None);
    assert_eq!(replies[2], Some(Reply::Result(json!([]))));
    assert!(replies.iter().all(Option::is_some));
}

/// What was done though its answer was lost is found by a look, and goes back with the rest.
#[test]
fn a_lost_answer_is_looked_at_and_taken_back() {
    for shown in [Shown::CloseMid, Shown::CloseSilent, Shown::CloseUndone, Shown::Garbage, Shown::WrongId] {
        let bed = Bed::new();
        let served = Served::new(&bed.socket(), target());
        bed.vhost(ALL, "");
        served.fault("vhost_create_blk_controller", shown.clone());
        bed.play().ended(1).says(&["vhost_create_blk_controller", "not known"]);
        assert_eq!(served.target(), target(), "{shown:?}");
        let sent: Vec<String> = served.asked();
        let blk = sent.iter().filter(|method| *method == "vhost_create_blk_controller").count();
        assert_eq!(blk, 1, "{shown:?}: it is never sent again blindly");
        assert!(!bed.list().exists(), "{shown:?}: the list goes back too");
        bed.play().ended(0);
        assert!(served.target() != target(), "{shown:?}");
    }
}

#[test]
fn answers_that_come_in_pieces_or_late_are_answers() {
    let bed = Bed::new();
    let served = Served::new(&bed.socket(), target());
    bed.vhost(ALL, "");
    served.fault("bdev_malloc_create", Shown::Trickle);
    served.fault("bdev_get_bdevs", Shown::Trickle);
    served.fault("vhost_get_controllers", Shown::Together);
    served.fault("bdev_aio_create", Shown::Slow(Duration::from_secs(1)));
    bed.play().ended(0);
    bed.play().ended(0).never_says("changed on");
}

#[test]
fn no_memory_names_the_huge_pages_and_nothing_stays() {
    let bed = Bed::new();
    let small = modules::host::Target::new(&[0, 1], 16 << 20);
    let served = Served::new(&bed.socket(), small.clone());
    bed.vhost(ALL, "");
    bed.play().ended(1).says(&["bdev_malloc_create", "Cannot allocate memory", "huge pages"]);
    assert_eq!(served.target(), small);
}

#[test]
fn a_look_that_fails_is_no_absence() {
    let bed = Bed::new();
    let served = Served::new(&bed.socket(), target());
    bed.vhost(ALL, "");
    served.fault("vhost_get_controllers", Shown::Garbage);
    bed.play().ended(1).says(&["vhost_get_controllers", "not JSON-RPC"]);
    assert_eq!(served.target(), target());
    drop(served);
    // A socket that a dead target left.
    assert!(bed.socket().exists());
    bed.play().ended(1).says(&["nobody serves"]);
}
