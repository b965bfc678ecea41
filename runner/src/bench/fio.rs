//! fio: what a job asks for, and its command line. What it prints is read in `fio_output`.
pub use super::fio_output::seconds;
use super::{Call, Driver, Output, Overwritten, Reading, Size, Source, Span, fio_output, words};
use crate::gate::Fault;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A job of fio.
///
/// Figures, for each direction that was used (`read`, `write`, `mixed`): `read.iops`, `read.bw_bytes` (bytes/s),
/// `read.clat_ns.mean`, `read.clat_ns.p99` and the other percentiles (ns; at least a hundred completions beyond
/// each, else it is insufficient), `read.slat_ns.mean`, `read.lat_ns.mean`; of the job: `iops`, `bw_bytes`,
/// `cpu_per_io` (µs), `errors`, `short_ios`.
///
/// The path must exist: fio is never allowed to create a file, since it would benchmark a mistyped path. Source: the
/// fio manual, and the measurements of the articles whose jobs this can say (16K random with queue depth 128, 4K in
/// batches, mixed 80/20, prefill).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fio {
    /// How requests are made.
    pub ioengine: Engine,
    /// The device or file. Not with `rbd`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
    /// The pool, with `rbd`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// The image, with `rbd`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rbdname: Option<String>,
    /// The user, with `rbd`, without `client.`. Default `admin`.
    #[serde(default = "admin")]
    pub clientname: String,
    /// The pattern.
    pub rw: Pattern,
    /// Percent of reads in a mixed pattern. Default 50.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rwmixread: Option<u8>,
    /// Bytes of one request. Default 4K.
    #[serde(default = "four_k")]
    pub bs: Size,
    /// Requests at once, per job. Default 1.
    #[serde(default = "one")]
    pub iodepth: u32,
    /// Requests that are submitted together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iodepth_batch: Option<u32>,
    /// Refill the queue when it has fallen to this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iodepth_low: Option<u32>,
    /// Completions that are fetched together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iodepth_batch_complete: Option<u32>,
    /// Fetch completions without a system call (libaio).
    #[serde(default)]
    pub userspace_reap: bool,
    /// Jobs at once. Default 1.
    #[serde(default = "one")]
    pub numjobs: u32,
    /// The area that is used. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Size>,
    /// Where the area begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<Size>,
    /// Past the page cache. Default yes.
    #[serde(default = "yes")]
    pub direct: bool,
    /// Do not keep track of which blocks were used.
    #[serde(default)]
    pub norandommap: bool,
    /// The seed of the offsets: equal in both arms of a pair, so that both do the same work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub randseed: Option<u64>,
    /// At most so many requests a second, per job: on a cluster that serves others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_iops: Option<u64>,
    /// Write the whole area once, instead of for a time: before a gate, so that no read finds unwritten blocks.
    #[serde(default)]
    pub prefill: bool,
    /// Path and name under which values of each second are written, on the loader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
}

/// How fio makes requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    /// Linux native asynchronous I/O.
    Libaio,
    /// io_uring.
    IoUring,
    /// librbd, without a kernel device.
    Rbd,
}

impl Engine {
    const fn word(self) -> &'static str {
        match self {
            Self::Libaio => "libaio",
            Self::IoUring => "io_uring",
            Self::Rbd => "rbd",
        }
    }
}

/// The pattern of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    /// One after the other.
    Read,
    /// One after the other.
    Write,
    /// Anywhere.
    Randread,
    /// Anywhere.
    Randwrite,
    /// Both, one after the other.
    Rw,
    /// Both, anywhere.
    Randrw,
}

impl Pattern {
    const fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Randread => "randread",
            Self::Randwrite => "randwrite",
            Self::Rw => "rw",
            Self::Randrw => "randrw",
        }
    }

    /// Whether something is written.
    pub const fn writes(self) -> bool {
        !matches!(self, Self::Read | Self::Randread)
    }

    /// Whether something is read.
    pub const fn reads(self) -> bool {
        !matches!(self, Self::Write | Self::Randwrite)
    }

    const fn mixed(self) -> bool {
        matches!(self, Self::Rw | Self::Randrw)
    }
}

fn admin() -> String {
    "admin".into()
}

const fn four_k() -> Size {
    Size(4096)
}

const fn one() -> u32 {
    1
}

const fn yes() -> bool {
    true
}

impl Fio {
    /// A job with the defaults.
    pub fn new(ioengine: Engine, rw: Pattern) -> Self {
        Self {
            ioengine,
            filename: None,
            pool: None,
            rbdname: None,
            clientname: admin(),
            rw,
            rwmixread: None,
            bs: four_k(),
            iodepth: 1,
            iodepth_batch: None,
            iodepth_low: None,
            iodepth_batch_complete: None,
            userspace_reap: false,
            numjobs: 1,
            size: None,
            offset: None,
            direct: true,
            norandommap: false,
            randseed: None,
            rate_iops: None,
            prefill: false,
            log: None,
        }
    }

