//! A guest that runs: what is felt, what is owed, what is proven.
use super::{plan, sent};
use crate::fold::fold;
use crate::guests::libvirt_domain::LibvirtDomain;
use crate::guests::libvirt_domain::samples::{host, running, small};
use crate::trial;
use crate::vocabulary::{
    Act, Activation, CycleTime, Effect, Facts, Match, Output, RiskName, Seen, Standing, TaskId,
};
use serde_json::json;

const PROCESS: &str = "arg /usr/bin/qemu-system-x86_64\narg -cpu\narg host\n";

fn off() -> serde_json::Value {
    json!({ "features": { "pvspinlock": "off" } })
}

#[test]
fn written_and_not_felt_is_owed() {
    let live = small();
    let written = live.replace("    <apic/>\n", "    <apic/>\n    <pvspinlock state='off'/>\n");
    let host = running(host(&[("web-1", &written)]), "web-1", &live, PROCESS);
    let change = plan(&host, off());
    assert!(change.is_empty(), "{:?}", change.steps);
    assert_eq!(change.effect, Effect::GuestPowerCycle);
    assert!(change.notes[0].contains("needs a power cycle"), "{:?}", change.notes);
    assert!(
        matches!(&change.evidence[0].standing, Standing::Owed { until: Effect::GuestPowerCycle, seen } if seen.contains("pvspinlock"))
    );
    assert!(matches!(&change.evidence[1].standing, Standing::Owed { .. }));
    let mut args = off();
    args["power_cycle"] = json!("ask");
    args["after_timeout"] = json!("destroy");
    let change = plan(&host, args);
    let cycles: Vec<&Activation> = change.then.iter().collect();
    assert!(
        matches!(cycles[..], [Activation::GuestCycle(cycle)] if cycle.when == CycleTime::Asked && cycle.destroy)
    );
    assert_eq!(change.risks[0].name, RiskName::DestroyGuest);
}

#[test]
fn what_is_felt_is_proven_twice() {
    let live = small().replace("    <apic/>\n", "    <apic/>\n    <pvspinlock state='off'/>\n");
    let process = "arg qemu\narg -cpu\narg host,kvm-pv-unhalt=off\n";
    let change = plan(&running(host(&[("web-1", &live)]), "web-1", &live, process), off());
    assert!(change.is_empty() && change.effect == Effect::Now);
    assert_eq!(change.evidence.len(), 2);
    assert!(
        change.evidence.iter().all(|evidence| matches!(evidence.standing, Standing::Live { .. })),
        "{:?}",
        change.evidence
    );
    // The XML says so and the process does not: not live.
    let change = plan(&running(host(&[("web-1", &live)]), "web-1", &live, PROCESS), off());
    assert!(matches!(change.evidence[1].standing, Standing::Owed { .. }));
}

#[test]
fn huge_pages_and_pins_are_proven_by_the_kernel() {
    let backing = "  <memoryBacking>\n    <hugepages/>\n  </memoryBacking>\n  <vcpu";
    let tune = "</vcpu>\n  <cputune>\n    <vcpupin vcpu='0' cpuset='2'/>\n    <vcpupin vcpu='1' cpuset='3'/>\n  </cputune>";
    let live = small().replace("  <vcpu", backing).replace("</vcpu>", tune);
    let args =
        json!({ "memory_backing": { "hugepages": true }, "cputune": { "vcpupin": { "0": 2, "1": "3" } } });
    let told = |process: &str| {
        let host = running(host(&[("web-1", &live)]), "web-1", &live, process);
        let change = plan(&host, args.clone());
        assert!(change.is_empty(), "{:?}", change.steps);
        change.evidence.iter().map(|told| matches!(told.standing, Standing::Live { .. })).collect::<Vec<_>>()
    };
    let process =
        "arg qemu\nhuge 1048576\nhuge 0\ncpus 9 0-15 qemu\ncpus 10 2 CPU 0/KVM\ncpus 11 3 CPU 1/KVM\n";
    assert_eq!(told(process), [true, true, true, true]);
    assert_eq!(told(&process.replace("1048576", "0")), [true, false, true, true]);
    assert_eq!(told(&process.replace("10 2 CPU", "10 0-15 CPU")), [true, true, false, true]);
    assert_eq!(told(&process.replace("cpus 11 3 CPU 1/KVM\n", "")), [true, true, true], "not plugged in");
}

