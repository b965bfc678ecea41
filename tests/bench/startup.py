#!/usr/bin/python3
"""Measures what runners cost before they do anything: start, a 10,000-host inventory, a 1,000-task playbook.

  startup.py [--rounds 5] [--only tunerun]      (peers.sh first; no fleet needed)

The commands run in turn, round by round; medians of wall and of processor seconds (user+system, children included),
peak memory of the largest process.
"""
import argparse, os, resource, statistics, subprocess, time

TMP, PEERS = "/tmp/bench/startup", os.environ.get("PEERS", "/tmp/peers")
HOSTS, GROUPS, TASKS = 10_000, 100, 1_000


def generate():
    os.makedirs(TMP, exist_ok=True)
    per = HOSTS // GROUPS
    with open(f"{TMP}/inv.ini", "w") as ini, open(f"{TMP}/inv.yml", "w") as yml, open(f"{TMP}/inv.py", "w") as py:
        yml.write("all:\n  children:\n")
        for g in range(GROUPS):
            ini.write(f"[rack{g:03}]\n")
            yml.write(f"    rack{g:03}:\n      vars:\n        rack: {g}\n        mtu: 9000\n        ntp: [ntp1, ntp2]\n      hosts:\n")
            py.write(f"rack{g:03} = ([\n")
            for h in range(per):
                n, ip = f"osd{g * per + h:05}", f"10.{g}.{h // 250}.{h % 250 + 1}"
                ini.write(f"{n} ansible_host={ip} osd_count={h % 24} numa_node={h % 2} nic=ens{h % 4}f0\n")
                yml.write(f"        {n}:\n          ansible_host: {ip}\n          osd_count: {h % 24}\n          numa_node: {h % 2}\n          nic: ens{h % 4}f0\n")
                py.write(f'    ("{n}", {{"ssh_hostname": "{ip}", "osd_count": {h % 24}, "numa_node": {h % 2}, "nic": "ens{h % 4}f0"}}),\n')
            ini.write(f"[rack{g:03}:vars]\nrack={g}\nmtu=9000\nntp=['ntp1', 'ntp2']\n")
            py.write(f'], {{"rack": {g}, "mtu": 9000, "ntp": ["ntp1", "ntp2"]}})\n')
    with open(f"{TMP}/tasks.yml", "w") as f:
        f.write("- hosts: all\n  gather_facts: false\n  tasks:\n")
        for t in range(TASKS):
            f.write(f"    - name: task {t}\n      ansible.builtin.lineinfile:\n        path: /etc/sysctl.d/{t % 7}.conf\n        regexp: '^key{t}\\s*='\n"
                    f"        line: 'key{t} = {{{{ value | default({t}) }}}}'\n      tags: [t{t % 10}]\n      when: enabled | default(true)\n")
    with open(f"{TMP}/tasks.py", "w") as f:
        f.write("from pyinfra.operations import files\n")
        for t in range(TASKS):
            f.write(f'files.line(name="task {t}", path="/tmp/bench/startup/none{t % 7}.conf", line=r"^key{t}\\s*=.*", replace="key{t} = {t}")\n')
    with open(f"{TMP}/ping.yml", "w") as f:
        f.write("- hosts: localhost\n  connection: local\n  gather_facts: false\n  tasks:\n    - ping:\n")
    open(f"{TMP}/none.py", "w").write("")


a, p, rs = f"{PEERS}/ansible/bin", f"{PEERS}/pyinfra/bin/pyinfra", f"{PEERS}/acrs/bin/ansible"
t = os.environ.get("TUNERUN")
COMMANDS = {
    "version: ansible-playbook": [f"{a}/ansible-playbook", "--version"],
    "version: pyinfra": [p, "--version"],
    "version: ansible-rs": [rs, "--version"],
    "ping localhost: ansible": [f"{a}/ansible", "localhost", "-m", "ping"],
    "ping localhost: ansible-playbook": [f"{a}/ansible-playbook", "-i", "localhost,", f"{TMP}/ping.yml"],
    "true on @local: pyinfra": [p, "@local", "exec", "--", "true"],
    "ping localhost: ansible-rs": [rs, "playbook", "-i", "localhost,", f"{TMP}/ping.yml"],
    "inventory yaml: ansible": [f"{a}/ansible-inventory", "-i", f"{TMP}/inv.yml", "--list"],
    "inventory ini: ansible": [f"{a}/ansible-inventory", "-i", f"{TMP}/inv.ini", "--list"],
    "inventory yaml: ansible-rs": [rs, "inventory", "-i", f"{TMP}/inv.yml", "--list"],
    "inventory ini: ansible-rs": [rs, "inventory", "-i", f"{TMP}/inv.ini", "--list"],
    "inventory py: pyinfra": [p, f"{TMP}/inv.py", "debug-inventory"],
    "list 1,000 tasks: ansible": [f"{a}/ansible-playbook", "-i", "localhost,", "--list-tasks", f"{TMP}/tasks.yml"],
    "list tasks, 10,000 hosts: ansible": [f"{a}/ansible-playbook", "-i", f"{TMP}/inv.yml", "--list-tasks", f"{TMP}/tasks.yml"],
    "syntax check: ansible": [f"{a}/ansible-playbook", "-i", "localhost,", "--syntax-check", f"{TMP}/tasks.yml"],
    "1,000 operations on @local, --debug-operations: pyinfra": [p, "@local", "--debug-operations", f"{TMP}/tasks.py"],
    **({"version: tunerun": [t, "--version"],                       # TUNERUN names the program
        "inventory yaml: tunerun": [t, "inventory", "list", "-i", f"{TMP}/inv.yml"],
        "inventory ini: tunerun": [t, "inventory", "list", "-i", f"{TMP}/inv.ini"],
        "list 1,000 tasks: tunerun": [t, "play", f"{TMP}/tasks.yml", "-i", "localhost,", "--list-tasks"]} if t else {}),
}


def run(argv, out):
    start = time.monotonic()
    with open(out, "wb") as f:
        child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=f, stderr=f, cwd=TMP,
                                 env={**os.environ, "ANSIBLE_PYTHON_INTERPRETER": "/usr/bin/python3"})
        _, status, ru = os.wait4(child.pid, 0)
    return time.monotonic() - start, ru.ru_utime + ru.ru_stime, ru.ru_maxrss / 1024, os.waitstatus_to_exitcode(status)


ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
ap.add_argument("--rounds", type=int, default=5)
ap.add_argument("--only", default="", metavar="WORD", help="commands whose name holds it")
a = ap.parse_args()
rounds, COMMANDS = a.rounds, {name: argv for name, argv in COMMANDS.items() if a.only in name}
generate()
got = {name: [] for name in COMMANDS}
for _ in range(rounds):
    for i, (name, argv) in enumerate(COMMANDS.items()):
        got[name].append(run(argv, f"{TMP}/out.{i:02}"))
        print(f"{name:58}", *(f"{v:8.2f}" for v in got[name][-1]), flush=True)
print(f"\n{'medians':58}{'wall s':>8}{'cpu s':>8}{'MiB':>8}")
for i, (name, rows) in enumerate(got.items()):
    wall, cpu, mem, _ = (statistics.median(c) for c in zip(*rows))
    bad = {r[3] for r in rows} - {0}
    print(f"{name:58}{wall:8.3f}{cpu:8.3f}{mem:8.0f}" + (f"  exit {bad}; see {TMP}/out.{i:02}" if bad else ""))
