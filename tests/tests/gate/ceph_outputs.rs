//! Ceph's own benchmarks and observers, on real outputs.
use super::outputs::{bad, ceph, good, never_passes, said, span};
use tunerun::bench::ceph_osd_perf::CephOsdPerf;
use tunerun::bench::preflight;
use tunerun::bench::rados_bench::RadosBench;
use tunerun::bench::rbd_bench::RbdBench;
use tunerun::bench::{Driver, Overwritten};
use tunerun::gate::Figure;

fn rados(mode: &str) -> RadosBench {
    serde_json::from_str(&format!(r#"{{"pool": "bench", "mode": "{mode}", "block_size": "64K"}}"#)).unwrap()
}

#[test]
fn rados_bench_counts_work_over_time() {
    let write = good(&rados("write"), span(0, 5), &[said(0, &ceph("rados-bench-write.json"))]);
    let iops = write.number("iops").unwrap();
    assert!((iops - 2680.0 / 5.032_765).abs() < 1e-9, "the tool's own 532 is cut off: {iops}");
    assert!(
        (write.number("bw_bytes").unwrap() / (33.281_901 * 1_048_576.0) - 1.0).abs() < 1e-5,
        "MB/sec is MiB/s"
    );
    assert_eq!(write.number("latency.mean"), Some(0.030_013));
    assert_eq!(write.per_second["bw_bytes"].len(), 5);
    assert!(matches!(write.figures["latency.p99"].figure, Figure::NotAvailable { .. }));
    let rand = good(&rados("rand"), span(0, 3), &[said(0, &ceph("rados-bench-rand.json"))]);
    assert!((rand.number("iops").unwrap() - 16_586.0 / 3.006_59).abs() < 1e-9);
}

#[test]
fn its_text_says_the_same() {
    let write = good(&rados("write"), span(0, 3), &[said(0, &ceph("rados-bench-write.txt"))]);
    assert!((write.number("iops").unwrap() - 1801.0 / 3.009_72).abs() < 1e-9);
    assert_eq!(write.number("latency.max"), Some(0.110_006));
    let rand = good(&rados("rand"), span(0, 3), &[said(0, &ceph("rados-bench-rand.txt"))]);
    assert_eq!(rand.number("latency.mean"), Some(0.003_163_99));
    // Labels of other releases: no colon, and no unit.
    let other = ceph("rados-bench-rand.txt")
        .replace("Average IOPS:         5026", "Average IOPS          5026")
        .replace("Average Latency(s):", "Average Latency:");
    assert_eq!(
        good(&rados("rand"), span(0, 3), &[said(0, &other)]).number("latency.mean"),
        Some(0.003_163_99)
    );
}

#[test]
fn objects_that_run_out_or_are_anothers_do_not_count() {
    let told = bad(&rados("seq"), span(0, 3), &[said(0, &ceph("rados-bench-seq.json"))]);
    assert!(told.contains("0.5 s of 3 s") && told.contains("write more first"), "{told}");
    let four_m: RadosBench = serde_json::from_str(r#"{"pool": "bench", "mode": "rand"}"#).unwrap();
    let told = bad(&four_m, span(0, 3), &[said(0, &ceph("rados-bench-rand.json"))]);
    assert!(told.contains("another run left them"), "{told}");
    let fine = [said(0, &ceph("rados-bench-rand.json"))];
    never_passes(&rados("rand"), span(0, 3), "iops", &fine, &[said(0, &ceph("rados-bench-seq.json"))]);
    never_passes(
        &rados("rand"),
        span(0, 3),
        "iops",
        &fine,
        &[said(1, "error opening pool bench: (2) No such file")],
    );
    never_passes(
        &rados("rand"),
        span(0, 3),
        "iops",
        &fine,
        &[said(0, "hints = 1\n{\"datas\":[{\"sec\":\"0\"")],
    );
}

#[test]
fn rbd_bench_is_read_with_its_units() {
    let bench = |kind: &str, size: &str, total: u64| -> RbdBench {
        serde_json::from_str(&format!(
            r#"{{"image": "bench/img", "io_type": "{kind}", "io_size": "{size}", "io_total": {total}}}"#
        ))
        .unwrap()
    };
    let read = bench("read", "16K", 33_554_432);
    let reading = good(&read, span(0, 10), &[said(0, &ceph("rbd-bench-read.txt"))]);
    assert_eq!(reading.number("iops"), Some(24_381.0));
    assert_eq!(reading.number("bw_bytes"), Some(381.0 * 1_048_576.0));
    assert!(reading.notes.iter().any(|note| note.contains("less than 10 s")));
    let write = bench("write", "64K", 67_108_864);
    assert_eq!(
        good(&write, span(0, 10), &[said(0, &ceph("rbd-bench-write.txt"))]).number("iops"),
        Some(1_765.52)
    );
    assert_eq!(write.overwrites(), [Overwritten::Image { spec: "bench/img".into(), user: None }]);
    // Older releases print plain numbers and two blanks.
    let old = "elapsed:     3  ops:     2048  ops/sec:   611.90  bytes/sec: 10025369.60\n";
    assert_eq!(good(&read, span(0, 10), &[said(0, old)]).number("bw_bytes"), Some(10_025_369.6));
    for odd in ["", "elapsed: 0 ops: 12 ops/sec: 3 bytes/sec: 4 KiB/s", "rbd: error opening image img: (2)"] {
        never_passes(&read, span(0, 10), "iops", &[said(0, &ceph("rbd-bench-read.txt"))], &[said(0, odd)]);
    }
}

#[test]
fn an_idle_osd_has_no_latency_of_zero() {
    let perf = CephOsdPerf::default();
    let reading = good(&perf, span(0, 10), &[said(0, &ceph("osd-perf.json"))]);
    assert!(!perf.loads());
    for path in ["osd.2.commit_latency_ms", "commit_latency_ms", "apply_latency_ms"] {
        assert!(matches!(reading.figures[path].figure, Figure::NotAvailable { .. }), "{path}");
    }
    let busy = ceph("osd-perf.json").replacen("\"commit_latency_ns\":0", "\"commit_latency_ns\":2500000", 1);
    let reading = good(&perf, span(0, 10), &[said(0, &busy)]);
    assert_eq!(reading.number("commit_latency_ms"), Some(2.5));
    assert_eq!(reading.number("osd.2.commit_latency_ms"), Some(2.5));
    // A cluster that cannot be asked is not available, and no failure.
    let none = good(&perf, span(0, 10), &[said(1, "")]);
    assert!(matches!(none.figures["commit_latency_ms"].figure, Figure::NotAvailable { .. }));
}

#[test]
fn a_cluster_is_fit_only_when_clean() {
    let status = |name: &str| serde_json::from_str(&ceph(name)).unwrap();
    assert_eq!(preflight::cluster(&status("status.json"), &[]), Vec::<String>::new());
    let down = preflight::cluster(&status("status-final.json"), &[]);
    assert!(down.iter().any(|why| why.starts_with("OSD_DOWN: 1 osds down")), "{down:?}");
    let allowed = ["OSD_DOWN", "OSD_HOST_DOWN", "PG_DEGRADED"].map(Into::into);
    let rest = preflight::cluster(&status("status-final.json"), &allowed);
    assert!(!rest.is_empty() && rest.iter().all(|why| why.contains("not clean")), "{rest:?}");
    let scrub = ceph("status.json").replace("active+clean", "active+clean+scrubbing+deep");
    let scrub = preflight::cluster(&serde_json::from_str(&scrub).unwrap(), &[]);
    assert!(scrub[0].contains("a scrub is running"), "{scrub:?}");
    assert!(
        !preflight::cluster(&serde_json::json!({}), &[]).is_empty(),
        "a status that tells nothing is not fit"
    );
}