    fn target(&self) -> Vec<String> {
        let named =
            |name: &str, value: &Option<String>| value.as_ref().map(|value| format!("--{name}={value}"));
        let mut argv: Vec<String> =
            [named("filename", &self.filename), named("pool", &self.pool), named("rbdname", &self.rbdname)]
                .into_iter()
                .flatten()
                .collect();
        if self.ioengine == Engine::Rbd {
            argv.push(format!("--clientname={}", self.clientname));
        }
        argv
    }

    fn shape(&self) -> Vec<String> {
        let number = |name: &str, value: Option<u64>| value.map(|value| format!("--{name}={value}"));
        [
            number("rwmixread", self.rwmixread.map(u64::from)),
            number("bs", Some(self.bs.0)),
            number("iodepth", Some(self.iodepth.into())),
            number("iodepth_batch", self.iodepth_batch.map(u64::from)),
            number("iodepth_low", self.iodepth_low.map(u64::from)),
            number("iodepth_batch_complete", self.iodepth_batch_complete.map(u64::from)),
            number("userspace_reap", self.userspace_reap.then_some(1)),
            number("numjobs", Some(self.numjobs.into())),
            number("size", self.size.map(|size| size.0)),
            number("offset", self.offset.map(|offset| offset.0)),
            number("direct", Some(self.direct.into())),
            number("norandommap", self.norandommap.then_some(1)),
            number("randseed", self.randseed),
            number("rate_iops", self.rate_iops),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

impl Driver for Fio {
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let mut say = |wrong: bool, what: &str| {
            if wrong {
                faults.push(what.to_owned());
            }
        };
        let rbd = self.ioengine == Engine::Rbd;
        say(rbd && (self.pool.is_none() || self.rbdname.is_none()), "rbd needs `pool` and `rbdname`");
        say(rbd && self.filename.is_some(), "rbd has no `filename`; name the image by `rbdname`");
        say(!rbd && self.filename.is_none(), "`filename` names the device or file");
        say(
            !rbd && (self.pool.is_some() || self.rbdname.is_some()),
            "`pool` and `rbdname` are for `ioengine: rbd`",
        );
        say(self.rwmixread.is_some() && !self.rw.mixed(), "`rwmixread` is for rw and randrw");
        say(self.rwmixread.is_some_and(|share| share > 100), "`rwmixread` is a percentage");
        say(self.bs.0 == 0 || !self.bs.0.is_multiple_of(512), "`bs` is a multiple of 512");
        say(self.iodepth == 0 || self.numjobs == 0, "`iodepth` and `numjobs` are at least 1");
        say(self.userspace_reap && self.ioengine != Engine::Libaio, "`userspace_reap` is for libaio");
        say(self.prefill && !self.rw.writes(), "a prefill writes");
        say(self.iodepth_low.is_some_and(|low| low > self.iodepth), "`iodepth_low` is at most `iodepth`");
        faults
    }

    fn calls(&self, span: Span) -> Vec<Call> {
        let (ramp, measure) = span.seconds();
        let mut argv = words(["fio", "--name=tunerun", "--output-format=json", "--eta=never"]);
        argv.push(format!("--ioengine={}", self.ioengine.word()));
        argv.extend(self.target());
        // A mistyped path would be created and benchmarked, with status 0.
        argv.push("--allow_file_create=0".into());
        argv.push(format!("--rw={}", self.rw.word()));
        argv.extend(self.shape());
        argv.extend(words(["--group_reporting=1", "--percentile_list=50:90:95:99:99.9:99.99"]));
        let mut limit = span.limit();
        if self.prefill {
            // As long as it takes, and no more than a day.
            limit = Duration::from_secs(86_400);
        } else {
            argv.push("--time_based=1".into());
            argv.push(format!("--runtime={measure}"));
            if ramp > 0 {
                argv.push(format!("--ramp_time={ramp}"));
            }
        }
        if let Some(log) = &self.log {
            argv.push(format!("--write_iops_log={log}"));
            argv.push("--log_avg_msec=1000".into());
        }
        vec![Call::new(argv, limit)]
    }

    fn read(&self, span: Span, outputs: &[Output]) -> Result<Reading, Fault> {
        let (_, measure) = span.seconds();
        let asked = (!self.prefill).then_some(measure as f64);
        fio_output::read(super::text::only("fio", outputs)?, asked, self.iodepth)
    }

    fn source(&self) -> Source {
        // What is written is there afterwards, and of a part of the target nothing is known.
        let whole = self.rw.reads() && self.size.is_none() && self.offset.is_none();
        let paths = self.filename.iter().filter(|_| whole).flat_map(|names| names_of(names)).collect();
        Source { paths, cached: !self.direct }
    }

    fn overwrites(&self) -> Vec<Overwritten> {
        if !self.rw.writes() {
            return Vec::new();
        }
        let image = self.pool.iter().zip(&self.rbdname);
        let image = image.map(|(pool, image)| Overwritten::Image {
            spec: format!("{pool}/{image}"),
            user: Some(format!("client.{}", self.clientname)),
        });
        let paths = self.filename.iter().flat_map(|names| names_of(names)).map(Overwritten::Path);
        paths.chain(image).collect()
    }
}

/// The names in fio's `filename`: colons stand between them, and a colon of a name behind a backslash (fio(1)).
fn names_of(filename: &str) -> Vec<String> {
    let (mut names, mut name) = (Vec::new(), String::new());
    let mut signs = filename.chars().peekable();
    while let Some(sign) = signs.next() {
        match sign {
            '\\' if signs.peek() == Some(&':') => name.extend(signs.next()),
            ':' => names.push(std::mem::take(&mut name)),
            sign => name.push(sign),
        }
    }
    names.push(name);
    names.retain(|name| !name.is_empty());
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Span = Span { ramp: Duration::from_secs(20), measure: Duration::from_secs(60) };

    #[test]
    fn the_known_jobs_can_be_said() {
        let job: Fio = serde_json::from_str(
            r#"{"ioengine": "libaio", "filename": "/dev/vda2", "rw": "randread", "bs": "16K", "iodepth": 128,
                "norandommap": true, "size": "20G"}"#,
        )
        .unwrap();
        assert!(job.faults().is_empty());
        let call = &job.calls(SPAN)[0];
        assert_eq!(
            call.argv.join(" "),
            "fio --name=tunerun --output-format=json --eta=never --ioengine=libaio --filename=/dev/vda2 \
             --allow_file_create=0 --rw=randread --bs=16384 --iodepth=128 --numjobs=1 --size=21474836480 --direct=1 \
             --norandommap=1 --group_reporting=1 --percentile_list=50:90:95:99:99.9:99.99 --time_based=1 --runtime=60 \
             --ramp_time=20"
        );
        assert_eq!(call.limit, Duration::from_secs(126));
        assert_eq!(job.overwrites(), Vec::new());
        let batch: Fio = serde_json::from_str(
            r#"{"ioengine": "libaio", "filename": "/dev/sdb", "rw": "read", "bs": 4096, "iodepth": 256, "iodepth_batch": 128,
                "iodepth_low": 128, "iodepth_batch_complete": 128, "userspace_reap": true, "size": "50G"}"#,
        )
        .unwrap();
        let line = batch.calls(SPAN)[0].argv.join(" ");
        assert!(line.contains(
            "--iodepth_batch=128 --iodepth_low=128 --iodepth_batch_complete=128 --userspace_reap=1"
        ));
    }

