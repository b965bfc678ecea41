//! Benchmarks as typed drivers: what is asked for, the command that runs it, and its output as figures with units.
//!
//! Pure: a driver renders [`Call`]s and reads their [`Output`]s; whoever runs a gate runs them, kills them at their
//! limit, and hands the texts back. A figure that a tool or sensor cannot tell is *not available*; it is never taken
//! for zero, and never for a failure.

pub mod bdevperf;
pub mod ceph_osd_bench;
pub mod ceph_osd_perf;
pub mod command;
pub mod fio;
mod fio_output;
pub mod iperf3;
pub mod openssl_speed;
pub mod ping;
pub mod preflight;
pub mod prometheus;
pub mod rados_bench;
pub mod rbd_bench;
mod size;
mod text;
pub mod vdbench;

use crate::gate::metric::{FLOOR, FLOOR_OF_PERCENTILES};
use crate::gate::{Direction, Fault, Figure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use size::Size;
use std::collections::BTreeMap;
use std::time::Duration;

/// One benchmark of a gate, by its tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Benchmark {
    /// Flexible I/O tester: libaio, io_uring, rbd.
    Fio(fio::Fio),
    /// `rados bench`.
    RadosBench(rados_bench::RadosBench),
    /// `rbd bench`.
    RbdBench(rbd_bench::RbdBench),
    /// Network throughput.
    Iperf3(iperf3::Iperf3),
    /// Round trips and loss.
    Ping(ping::Ping),
    /// Ciphers on one core or many.
    OpensslSpeed(openssl_speed::OpensslSpeed),
    /// SPDK's block devices.
    Bdevperf(bdevperf::Bdevperf),
    /// Vdbench with a parameter file.
    Vdbench(vdbench::Vdbench),
    /// A command of one's own that prints JSON.
    Command(command::Command),
    /// Latencies that OSDs report, without load.
    CephOsdPerf(ceph_osd_perf::CephOsdPerf),
    /// `ceph tell osd.N bench`.
    CephOsdBench(ceph_osd_bench::CephOsdBench),
    /// A query of Prometheus, without load.
    Prometheus(prometheus::Prometheus),
}

/// How long the load of one run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Load that is not counted.
    pub ramp: Duration,
    /// Load that is.
    pub measure: Duration,
}

impl Span {
    /// Whole seconds of ramp and of measured load, at least one second of the latter.
    pub fn seconds(self) -> (u64, u64) {
        (self.ramp.as_secs(), self.measure.as_secs().max(1))
    }

    /// The hard limit of a tool that runs for both: a fifth and half a minute beyond.
    pub fn limit(self) -> Duration {
        (self.ramp + self.measure).mul_f64(1.2) + Duration::from_secs(30)
    }
}

/// A command to run, with the time after which it is killed (SIGKILL to its process group).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The program and its arguments; no shell in between.
    pub argv: Vec<String>,
    /// Environment beside the usual.
    pub env: Vec<(&'static str, String)>,
    /// After so long it is killed, and the run has failed.
    pub limit: Duration,
    /// The server to start first, on the peer.
    pub server: Option<Server>,
    /// What to run afterwards, whatever happened, so that nothing is left.
    pub after: Vec<Vec<String>>,
}

impl Call {
    /// A call with nothing around it.
    pub fn new(argv: Vec<String>, limit: Duration) -> Self {
        Self { argv, env: vec![("LC_ALL", "C".into())], limit, server: None, after: Vec::new() }
    }
}

/// A server that a call talks to. The load starts once its port or socket answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Where it answers.
    pub at: Answers,
}

/// Where a server answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answers {
    /// On a TCP port.
    Port(u16),
    /// On a UNIX socket.
    Socket(String),
}

/// What a call printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Its exit status; nothing where a signal or the limit ended it.
    pub status: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// What figures count in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Operations a second.
    PerSecond,
    /// Bytes a second.
    BytesPerSecond,
    /// Bits a second, as networks count.
    BitsPerSecond,
    /// Nanoseconds.
    Nanoseconds,
    /// Microseconds.
    Microseconds,
    /// Milliseconds.
    Milliseconds,
    /// Seconds.
    Seconds,
    /// Percent.
    Percent,
    /// A count.
    Count,
    /// Something of one's own.
    Other,
}

/// One figure with its unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    /// The figure.
    pub figure: Figure,
    /// What it counts in.
    pub unit: Unit,
    /// Which way it is better; nothing for what is only looked at.
    pub direction: Option<Direction>,
    /// Differences smaller than this share are the tool's own steps.
    pub floor: f64,
}

impl Measure {
    fn new(figure: Figure, unit: Unit, direction: Option<Direction>) -> Self {
        Self { figure, unit, direction, floor: FLOOR }
    }

    /// More is better.
    pub fn higher(number: f64, unit: Unit) -> Self {
        Self::new(Figure::of(number), unit, Some(Direction::Higher))
    }

    /// Less is better.
    pub fn lower(number: f64, unit: Unit) -> Self {
        Self::new(Figure::of(number), unit, Some(Direction::Lower))
    }

    /// Only looked at.
    pub fn plain(number: f64, unit: Unit) -> Self {
        Self::new(Figure::of(number), unit, None)
    }

    /// A percentile out of bins that are up to 1/64 wide.
    pub fn binned(figure: Figure, unit: Unit) -> Self {
        Self { floor: FLOOR_OF_PERCENTILES, ..Self::new(figure, unit, Some(Direction::Lower)) }
    }

