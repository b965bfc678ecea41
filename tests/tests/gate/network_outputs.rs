//! iperf3 and ping on real outputs.
use super::outputs::{bad, data, good, never_passes, said, span};
use tunerun::bench::iperf3::Iperf3;
use tunerun::bench::ping::Ping;
use tunerun::bench::{Driver, Output, Reading};
use tunerun::gate::Figure;

fn iperf(more: &str) -> Iperf3 {
    serde_json::from_str(&format!(r#"{{"server": "127.0.0.1"{more}}}"#)).unwrap()
}

fn about(reading: &Reading, path: &str, value: f64) {
    let found = reading.number(path).unwrap_or_else(|| panic!("no {path} in {:?}", reading.figures));
    assert!((found / value - 1.0).abs() < 1e-9, "{path} is {found}, not {value}");
}

#[test]
fn what_arrived_counts_and_omitted_seconds_do_not() {
    let reading = good(&iperf(""), span(1, 6), &[said(0, &data("iperf3-3.12-tcp.json"))]);
    about(&reading, "sum_received.bits_per_second", 8_011_094_604.160_49);
    about(&reading, "retransmits_per_gib", 11.0 / (6_020_136_960.0 / 1_073_741_824.0));
    about(&reading, "rtt_us.mean", 216.0);
    assert_eq!(reading.per_second["sum_received.bits_per_second"].len(), 6, "the omitted second is left out");
    assert_eq!(reading.versions["iperf3"], "iperf 3.12");
    assert_eq!(reading.seen["tcp_congestion"], "bbr");
}

#[test]
fn streams_directions_and_processes() {
    let four = good(&iperf(r#", "streams": 4"#), span(1, 4), &[said(0, &data("iperf3-3.12-tcp-P4.json"))]);
    assert!(four.notes.iter().any(|note| note.contains("before iperf3 3.16")), "{:?}", four.notes);
    let both =
        good(&iperf(r#", "bidir": true"#), span(0, 4), &[said(0, &data("iperf3-3.12-tcp-bidir.json"))]);
    about(&both, "sum_received.bits_per_second", 3_443_137_313.057_986_3);
    about(&both, "reverse.bits_per_second", 3_036_095_205.633_724_7);
    let reverse = iperf(r#", "reverse": true"#);
    assert!(
        good(&reverse, span(0, 3), &[said(0, &data("iperf3-3.12-tcp-reverse.json"))])
            .number("sum_received.bits_per_second")
            .is_some()
    );
    let tcp = said(0, &data("iperf3-3.12-tcp.json"));
    let two = iperf(r#", "processes": 2"#);
    let sum = good(&two, span(1, 6), &[tcp.clone(), tcp.clone()]);
    about(&sum, "sum_received.bits_per_second", 2.0 * 8_011_094_604.160_49);
    assert!(bad(&two, span(1, 6), &[tcp]).contains("1 of 2 processes"));
}

#[test]
fn udp_tells_loss() {
    let udp = iperf(r#", "udp_bits_per_second": 200000000"#);
    let reading = good(&udp, span(0, 4), &[said(0, &data("iperf3-3.12-udp.json"))]);
    about(&reading, "sum_received.bits_per_second", 199_804_728.206_023);
    about(&reading, "lost_percent", 100.0 * 3.0 / 3052.0);
}

#[test]
fn status_0_is_no_proof_that_anything_was_measured() {
    let fine = [said(0, &data("iperf3-3.12-tcp.json"))];
    for (file, why) in [
        ("iperf3-3.12-error-refused.json", "Connection refused"),
        ("iperf3-3.12-error-busy.json", "busy"),
        ("iperf3-3.12-error-server-terminated.json", "terminated"),
    ] {
        let odd = [said(0, &data(file))];
        let told = bad(&iperf(""), span(1, 6), &odd);
        assert!(told.contains(why), "{told}");
        never_passes(&iperf(""), span(1, 6), "sum_received.bits_per_second", &fine, &odd);
    }
    // Without the error it looks healthy by what was sent, and nothing arrived.
    let text = data("iperf3-3.12-error-server-terminated.json");
    let quiet = text.replace("\"error\"", "\"mistake\"");
    let told = bad(&iperf(""), span(1, 6), &[said(0, &quiet)]);
    assert!(told.contains("nothing arrived"), "{told}");
    assert!(bad(&iperf(""), span(1, 60), &fine).contains("6.0 s of 60 s"));
}

fn ping() -> Ping {
    serde_json::from_str(r#"{"target": "10.0.0.2"}"#).unwrap()
}

#[test]
fn a_flood_is_read_and_its_first_packet_apart() {
    let first = said(0, &data("ping-iputils-20221126-plain-q.txt"));
    let reading = good(&ping(), span(0, 10), &[first, said(0, &data("ping-iputils-20221126-flood-q.txt"))]);
    assert_eq!(reading.number("rtt_ms.avg"), Some(0.003));
    assert_eq!(reading.number("rtt_ms.max"), Some(0.273));
    assert_eq!(reading.number("first.rtt_ms"), Some(0.030));
    assert_eq!(reading.number("percent"), Some(0.0));
    let calls = ping().calls(span(2, 10));
    assert_eq!(calls[0].argv.join(" "), "ping -n -q -c 1 -w 5 -s 56 10.0.0.2");
    assert_eq!(calls[1].argv.join(" "), "ping -n -q -c 20000 -w 12 -s 56 -f 10.0.0.2");
    assert_eq!(calls[1].env, [("LC_ALL", "C".to_owned())]);
}

#[test]
fn loss_is_counted_and_never_rounded() {
    let partial =
        good(&ping(), span(0, 10), &[said(0, &data("ping-iputils-20221126-flood-partial-loss.txt"))]);
    assert_eq!(partial.number("lost"), Some(9.0));
    assert_eq!(partial.number("percent"), Some(100.0 * 9.0 / 5130.0));
    assert!(partial.notes.iter().any(|note| note.contains("5130 of 20000")), "{:?}", partial.notes);
    assert!(matches!(partial.figures["first.rtt_ms"].figure, Figure::NotAvailable { .. }));
    let dots = good(&ping(), span(0, 10), &[said(0, &data("ping-iputils-20221126-flood-dots.txt"))]);
    assert!(dots.number("lost").is_some());
}

#[test]
fn nothing_that_comes_back_is_a_failure() {
    let fine = [said(0, &data("ping-iputils-20221126-flood-q.txt"))];
    let lost = [said(1, &data("ping-iputils-20221126-flood-all-lost.txt"))];
    assert!(bad(&ping(), span(0, 10), &lost).contains("all of 160 packets"));
    never_passes(&ping(), span(0, 10), "rtt_ms.avg", &fine, &lost);
    // The last line of the file is the status.
    let text = data("ping-iputils-20221126-unreachable.txt").replace("rc=2", "");
    let away = [Output { status: Some(2), stdout: String::new(), stderr: text }];
    let told = bad(&ping(), span(0, 10), &away);
    assert!(told.contains("Network is unreachable"), "{told}");
    never_passes(&ping(), span(0, 10), "rtt_ms.avg", &fine, &away);
}