#[test]
fn a_preloaded_library_is_proven_by_what_is_mapped() {
    let env = "<qemu:commandline xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'><qemu:env name='LD_PRELOAD' value='/usr/lib/libtcmalloc.so'/></qemu:commandline></domain>";
    let live = small().replace("</domain>", env);
    let args = json!({ "environment": { "LD_PRELOAD": "/usr/lib/libtcmalloc.so" } });
    let told = |process: &str| {
        let host = running(host(&[("web-1", &live)]), "web-1", &live, process);
        plan(&host.file("/usr/lib/libtcmalloc.so", ""), args.clone()).evidence[1].standing.clone()
    };
    assert!(matches!(told("arg qemu\nlib /usr/lib/libtcmalloc.so.4.5.9\n"), Standing::Live { .. }));
    assert!(matches!(told("arg qemu\nlib /usr/lib/libc.so.6\n"), Standing::Owed { .. }));
}

#[test]
fn a_window_is_kept_in_the_activation() {
    let host = running(host(&[("web-1", &small())]), "web-1", &small(), PROCESS);
    let mut args = off();
    args["power_cycle"] = json!("window");
    args["window"] = json!("22:30-4:00");
    let change = plan(&host, args);
    let Some(Activation::GuestCycle(cycle)) = change.then.first() else { panic!("{:?}", change.then) };
    assert_eq!(cycle.when, CycleTime::Within { from: "2230".to_owned(), to: "0400".to_owned() });
    assert_eq!(cycle.row().unwrap().args[3..], ["2230", "0400"]);
    let change = plan(&host, off());
    let Some(Activation::GuestCycle(cycle)) = change.then.first() else { panic!("{:?}", change.then) };
    assert!(cycle.row().is_none() && cycle.when == CycleTime::Never);
}

#[test]
fn an_element_that_was_dropped_is_named() {
    let change = plan(&host(&[("web-1", &small())]), json!({ "features": { "made-up": true, "hap": true } }));
    let kept = small().replace("    <apic/>\n", "    <apic/>\n    <hap state='on'/>\n");
    let seen = Seen::Output(Output::ok(&kept));
    let Match::Xml { text, .. } = &change.steps[0].after else { panic!() };
    assert!(change.steps[0].after.holds(&Seen::Output(Output::ok(text))));
    assert!(!change.steps[0].after.holds(&seen));
    let why = change.steps[0].after.fault(&seen).unwrap();
    assert!(why.contains("features/made-up state='on'"), "{why}");
}

#[test]
fn two_tasks_on_many_domains_are_one_define_each() {
    let two = small().replace("web-1", "web-2");
    let host = host(&[("web-1", &small()), ("web-2", &two)]);
    let args = |more: serde_json::Value| super::with_domains(more);
    let first: LibvirtDomain = serde_json::from_value(args(off())).unwrap();
    let disk = json!({ "iothreads": 1, "disks": [{ "target": "vda", "iothread": 1, "cache": "none" }] });
    let second: LibvirtDomain = serde_json::from_value(args(disk)).unwrap();
    let mut facts: Facts = trial::facts(&host, &first);
    let one = crate::module::Module::plan(&first, &facts).unwrap();
    facts.plan(TaskId(0), one.steps.clone());
    let other = crate::module::Module::plan(&second, &facts).unwrap();
    assert!(sent(&other.steps[0]).contains("pvspinlock"), "planned on what the first leaves");
    let steps = one.steps.iter().map(|step| (TaskId(0), step.clone()));
    let folded = fold(steps.chain(other.steps.iter().map(|step| (TaskId(1), step.clone()))));
    assert_eq!(folded.len(), 2);
    for folded in &folded {
        assert_eq!(folded.tasks, [TaskId(0), TaskId(1)]);
        let text = sent(&folded.step);
        assert!(text.contains("pvspinlock") && text.contains("<iothreads>1"), "{text}");
        let Match::Xml { wants, .. } = &folded.step.after else { panic!() };
        assert!(wants.len() >= 3);
        let crate::vocabulary::Back::Exactly(Act::Call { row, .. }) = &folded.step.back else { panic!() };
        assert!(!row.stdin.as_ref().unwrap().contains("pvspinlock"), "the way back is the first one's");
    }
}
