//! Every trap of fio's output, on real ones.
use super::outputs::{bad, ceph, data, good, never_passes, said, span};
use tunerun::bench::fio::{Engine, Fio, Pattern};
use tunerun::bench::{Output, Reading};
use tunerun::gate::Figure;

fn job(depth: u32) -> Fio {
    Fio { iodepth: depth, filename: Some("t.dat".into()), ..Fio::new(Engine::Libaio, Pattern::Randread) }
}

fn read(file: &str, depth: u32, seconds: u64) -> Reading {
    good(&job(depth), span(0, seconds), &[said(0, &data(file))])
}

fn about(reading: &Reading, path: &str, value: f64) {
    let found = reading.number(path).unwrap_or_else(|| panic!("no {path} in {:?}", reading.figures.keys()));
    assert!((found / value - 1.0).abs() < 1e-6, "{path} is {found}, not {value}");
}

#[test]
fn a_plain_run_gives_work_over_time() {
    let reading = read("fio-3.33-libaio-randread.json", 16, 12);
    about(&reading, "read.iops", 30_514.9975);
    about(&reading, "read.bw_bytes", 124_994_548.0);
    about(&reading, "read.clat_ns.mean", 516_239.120_910);
    about(&reading, "read.clat_ns.p99", 5_210_112.0);
    about(&reading, "read.clat_ns.p99.9", 12_517_376.0);
    about(&reading, "iops", 30_514.9975);
    assert!(reading.number("write.iops").is_none(), "no direction that was not used");
    assert_eq!(reading.versions["fio"], "fio-3.33");
    // 366,256 completions are too few for five nines, and enough for three.
    assert!((reading.figures["read.clat_ns.p99"].floor - 0.008).abs() < 1e-12, "bins are steps");
    let cpu = reading.number("cpu_per_io").unwrap();
    assert!((1.0..100.0).contains(&cpu), "{cpu} µs");
    assert!(reading.notes.is_empty(), "{:?}", reading.notes);
}

#[test]
fn seconds_are_read_from_the_log() {
    let seconds = tunerun::bench::fio::seconds(&data("fio-3.33-libaio-randread_iops.1.log"));
    assert_eq!(seconds.len(), 11);
    assert_eq!(seconds[..2], [24_912.0, 21_196.0]);
}

#[test]
fn text_before_and_after_the_report_is_no_part_of_it() {
    let noted = read("fio-3.33-psync-iodepth-note-before-json.txt", 32, 2);
    assert!(noted.number("iops").is_some());
    assert!(noted.notes.iter().any(|note| note.contains("synchronous")), "{:?}", noted.notes);
    assert!(noted.notes.iter().any(|note| note.contains("32 deep only")), "{:?}", noted.notes);
    about(&read("fio-3.33-json-normal-mixed-output.txt", 4, 4), "iops", 95_493.0 / 4.001);
}

#[test]
fn of_several_reports_the_last_is_the_run() {
    let reading = read("fio-3.33-status-interval-concatenated.json", 1, 1);
    assert!(reading.notes.iter().any(|note| note.contains("5 reports")), "{:?}", reading.notes);
    let text = data("fio-3.33-status-interval-concatenated.json");
    let last = text.rsplit_once("\n{").map(|(_, last)| format!("{{{last}")).unwrap();
    let alone = good(&job(1), span(0, 1), &[said(0, &last)]);
    assert_eq!(reading.number("iops"), alone.number("iops"));
}

#[test]
fn jobs_are_added_up_and_percentiles_never_averaged() {
    let grouped = read("fio-3.33-randrw-3jobs-group_reporting.json", 1, 4);
    about(&grouped, "read.iops", 37_124.968_758);
    about(&grouped, "iops", 37_124.968_758 + 15_923.269_183);
    assert!(grouped.number("read.clat_ns.p99").is_some());
    let apart = read("fio-3.33-randrw-3jobs-per-job.json", 1, 4);
    about(&apart, "read.iops", 13_217.195_701 + 12_045.988_503 + 13_215.196_201);
    let p99 = &apart.figures["read.clat_ns.p99"].figure;
    assert!(matches!(p99, Figure::NotAvailable { why } if why.contains("cannot be averaged")), "{p99:?}");
    // The job's time on a core is that of all jobs.
    let [a, b] = [&grouped, &apart].map(|reading| reading.number("cpu_per_io").unwrap());
    assert!((a / b - 1.0).abs() < 0.5, "{a} {b}");
}

#[test]
fn percentiles_stand_under_lat_where_they_were_asked_for() {
    let reading = read("fio-3.33-randrw-unified-lat_percentiles.json", 8, 4);
    about(&reading, "mixed.iops", 19_350.074_963);
    about(&reading, "mixed.lat_ns.p99", 5_210_112.0);
    assert!(!reading.figures.contains_key("mixed.clat_ns.p99"), "an absent percentile is not zero");
    let few = &reading.figures["mixed.lat_ns.p99.99"].figure;
    assert_eq!(few, &Figure::Insufficient { had: 77_439, needs: 1_000_000 });
}

#[test]
fn bins_give_the_same_percentiles() {
    let reading = read("fio-3.33-io_uring-randwrite-jsonplus.json", 4, 4);
    about(&reading, "write.iops", 4_982.008_996);
    assert!(reading.number("write.clat_ns.p99").is_some());
}

