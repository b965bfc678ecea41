//! Who goes when: canaries, waves and controls from `rollout:` and the hosts of its play. Pure.
use crate::playbook::rollout::{Canary, Hosts, Rollout, Wave as Written};
use std::collections::{BTreeMap, HashSet};
use std::hash::Hash;
use std::time::Duration;

/// What is asked of the inventory.
pub trait Ground<H> {
    /// The name of a host.
    fn name(&self, host: H) -> String;

    /// The text of a variable of a host.
    fn class(&self, host: H, variable: &str) -> Option<String>;

    /// The hosts that a pattern names.
    ///
    /// # Errors
    /// Why it names none.
    fn select(&self, pattern: &str) -> Result<Vec<H>, String>;
}

/// Hosts that are decided together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wave<H> {
    /// The hosts, in order.
    pub hosts: Vec<H>,
    /// The question that a person answers before it begins.
    pub pause: Option<String>,
    /// How long it is watched before the next.
    pub soak: Option<Duration>,
    /// How many of them are down at once.
    pub max_down: usize,
}

/// The order of a play's hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order<H> {
    /// The waves; the first are the canaries.
    pub waves: Vec<Wave<H>>,
    /// Hosts that keep as they are while others are judged, in the last wave at the earliest.
    pub controls: Vec<H>,
    /// Hosts that no wave reaches.
    pub left_out: Vec<H>,
}

/// The variable of a guest that is a host of the inventory itself: the host that it runs on, or `{host: …, domain: …}`.
const GUEST_OF: &str = "guest_of";

/// The waves of a rollout over its hosts. Guests whose own host is in the play too go in its wave, right behind it, and
/// do not count: a wave of one host is that host and all of its guests.
///
/// # Errors
/// Everything that does not fit, one sentence each.
pub fn order<H: Copy + Eq + Hash>(
    rollout: &Rollout,
    hosts: &[H],
    ground: &dyn Ground<H>,
) -> Result<Order<H>, Vec<String>> {
    let named = |name: &str| hosts.iter().copied().find(|host| ground.name(*host) == name);
    let runs_on = |guest: H| {
        let host = named(&host_of(&ground.class(guest, GUEST_OF)?)?)?;
        (host != guest).then_some(host)
    };
    // A guest of a guest goes with the outermost host; who names each other in a ring is nobody's guest.
    let root = |guest: H| {
        let mut host = runs_on(guest)?;
        for _ in 0..hosts.len() {
            match runs_on(host) {
                Some(outer) => host = outer,
                None => return Some(host),
            }
        }
        None
    };
    let roots: Vec<(H, Option<H>)> = hosts.iter().map(|host| (*host, root(*host))).collect();
    let own: Vec<H> = roots.iter().filter(|(_, root)| root.is_none()).map(|(host, _)| *host).collect();
    let mut order = ordered(rollout, &own, ground)?;
    let with_guests = |hosts: &mut Vec<H>| {
        let guests =
            |host: H| roots.iter().filter(move |(_, root)| *root == Some(host)).map(|(guest, _)| *guest);
        *hosts = hosts.iter().flat_map(|host| std::iter::once(*host).chain(guests(*host))).collect();
    };
    order.waves.iter_mut().for_each(|wave| with_guests(&mut wave.hosts));
    with_guests(&mut order.left_out);
    Ok(order)
}

/// The host in what `guest_of` says.
fn host_of(said: &str) -> Option<String> {
    match serde_json::from_str::<serde_json::Value>(said) {
        Ok(serde_json::Value::Object(said)) => said.get("host")?.as_str().map(str::to_owned),
        _ => Some(said.to_owned()),
    }
}

