//! A machine, playbooks for it, and what the program says and leaves.
use std::fs;
use std::process::{Child, Command, Stdio};
use tests::program::tunerun;
use tests::vm::Vm;

/// What a call of the program came to.
#[derive(Debug)]
pub struct Done {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Done {
    /// Panics unless it ended with this code and said each of these.
    pub fn ended(&self, code: i32, said: &[&str]) -> &Self {
        assert_eq!(self.code, code, "{}\n{}", self.out, self.err);
        for words in said {
            assert!(
                self.out.contains(words) || self.err.contains(words),
                "{words}\n{}\n{}",
                self.out,
                self.err
            );
        }
        self
    }
}

fn command(vm: &Vm, arguments: &[&str]) -> Command {
    let mut command = Command::new(tunerun());
    command.args(arguments).args(["-i", "hosts.yml", "--runs"]).arg(vm.dir.join("runs")).current_dir(&vm.dir);
    command.env("HOME", &vm.dir).env_remove("SSH_AUTH_SOCK").stdin(Stdio::null());
    command
}

/// Runs the program with the machine as its only host.
pub fn call(vm: &Vm, arguments: &[&str]) -> Done {
    let output = command(vm, arguments).output().unwrap();
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Done { code: output.status.code().unwrap_or(-1), out: shown(&output.stdout), err: shown(&output.stderr) }
}

/// Plays tasks, given as YAML.
pub fn play(vm: &Vm, tasks: &str, more: &[&str]) -> Done {
    write(vm, tasks);
    let mut arguments = vec!["play", "site.yml", "--yes"];
    arguments.extend(more);
    call(vm, &arguments)
}

/// Begins to play tasks.
pub fn begin(vm: &Vm, tasks: &str) -> Child {
    write(vm, tasks);
    let log = fs::File::create(vm.dir.join("play.log")).unwrap();
    let mut command = command(vm, &["play", "site.yml", "--yes"]);
    command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap()
}

fn write(vm: &Vm, tasks: &str) {
    let indented: String = tasks.lines().map(|line| format!("    {line}\n")).collect();
    let text = format!("- hosts: vm\n  gather_facts: false\n  tasks:\n{indented}");
    fs::write(vm.dir.join("site.yml"), text).unwrap();
}

/// A changed kernel line and the boot that it needs.
pub fn line_and_boot(args: &str, reboot: &str) -> String {
    format!(
        "- name: The line\n  kernel_args:\n    args: {args}\n  accept_risk: {{security: a machine of a test}}\n  \
         register: line\n- name: Boot\n  reboot:\n    reboot_timeout: 600\n{reboot}  when: line.reboot_needed\n"
    )
}

/// Digests of everything that a boot is made from, and the names there.
pub fn boot_files(vm: &Vm) -> String {
    vm.ssh(
        "cd / && { find etc/default/grub etc/default/grub.d boot -type f ! -path 'boot/grub/i386-pc/*' | sort | \
         xargs sha256sum; stat -c '%n %a %U:%G' etc/default/grub boot/grub/grub.cfg; }",
    )
}