#[test]
fn a_short_job_without_samples_still_has_its_rate() {
    let mut short = job(1);
    (short.prefill, short.rw) = (true, Pattern::Write);
    let reading = good(&short, span(0, 10), &[said(0, &data("fio-3.33-short-not-time_based.json"))]);
    about(&reading, "iops", 400.0);
    // Where a time was asked for, it ran out of work.
    let told = bad(&job(1), span(0, 10), &[said(0, &data("fio-3.33-short-not-time_based.json"))]);
    assert!(told.contains("ran 0.0 s of 10 s"), "{told}");
}

#[test]
fn steady_state_is_told() {
    let attained = read("fio-3.33-steadystate-attained.json", 8, 1);
    assert!(
        attained.notes.iter().any(|note| note.contains("depends on its figures")),
        "{:?}",
        attained.notes
    );
    let not = read("fio-3.33-steadystate-not-attained.json", 8, 9);
    assert!(not.notes.iter().any(|note| note.contains("not attained")), "{:?}", not.notes);
}

#[test]
fn every_way_to_fail_is_a_failure() {
    let with_errors = |status: i32, name: &str| Output {
        status: Some(status),
        stdout: data(&format!("{name}.stdout")),
        stderr: data(&format!("{name}.stderr")),
    };
    let driver = job(16);
    let fine = [said(0, &data("fio-3.33-libaio-randread.json"))];
    for (output, why) in [
        (with_errors(1, "fio-3.33-error-engine"), "failed to load engine"),
        (with_errors(1, "fio-3.33-error-enospc"), "No space left on device"),
        (with_errors(1, "fio-3.33-error-open"), "file creation disallowed"),
        (with_errors(1, "fio-3.33-error-rbd-no-cluster"), "fio_rbd_connect failed"),
        // The same reports with status 0: the errors in them, and no work done.
        (with_errors(0, "fio-3.33-error-enospc"), "met error 28"),
        (with_errors(0, "fio-3.33-error-open"), "completed nothing"),
        (with_errors(0, "fio-3.33-error-rbd-no-cluster"), "completed nothing"),
        (with_errors(0, "fio-3.33-error-engine"), "printed no report"),
        (said(0, &data("fio-3.33-error-continue_on_error.stdout")), "error"),
        (said(128, &data("fio-3.33-sigterm-main-rc128.stdout")), "ended with 128"),
        (said(0, &data("fio-3.33-sigterm-main-rc128.stdout")), "interrupted"),
        (said(0, &data("fio-3.33-sigint-worker-rc0.stdout")), "interrupted"),
        (said(0, ""), "printed no report"),
        (Output { status: None, ..fine[0].clone() }, "killed"),
        (said(127, "bash: fio: command not found"), "fio is not there"),
    ] {
        let told = bad(&driver, span(0, 12), std::slice::from_ref(&output));
        assert!(told.contains(why), "{told:?} says nothing of {why:?}");
        never_passes(&driver, span(0, 12), "read.iops", &fine, &[output]);
    }
}

#[test]
fn a_report_that_is_cut_off_anywhere_is_never_taken() {
    let whole = data("fio-3.33-libaio-randread.json");
    let end = whole.trim_end().len();
    for share in 1..40 {
        let cut = &whole[..end * share / 40];
        bad(&job(16), span(0, 12), &[said(0, cut)]);
    }
    never_passes(&job(16), span(0, 12), "read.iops", &[said(0, &whole)], &[said(0, &whole[..end - 1])]);
}

#[test]
fn old_releases_count_in_other_units() {
    let old = r#"{
  "fio version" : "fio-2.2.8",
  "jobs" : [ { "jobname" : "j", "error" : 0, "job_runtime" : 4000, "usr_cpu" : 10.0, "sys_cpu" : 30.0,
    "read" : { "io_bytes" : 400, "bw" : 100, "iops" : 25.0, "runtime" : 4000, "total_ios" : 20000, "short_ios" : 0,
      "clat" : { "min" : 1, "max" : 9, "mean" : 5.5, "stddev" : 1.0, "percentile" : { "99.000000" : 8 } } } } ] }"#;
    let reading = good(&job(1), span(0, 4), &[said(0, old)]);
    about(&reading, "read.bw_bytes", 102_400.0);
    about(&reading, "read.clat_ns.mean", 5_500.0);
    // The report does not say how many completions the percentile is of.
    assert!(matches!(reading.figures["read.clat_ns.p99"].figure, Figure::Insufficient { .. }));
}

#[test]
fn a_report_that_contradicts_itself_is_refused() {
    let twisted =
        data("fio-3.33-libaio-randread.json").replace("\"bw_bytes\" : 124994548", "\"bw_bytes\" : 12499454");
    let told = bad(&job(16), span(0, 12), &[said(0, &twisted)]);
    assert!(told.contains("contradicts itself"), "{told}");
}

#[test]
fn a_run_on_a_real_cluster_is_read() {
    let rbd = Fio {
        pool: Some("bench".into()),
        rbdname: Some("img".into()),
        iodepth: 128,
        ..Fio::new(Engine::Rbd, Pattern::Randread)
    };
    let reading = good(&rbd, span(0, 5), &[said(0, &ceph("fio-rbd-randread-16k-qd128.json"))]);
    about(&reading, "read.iops", 7_387.006_776);
    assert!(reading.notes.is_empty(), "{:?}", reading.notes);
}
