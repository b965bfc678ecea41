//! Guests for tests: small, without an operating system, and ready in a moment.

/// What the first disk of a guest holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Boot {
    /// A program that waits for the power button and then switches the machine off.
    Obedient,
    /// Nothing: the power button does nothing.
    Stubborn,
}

/// A first sector: it enables the power button in the ACPI registers that SeaBIOS puts at 0x600, sleeps until it is
/// pressed, and enters S5.
pub fn sector(boot: Boot) -> Vec<u8> {
    let mut sector = vec![0; 1 << 20];
    if boot == Boot::Obedient {
        let program: &[u8] = &[
            0xfb, // sti
            0xba, 0x02, 0x06, // mov dx, 0x602: the events that are enabled
            0xb8, 0x00, 0x01, // mov ax, 0x100: the power button
            0xef, // out dx, ax
            0xf4, // hlt: until the next tick of the timer
            0xba, 0x00, 0x06, // mov dx, 0x600: the events that came
            0xed, // in ax, dx
            0xf6, 0xc4, 0x01, // test ah, 1
            0x74, 0xf6, // jz hlt
            0xba, 0x04, 0x06, // mov dx, 0x604
            0xb8, 0x00, 0x20, // mov ax, 0x2000: sleep, type 0
            0xef, // out dx, ax
            0xf4, 0xeb, 0xfd, // hlt, for ever
        ];
        sector[..program.len()].copy_from_slice(program);
        sector[510..512].copy_from_slice(&[0x55, 0xaa]);
    }
    sector
}

/// A domain that QEMU emulates alone.
pub fn domain(name: &str, number: u32, disk: &str) -> String {
    format!(
        "<domain type='qemu'>
  <name>{name}</name>
  <uuid>22222222-2222-4333-8444-{number:012}</uuid>
  <metadata>
    <lab:tier xmlns:lab='http://example.org/lab'>gold</lab:tier>
  </metadata>
  <memory unit='MiB'>32</memory>
  <vcpu>2</vcpu>
  <os>
    <type arch='x86_64' machine='q35'>hvm</type>
    <boot dev='hd'/>
  </os>
  <features>
    <acpi/>
    <apic/>
  </features>
  <cpu mode='custom' match='exact'><model>qemu64</model></cpu>
  <devices>
    <emulator>/usr/bin/qemu-system-x86_64</emulator>
    <disk type='file' device='disk'>
      <driver name='qemu' type='raw'/>
      <source file='{disk}'/>
      <target dev='vda' bus='virtio'/>
      <serial>first</serial>
    </disk>
    <graphics type='vnc' port='-1' autoport='yes' passwd='hush4you'/>
    <memballoon model='none'/>
  </devices>
</domain>
"
    )
}