/// The waves of hosts, each of which counts.
fn ordered<H: Copy + Eq + Hash>(
    rollout: &Rollout,
    hosts: &[H],
    ground: &dyn Ground<H>,
) -> Result<Order<H>, Vec<String>> {
    let mut faults = Vec::new();
    let canaries = canaries(rollout, hosts, ground, &mut faults);
    let controls = controls(rollout, hosts, &canaries, ground, &mut faults);
    let sequence: Vec<H> = {
        let rest = hosts.iter().filter(|host| !canaries.contains(host) && !controls.contains(host));
        canaries.iter().chain(rest).chain(&controls).copied().collect()
    };
    let all = u32::try_from(hosts.len()).unwrap_or(u32::MAX);
    let wave = |hosts: &[H], written: Option<&Written>| {
        let (pause, soak, own) = match written {
            Some(Written::Special { pause, soak, max_down, .. }) => (pause.clone(), *soak, *max_down),
            Some(Written::Plain(_)) | None => (None, None, None),
        };
        Wave {
            hosts: hosts.to_vec(),
            pause,
            soak: soak.or(rollout.soak).map(|soak| soak.0),
            max_down: own.unwrap_or(rollout.max_down).of(all).max(1) as usize,
        }
    };
    let mut waves = Vec::new();
    let mut done = 0;
    for written in &rollout.waves {
        let until = written.hosts().of(all) as usize;
        if waves.is_empty() && until > canaries.len() {
            // The canaries are a wave of their own, said or not.
            waves.push(wave(&canaries, None));
            done = canaries.len();
        }
        if until < done || until < canaries.len() {
            faults.push(format!(
                "the waves are cumulative, and {} of {all} hosts come after {}",
                until,
                done.max(canaries.len())
            ));
            continue;
        }
        if until > done {
            waves.push(wave(&sequence[done..until], Some(written)));
            done = until;
        }
    }
    if rollout.waves.is_empty() {
        faults.push("`waves` is empty: say the hosts that are decided together, as `[1, 25%, 100%]`".into());
    }
    let left_out = sequence[done..].to_vec();
    if faults.is_empty() { Ok(Order { waves, controls, left_out }) } else { Err(faults) }
}

fn canaries<H: Copy + Eq + Hash>(
    rollout: &Rollout,
    hosts: &[H],
    ground: &dyn Ground<H>,
    faults: &mut Vec<String>,
) -> Vec<H> {
    match &rollout.canary {
        Canary::Count(count) => first(hosts, *count),
        Canary::Named { hosts: patterns } => {
            let mut found: Vec<H> = Vec::new();
            for pattern in patterns {
                let named = ground.select(pattern).unwrap_or_else(|why| {
                    faults.push(format!("canary: {why}"));
                    Vec::new()
                });
                let (mine, others): (Vec<H>, Vec<H>) =
                    named.into_iter().partition(|host| hosts.contains(host));
                faults.extend(
                    others
                        .iter()
                        .map(|host| format!("the canary {} is not of this play", ground.name(*host))),
                );
                found.extend(mine.into_iter().filter(|host| !found.contains(host)).collect::<Vec<_>>());
            }
            if found.is_empty() && faults.is_empty() {
                faults.push("no canary is named".to_owned());
            }
            found
        }
        Canary::Per(per) => {
            let mut seen = HashSet::new();
            let mut found = Vec::new();
            for host in hosts {
                match ground.class(*host, &per.one_per) {
                    Some(class) if seen.insert(class.clone()) => found.push(*host),
                    Some(_) => {}
                    None => faults.push(format!(
                        "canary: {} has no variable `{}`, so it is not known what it is a sample of",
                        ground.name(*host),
                        per.one_per
                    )),
                }
            }
            found
        }
    }
}

fn first<H: Copy>(hosts: &[H], count: Hosts) -> Vec<H> {
    let all = u32::try_from(hosts.len()).unwrap_or(u32::MAX);
    hosts[..count.of(all).max(1).min(all) as usize].to_vec()
}

