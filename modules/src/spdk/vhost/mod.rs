//! `spdk_vhost`: an SPDK vhost target as a unit, and what it exports to guests.
mod config;
mod evidence;
mod live;
mod objects;
mod samples;
mod unit;
mod wishes;

use objects::{Bdev, Controller};
use unit::TargetUnit;

use crate::files::place::{self, known};
use crate::module::{Module, Sample};
use crate::vocabulary::{Change, Facts, HostPath, Read, Stop, all};
use live::Live;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// An SPDK vhost target, and the block devices and controllers that it exports to guests.
///
/// The wishes are one list. A running target is brought to it over its JSON-RPC socket, object by object: what is there
/// already is left alone, and nothing is made twice. The list is kept in SPDK's own JSON at `config`, which the target
/// that `target:` describes reads at every start (`-c`), so that restarts and reboots lose nothing; what stood there
/// before and is not in the list any more is taken away. What somebody else has made in the target is left alone and
/// told.
///
/// Never done: a controller or slot is not taken away while a session holds it open (a real target dies of it, with all
/// of its guests), and no block device is exported twice (the target would accept it, and two guests write to one
/// disk). Both are looked at again right before each request, also in an undo with `--force`. Slots are said, since a
/// free one that the target picks makes a second run export the disk again.
///
/// Refused: block sizes that no guest can use (512 and 4096 bytes are fine; with 8192 a guest sees a disk of 0 bytes),
/// cores that the target does not run on, a controller's name that does not fit into the path of a socket. What cannot
/// be changed in place (another size, file or address, another mask, kind or block device) is a risk
/// `cannot_converge`: the rest is applied where that is accepted.
///
/// Units: sizes with K, M, G (powers of 1024). Errors are the target's own words with what they mean; its start-up
/// errors are in its unit's journal. Source: SPDK's documentation of JSON-RPC and vhost, recorded answers of SPDK 23.05.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpdkVhost {
    /// The socket that the target takes JSON-RPC on.
    #[serde(default = "default_socket")]
    pub socket: String,
    /// The target as a systemd unit. Without it the target is somebody else's and must run.
    #[serde(default)]
    pub target: Option<TargetUnit>,
    /// Where the list is kept in SPDK's own JSON; it says too what is ours to take away.
    #[serde(default = "default_config")]
    pub config: String,
    /// The block devices, in the order of their making.
    #[serde(default)]
    pub bdevs: Vec<Bdev>,
    /// The controllers that guests connect to.
    #[serde(default)]
    pub controllers: Vec<Controller>,
}

fn default_socket() -> String {
    "/var/tmp/spdk.sock".to_owned()
}

fn default_config() -> String {
    "/etc/spdk/tunerun-vhost.json".to_owned()
}

impl SpdkVhost {
    fn socket(&self) -> Result<HostPath, Stop> {
        let path = place::path("socket", &self.socket)?;
        // struct sockaddr_un holds 107 bytes and a NUL.
        match path.as_str().len() > 107 {
            true => Err(Stop::refused("socket", "the path of a socket holds at most 107 bytes")),
            false => Ok(path),
        }
    }

    fn config(&self) -> Result<HostPath, Stop> {
        place::path("config", &self.config)
    }
}

impl Module for SpdkVhost {
    const NAME: &'static str = "spdk_vhost";
    const EXAMPLE: &'static str = "\
- name: One NVMe disk and one in memory for the guests
  spdk_vhost:
    target:
      program: /usr/local/bin/vhost
      reactors: '0x3'
      memory: 1G
    bdevs:
      - { name: Nvme0, kind: nvme, address: '0000:02:00.0' }
      - { name: Malloc0, kind: malloc, size: 512M, block_size: 4096 }
    controllers:
      - { name: vhost.0, kind: scsi, cpumask: '0x1', slots: { 0: Nvme0n1 } }
      - { name: vhost.1, kind: blk, cpumask: '0x2', bdev: Malloc0 }
";

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        let (socket, config) = (self.socket()?, self.config()?);
        let wishes = self.wishes()?;
        let mut reads: Vec<Read> = place::first_reads(&config);
        reads.extend(Live::reads(&socket, &wishes));
        reads.extend(wishes.driver_reads());
        if let Some(target) = &self.target {
            reads.extend(target.first_reads()?);
        }
        facts.need(&reads)?;
        let mut change = Change::default();
        let planned = self.plan_all(facts, (&socket, &config), &wishes, &mut change);
        all([planned])?;
        change.result = json!({ "socket": self.socket, "config": self.config });
        Ok(change)
    }

    fn samples() -> Vec<Sample> {
        samples::all()
    }
}

impl SpdkVhost {
    fn plan_all(
        &self,
        facts: &Facts,
        (socket, config): (&HostPath, &HostPath),
        wishes: &wishes::Wishes,
        change: &mut Change,
    ) -> Result<(), Stop> {
        self.fit_cores(wishes)?;
        let own = config::Own::read(facts, config)?;
        let live = Live::read(facts, socket)?;
        wishes.drivers_fit(facts)?;
        let kept = own.put(facts, wishes, change);
        let unit = match &self.target {
            Some(target) => target.plan(facts, (socket, config), live.as_ref(), change),
            None => Ok(unit::Came::Elsewhere),
        };
        let (_, unit) = match (kept, unit) {
            (Err(Stop::Unread(mut one)), Err(Stop::Unread(two))) => {
                one.extend(two);
                return Err(Stop::Unread(one));
            }
            (kept, unit) => (kept?, unit?),
        };
        self.told(live.as_ref(), wishes, change)?;
        match (&live, unit) {
            (Some(live), unit::Came::Elsewhere | unit::Came::Runs) => {
                live.reach(facts, socket, wishes, &own, change)
            }
            // It makes everything by its list as it starts.
            (None, unit::Came::Starts) => {
                change.diff.extend(wishes.started());
                Ok(())
            }
            (None, unit::Came::Elsewhere) => {
                Err(Stop::refused("socket", format!("nobody serves {socket}: no target runs there")).way_out(
                    "start the target first, or describe it by `target:` so that it is kept as a unit",
                ))
            }
            (None, unit::Came::Runs) => {
                Err(Stop::refused("socket", format!("the target's unit runs and nobody serves {socket}"))
                    .way_out("its journal tells why: journalctl -u of the unit; it may still be starting"))
            }
            (Some(_), unit::Came::Starts) => {
                Err(Stop::refused("socket", format!("somebody else than the target's unit serves {socket}"))
                    .way_out("stop that target first, or leave `target:` out to manage what it exports"))
            }
        }
    }

    /// Cores of controllers against those that the target will run on.
    fn fit_cores(&self, wishes: &wishes::Wishes) -> Result<(), Stop> {
        match &self.target {
            Some(target) => wishes.cores_fit(&target.reactors()?, "the target will run on"),
            None => Ok(()),
        }
    }
}

/// A path that the module itself writes down.
fn own_path(text: &str) -> Result<HostPath, Stop> {
    known(text)
}

#[cfg(test)]
mod tests;
