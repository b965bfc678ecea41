//! Tools of which a report by hand must do: bdevperf, vdbench; and openssl, which is asked for real.
use super::outputs::{bad, good, never_passes, said, span};
use tunerun::bench::bdevperf::Bdevperf;
use tunerun::bench::openssl_speed::OpensslSpeed;
use tunerun::bench::vdbench::Vdbench;
use tunerun::bench::{Answers, Benchmark, Driver, Output, Overwritten};
use tunerun::gate::Figure;

fn bdevperf() -> Bdevperf {
    serde_json::from_str(r#"{"config": "/etc/spdk/bdev.json", "workload": "randread"}"#).unwrap()
}

const SPDK: &str = r#"{
  "results": [
    {"job": "Nvme0n1", "core_mask": "0x1", "workload": "randread", "status": "finished", "queue_depth": 128,
     "io_size": 4096, "runtime": 10.0003, "iops": 300000.0, "mibps": 1171.875, "io_failed": 0, "io_timeout": 0,
     "avg_latency_us": 400.0, "min_latency_us": 60.0, "max_latency_us": 9000.0},
    {"job": "Nvme1n1", "core_mask": "0x2", "workload": "randread", "status": "finished", "queue_depth": 128,
     "io_size": 4096, "runtime": 10.0002, "iops": 100000.0, "mibps": 390.625, "io_failed": 0, "io_timeout": 0,
     "avg_latency_us": 800.0, "min_latency_us": 70.0, "max_latency_us": 12000.0}
  ],
  "core_count": 2
}"#;

#[test]
fn bdevperf_is_weighted_by_its_operations() {
    let reading = good(&bdevperf(), span(0, 10), &[said(0, SPDK)]);
    assert_eq!(reading.number("iops"), Some(400_000.0));
    assert_eq!(reading.number("latency_us.mean"), Some(500.0));
    assert_eq!(reading.number("latency_us.max"), Some(12_000.0));
    let call = &bdevperf().calls(span(0, 10))[0];
    let server = call.server.as_ref().unwrap();
    assert_eq!(server.at, Answers::Socket("/var/tmp/tunerun-bdevperf.sock".into()));
    assert!(
        server.argv.join(" ").ends_with("-c /etc/spdk/bdev.json -q 128 -o 4096 -w randread -t 10"),
        "{server:?}"
    );
    assert_eq!(call.argv.last().map(String::as_str), Some("perform_tests"));
    for (from, to) in [
        ("\"status\": \"finished\"", "\"status\": \"terminated\""),
        ("\"io_failed\": 0", "\"io_failed\": 3"),
        ("\"runtime\": 10.0003", "\"runtime\": 2.5"),
        ("\"results\"", "\"nothing\""),
    ] {
        let odd = SPDK.replacen(from, to, 1);
        never_passes(&bdevperf(), span(0, 10), "iops", &[said(0, SPDK)], &[said(0, &odd)]);
    }
}

const RAW: &str = "\
16:24:29.004 Starting RD=SD_format; I/O rate: Uncontrolled MAX; elapsed=(none); For loops: threads=2 iorate=max

Jan 24, 2019    interval        i/o   MB/sec   bytes   read     resp     read    write     read    write     resp  queue  cpu%  cpu%
                               rate  1024**2     i/o    pct     time     resp     resp      max      max   stddev  depth sys+u   sys
16:24:30.156           1      320.0    40.00  131072   0.00    0.739    0.000    0.739     0.00    32.50    2.466    0.2  36.5  25.0
16:24:30.181     avg_2-1        0.0     0.00       0   0.00    0.000    0.000    0.000     0.00     0.00    0.000    0.0   NaN   NaN
16:24:31.001 Starting RD=rd1; I/O rate: 100; elapsed=5; For loops: None

Jan 24, 2019    interval        i/o   MB/sec   bytes   read     resp     read    write     read    write     resp  queue  cpu%  cpu%
                               rate  1024**2     i/o    pct     time     resp     resp      max      max   stddev  depth sys+u   sys
16:24:36.013           5      106.0     0.10    1024  48.11    0.012    0.011    0.013     0.04     0.02    0.005    0.0   5.5   1.0
16:24:36.053     avg_2-5      104.5     0.10    1024  50.72    0.012    0.010    0.015     0.05     0.12    0.007    0.0   4.6   0.9
16:24:37.008 Vdbench execution completed successfully. Output directory: /tmp/output
";

const FILES: &str = "\
18:48:42.000 Starting RD=rd1; elapsed=600; fwdrate=max. For loops: None

Mar 04, 2020 .Interval. .ReqstdOps... ...cpu%...  read ....read..... ....write.... ..mb/sec... mb/sec .xfer.. ...mkdir.... ...rmdir.... ...create... ....open.... ...close.... ...delete...
                          rate   resp total  sys   pct   rate   resp   rate   resp  read write  total    size  rate   resp  rate   resp  rate   resp  rate   resp  rate   resp  rate   resp
18:58:42.205  avg_2-120    6.2  1.063  13.0 2.80   0.0    0.0  0.000    6.2  1.063  0.00  6.24   6.24 1048576   0.0  0.000   0.0  0.000   0.0  0.000   1.6 47.864   1.6 2401.1   0.0  0.000
18:58:43.000 Vdbench execution completed successfully. Output directory: /tmp/output
";