/// Each canary's like first: a host of the same class from the end; then whoever is last.
fn controls<H: Copy + Eq + Hash>(
    rollout: &Rollout,
    hosts: &[H],
    canaries: &[H],
    ground: &dyn Ground<H>,
    faults: &mut Vec<String>,
) -> Vec<H> {
    let Some(wanted) = rollout.controls else { return Vec::new() };
    let all = u32::try_from(hosts.len()).unwrap_or(u32::MAX);
    let asked = match wanted {
        Hosts::Count(count) => count as usize,
        Hosts::Share(_) => wanted.of(all) as usize,
    };
    let wanted = wanted.of(all) as usize;
    let free: Vec<H> = hosts.iter().rev().copied().filter(|host| !canaries.contains(host)).collect();
    if wanted > free.len() {
        let left = match free.len() {
            1 => "1 host is no canary".to_owned(),
            left => format!("{left} hosts are no canaries"),
        };
        faults.push(format!("{asked} controls are wanted, and {left}: ask for fewer, or for fewer canaries"));
        return Vec::new();
    }
    let variable = match (&rollout.canary, &rollout.by.0) {
        (Canary::Per(per), _) => Some(per.one_per.clone()),
        (_, Some(by)) => Some(by.clone()),
        _ => None,
    };
    let class = |host: H| variable.as_ref().and_then(|variable| ground.class(host, variable));
    let mut found: Vec<H> = Vec::new();
    for canary in canaries {
        let like = free.iter().find(|host| !found.contains(host) && class(**host) == class(*canary));
        if found.len() < wanted {
            found.extend(like);
        }
    }
    let rest = free.iter().filter(|host| !found.contains(host)).take(wanted - found.len()).copied();
    let rest: Vec<H> = rest.collect();
    found.extend(rest);
    found
}