    #[test]
    fn a_prefill_writes_all_of_it_and_says_what_is_lost() {
        let mut job = Fio::new(Engine::Rbd, Pattern::Write);
        (job.pool, job.rbdname, job.prefill) = (Some("bench".into()), Some("img".into()), true);
        let line = job.calls(SPAN)[0].argv.join(" ");
        assert!(
            !line.contains("runtime") && line.contains("--pool=bench --rbdname=img --clientname=admin"),
            "{line}"
        );
        let user = Some("client.admin".to_owned());
        assert_eq!(job.overwrites(), [Overwritten::Image { spec: "bench/img".into(), user }]);
    }

    #[test]
    fn every_device_of_a_job_is_named() {
        let names = |text: &str| names_of(text);
        assert_eq!(names("/dev/vdb:/dev/vdc"), ["/dev/vdb", "/dev/vdc"]);
        assert_eq!(
            names(r"/dev/disk/by-path/pci-0000\:00\:05.0:/dev/vdc"),
            ["/dev/disk/by-path/pci-0000:00:05.0", "/dev/vdc"]
        );
        assert_eq!(names(":"), Vec::<String>::new());
        let mut job = Fio::new(Engine::Libaio, Pattern::Randwrite);
        job.filename = Some("/dev/vdb:x".into());
        let all = ["/dev/vdb", "x"].map(|name| Overwritten::Path(name.into()));
        assert_eq!(job.overwrites(), all);
    }

    #[test]
    fn every_fault_is_told() {
        let mut job = Fio::new(Engine::Rbd, Pattern::Read);
        (job.filename, job.rwmixread, job.bs, job.prefill) = (Some("x".into()), Some(120), Size(100), true);
        assert_eq!(job.faults().len(), 6, "{:?}", job.faults());
        assert!(serde_json::from_str::<Fio>(r#"{"ioengine": "rbd", "rw": "read", "blocksize": 4}"#).is_err());
    }
}