#[test]
fn vdbench_is_read_by_its_last_average() {
    let vdbench: Vdbench = serde_json::from_str(r#"{"parameters": "/root/job.txt"}"#).unwrap();
    assert_eq!(
        vdbench.calls(span(10, 60))[0].argv.join(" "),
        "vdbench -f /root/job.txt -o /var/tmp/tunerun-vdbench -e 60 -w 10 -i 1"
    );
    let raw = good(&vdbench, span(0, 5), &[said(0, RAW)]);
    assert_eq!(
        (raw.number("rate"), raw.number("resp_ms"), raw.number("cpu_percent")),
        (Some(104.5), Some(0.012), Some(4.6))
    );
    let files = good(&vdbench, span(0, 600), &[said(0, FILES)]);
    assert_eq!(files.number("ops.rate"), Some(6.2));
    assert_eq!((files.number("open.resp_ms"), files.number("close.resp_ms")), (Some(47.864), Some(2401.1)));
    // The format's average has no CPU and no rate: it is not the run's.
    let only_format =
        RAW.split("16:24:31.001").next().unwrap().to_owned() + "Vdbench execution completed successfully.";
    assert!(bad(&vdbench, span(0, 5), &[said(0, &only_format)]).contains("completed nothing"));
    let unfinished = RAW.replace("execution completed successfully", "stopped");
    never_passes(&vdbench, span(0, 5), "rate", &[said(0, RAW)], &[said(0, &unfinished)]);
    let nan = RAW.replace("   4.6   0.9", "   NaN   NaN");
    let cpu = &good(&vdbench, span(0, 5), &[said(0, &nan)]).figures["cpu_percent"].figure;
    assert!(matches!(cpu, Figure::NotAvailable { .. }), "{cpu:?}");
}

#[test]
fn openssl_is_asked_for_real() {
    let speed: OpensslSpeed = serde_json::from_str(r#"{"decrypt": true}"#).unwrap();
    let call = &speed.calls(span(0, 1))[0];
    let ran = std::process::Command::new(&call.argv[0]).args(&call.argv[1..]).env("LC_ALL", "C").output();
    let ran = match ran {
        Ok(ran) => ran,
        Err(error) => {
            eprintln!("NOT TESTED: openssl cannot be started: {error}");
            assert!(std::env::var_os("CI").is_none(), "under CI openssl must be there");
            return;
        }
    };
    let output = Output {
        status: ran.status.code(),
        stdout: String::from_utf8_lossy(&ran.stdout).into(),
        stderr: String::from_utf8_lossy(&ran.stderr).into(),
    };
    let rate = good(&speed, span(0, 1), std::slice::from_ref(&output)).number("bytes_per_second").unwrap();
    assert!((1e6..1e12).contains(&rate), "{rate} from {output:?}");
    for odd in [said(1, "speed: unknown cipher nosuch"), said(0, ""), said(0, "+F:22:AES-128-GCM:0.00\n")] {
        never_passes(&speed, span(0, 1), "bytes_per_second", std::slice::from_ref(&output), &[odd]);
    }
    let table = "type          16384 bytes\nAES-128-GCM    4033536.00k\n";
    assert_eq!(good(&speed, span(0, 1), &[said(0, table)]).number("bytes_per_second"), Some(4_033_536_000.0));
}

#[test]
fn benchmarks_are_said_by_their_tool() {
    let fio: Benchmark = serde_json::from_str(
        r#"{"fio": {"ioengine": "io_uring", "filename": "/dev/nvme0n1", "rw": "randrw", "rwmixread": 80}}"#,
    )
    .unwrap();
    assert_eq!(fio.driver().overwrites(), [Overwritten::Path("/dev/nvme0n1".into())]);
    let held = fio.limited(500).unwrap().driver().calls(span(0, 5))[0].argv.join(" ");
    assert!(held.contains("--rate_iops=500"), "{held}");
    let line = fio.driver().calls(span(0, 5))[0].argv.join(" ");
    assert!(line.contains("--ioengine=io_uring") && line.contains("--rwmixread=80"), "{line}");
    for (text, faults) in [
        (r#"{"ping": {"target": "x", "count": 0}}"#, 1),
        (r#"{"iperf3": {"server": "x", "reverse": true, "bidir": true, "streams": 0}}"#, 2),
        (r#"{"bdevperf": {"config": "x", "workload": "nosuch"}}"#, 1),
        (r#"{"ceph_osd_bench": {"osds": []}}"#, 1),
        (r#"{"prometheus": {"url": "p:9090", "query": "", "direction": "lower"}}"#, 2),
        (r#"{"command": {"argv": [], "figures": {}}}"#, 2),
        (r#"{"openssl_speed": {"algorithm": "-engine"}}"#, 1),
        (r#"{"rbd_bench": {"image": "img", "io_type": "read", "io_total": 1}}"#, 2),
        (r#"{"rados_bench": {"pool": "p", "mode": "seq", "cleanup": false}}"#, 1),
        (r#"{"vdbench": {"parameters": ""}}"#, 1),
        (r#"{"ceph_osd_perf": {}}"#, 0),
    ] {
        let benchmark: Benchmark = serde_json::from_str(text).unwrap();
        assert_eq!(benchmark.driver().faults().len(), faults, "{text}: {:?}", benchmark.driver().faults());
    }
    assert!(serde_json::from_str::<Benchmark>(r#"{"fio": {}, "ping": {}}"#).is_err());
}