/// Hosts in groups that may be down at once: never two failure domains in one, at most `max_down`. Their order within
/// a domain stays.
pub fn turns<H: Copy + Eq + Hash>(
    hosts: &[H],
    max_down: usize,
    domain: impl Fn(H) -> Option<String>,
) -> Vec<Vec<H>> {
    let mut order: Vec<Option<String>> = Vec::new();
    let mut domains: BTreeMap<Option<String>, Vec<H>> = BTreeMap::new();
    for host in hosts {
        let domain = domain(*host);
        if !domains.contains_key(&domain) {
            order.push(domain.clone());
        }
        domains.entry(domain).or_default().push(*host);
    }
    let of = |domain: &Option<String>| domains.get(domain).cloned().unwrap_or_default();
    order
        .iter()
        .flat_map(|domain| of(domain).chunks(max_down.max(1)).map(<[H]>::to_vec).collect::<Vec<_>>())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::playbook::rollout::read;
    use serde_json::{Value, json};

    /// Hosts 0 to n-1, host i in rack i % 4, called `h0`…
    struct Racks;

    impl Ground<u32> for Racks {
        fn name(&self, host: u32) -> String {
            format!("h{host}")
        }

        fn class(&self, host: u32, variable: &str) -> Option<String> {
            (variable == "rack").then(|| (host % 4).to_string())
        }

        fn select(&self, pattern: &str) -> Result<Vec<u32>, String> {
            let host = pattern.strip_prefix('h').and_then(|number| number.parse().ok());
            host.map(|host| vec![host]).ok_or(format!("{pattern} matches no host"))
        }
    }

    fn waves(rollout: Value, count: u32) -> Result<Order<u32>, Vec<String>> {
        order(&read(&rollout).unwrap(), &(0..count).collect::<Vec<_>>(), &Racks)
    }

    #[test]
    fn one_canary_of_each_rack_then_waves() {
        let order = waves(
            json!({"canary": {"one_per": "rack"}, "controls": 4, "waves": [4, {"hosts": "25%", "soak": "1h"}, "50%", "100%"]}),
            40,
        )
        .unwrap();
        let sizes: Vec<usize> = order.waves.iter().map(|wave| wave.hosts.len()).collect();
        assert_eq!(sizes, [4, 6, 10, 20]);
        assert_eq!(order.waves[0].hosts, [0, 1, 2, 3]);
        assert_eq!(order.waves[1].soak, Some(Duration::from_secs(3600)));
        assert_eq!(order.controls, [36, 37, 38, 39]);
        assert_eq!(order.waves[3].hosts[16..], [36, 37, 38, 39], "controls are changed last");
        let all: HashSet<u32> = order.waves.iter().flat_map(|wave| wave.hosts.clone()).collect();
        assert_eq!((all.len(), order.left_out.len()), (40, 0));
    }

    #[test]
    fn canaries_are_a_wave_of_their_own() {
        let sizes = |rollout: Value, count| -> Vec<usize> {
            waves(rollout, count).unwrap().waves.iter().map(|wave| wave.hosts.len()).collect()
        };
        assert_eq!(sizes(json!({"waves": ["50%", "100%"]}), 4), [1, 1, 2]);
        assert_eq!(sizes(json!({"waves": [1, "25%", "100%"]}), 3), [1, 2]);
        assert_eq!(sizes(json!({"waves": ["100%"]}), 1), [1]);
        assert_eq!(sizes(json!({"canary": {"hosts": ["h2"]}, "waves": [1, 2]}), 3), [1, 1]);
        assert_eq!(waves(json!({"waves": [1, 2]}), 3).unwrap().left_out, [2]);
    }

    /// Hosts below 4, and guests from 10 on: the tens say on which host, a guest of 50 on a guest.
    struct Guests;

    impl Ground<u32> for Guests {
        fn name(&self, host: u32) -> String {
            format!("h{host}")
        }

        fn class(&self, host: u32, variable: &str) -> Option<String> {
            let on = match host {
                0..10 => return None,
                50 => "h21".to_owned(),
                60 => "h61".to_owned(),
                61 => r#"{"host": "h60", "domain": "x"}"#.to_owned(),
                _ if host.is_multiple_of(2) => format!("h{}", host / 10),
                _ => json!({"host": format!("h{}", host / 10), "domain": format!("vm{host}")}).to_string(),
            };
            (variable == "guest_of").then_some(on)
        }

        fn select(&self, _: &str) -> Result<Vec<u32>, String> {
            Ok(Vec::new())
        }
    }

    #[test]
    fn guests_go_with_the_host_they_run_on() {
        let waves = |hosts: &[u32]| -> Vec<Vec<u32>> {
            let rollout = read(&json!({"waves": [1, "50%", "100%"]})).unwrap();
            order(&rollout, hosts, &Guests).unwrap().waves.into_iter().map(|wave| wave.hosts).collect()
        };
        let all = [10, 0, 1, 2, 3, 20, 21, 11, 50, 30];
        assert_eq!(waves(&all), [vec![0], vec![1, 10, 11], vec![2, 20, 21, 50, 3, 30]]);
        // Without its host a guest is a host like any other; so are two that name each other.
        assert_eq!(waves(&[10, 60, 61]), [vec![10], vec![60], vec![61]]);
    }

    #[test]
    fn what_does_not_fit_is_told() {
        let told = |rollout: Value, count| waves(rollout, count).unwrap_err().join("\n");
        assert!(told(json!({"canary": 2, "waves": [1, "100%"]}), 4).contains("1 of 4 hosts come after 2"));
        assert!(
            told(json!({"canary": {"one_per": "row"}, "waves": [1]}), 2).contains("h0 has no variable `row`")
        );
        assert!(told(json!({"canary": {"hosts": ["x"]}, "waves": [1]}), 2).contains("x matches no host"));
        assert!(
            told(json!({"canary": {"hosts": ["h9"]}, "waves": [1]}), 2).contains("h9 is not of this play")
        );
        assert!(told(json!({"controls": 3, "waves": [1]}), 3).contains("3 controls are wanted, and 2 hosts"));
        assert!(told(json!({"waves": []}), 3).contains("`waves` is empty"));
    }

    #[test]
    fn no_turn_mixes_failure_domains() {
        let rack = |host: u32| Some((host % 2).to_string());
        assert_eq!(turns(&[0, 1, 2, 3, 4], 2, rack), [vec![0, 2], vec![4], vec![1, 3]]);
        assert_eq!(turns(&[0, 1, 2], 2, |_| None), [vec![0, 1], vec![2]]);
        assert_eq!(turns(&[0, 1], 1, |_| None).len(), 2);
        assert!(turns::<u32>(&[], 3, |_| None).is_empty());
    }
}