    /// It is not there.
    pub fn not_available(why: impl Into<String>, unit: Unit, direction: Option<Direction>) -> Self {
        Self::new(Figure::NotAvailable { why: why.into() }, unit, direction)
    }
}

/// What a benchmark's output says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// Figures by path.
    pub figures: BTreeMap<String, Measure>,
    /// Values second by second, where the tool tells them: for steadiness and sizing alone.
    pub per_second: BTreeMap<String, Vec<f64>>,
    /// What must be alike in all runs: the versions of tools.
    pub versions: BTreeMap<String, String>,
    /// What a reader should see beside the figures, and what the change may well alter: congestion control, segments.
    pub seen: BTreeMap<String, String>,
    /// What a reader should know.
    pub notes: Vec<String>,
}

impl Reading {
    fn put(&mut self, path: &str, measure: Measure) {
        self.figures.insert(path.into(), measure);
    }

    fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    fn version(&mut self, what: &str, value: impl Into<String>) {
        self.versions.insert(what.into(), value.into());
    }

    fn see(&mut self, what: &str, value: impl Into<String>) {
        self.seen.insert(what.into(), value.into());
    }

    /// The number at a path, if it is one.
    pub fn number(&self, path: &str) -> Option<f64> {
        match self.figures.get(path)?.figure {
            Figure::Number(number) => Some(number),
            Figure::Insufficient { .. } | Figure::NotAvailable { .. } => None,
        }
    }
}

/// Something whose content a benchmark loses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Overwritten {
    /// A path on the loader: a device by any of its names, a file, a folder.
    Path(String),
    /// An image of a cluster.
    Image {
        /// `pool/image`.
        spec: String,
        /// Who may see it, as `client.bench`; the program's own default without.
        user: Option<String>,
    },
    /// The devices that SPDK's configuration file on the loader names.
    SpdkConfig(String),
    /// The `lun=`s of Vdbench's parameter file on the loader, if it writes to any.
    VdbenchParameters(String),
}

/// What a benchmark reads from, as far as a host can tell how much of it was ever written and what could cache it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// Paths on the loader that are read as a whole.
    pub paths: Vec<String>,
    /// Through the page cache.
    pub cached: bool,
}

/// What every benchmark can do.
pub trait Driver: Send + Sync {
    /// What is wrong with the arguments, every fault.
    fn faults(&self) -> Vec<String>;

    /// The commands; all of one benchmark run at the same time, except where a call says otherwise.
    fn calls(&self, span: Span) -> Vec<Call>;

    /// The figures in the outputs of the calls, in their order.
    ///
    /// # Errors
    /// Where a tool failed, was cut short, or measured something else than was asked: the run does not count.
    fn read(&self, span: Span, outputs: &[Output]) -> Result<Reading, Fault>;

    /// What it writes over.
    fn overwrites(&self) -> Vec<Overwritten> {
        Vec::new()
    }

    /// What it reads from.
    fn source(&self) -> Source {
        Source::default()
    }

    /// Whether it loads anything at all, or only looks.
    fn loads(&self) -> bool {
        true
    }
}

impl Benchmark {
    /// The same at no more than so many operations a second, for a cluster that serves others.
    ///
    /// # Errors
    /// Where its tool cannot be held back; the sentence says what can be.
    pub fn limited(&self, per_second: u64) -> Result<Self, String> {
        match self {
            Self::Fio(fio) => {
                let each = (per_second / u64::from(fio.numjobs.max(1))).max(1);
                let rate_iops = Some(fio.rate_iops.map_or(each, |own| own.min(each)));
                Ok(Self::Fio(fio::Fio { rate_iops, ..fio.clone() }))
            }
            quiet if !quiet.driver().loads() => Ok(quiet.clone()),
            _ => {
                Err("this tool cannot be held back; use fio, which has `rate_iops`, or waive `no_guard`"
                    .into())
            }
        }
    }

    /// Whether it loads a Ceph cluster, wherever it runs.
    pub fn loads_a_cluster(&self) -> bool {
        match self {
            Self::Fio(fio) => fio.ioengine == fio::Engine::Rbd,
            Self::RadosBench(_) | Self::RbdBench(_) | Self::CephOsdBench(_) => true,
            _ => false,
        }
    }

    /// Its driver.
    pub fn driver(&self) -> &dyn Driver {
        match self {
            Self::Fio(driver) => driver,
            Self::RadosBench(driver) => driver,
            Self::RbdBench(driver) => driver,
            Self::Iperf3(driver) => driver,
            Self::Ping(driver) => driver,
            Self::OpensslSpeed(driver) => driver,
            Self::Bdevperf(driver) => driver,
            Self::Vdbench(driver) => driver,
            Self::Command(driver) => driver,
            Self::CephOsdPerf(driver) => driver,
            Self::CephOsdBench(driver) => driver,
            Self::Prometheus(driver) => driver,
        }
    }
}

/// The words of a command.
fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(Into::into).into()
}

/// A tool that failed.
fn failed(what: impl Into<String>) -> Fault {
    Fault::Tool { what: what.into() }
}

/// Something around the tool was not fit to measure.
fn unfit(what: impl Into<String>) -> Fault {
    Fault::Unfit { what: what.into() }
}
