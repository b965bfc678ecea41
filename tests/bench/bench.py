#!/usr/bin/python3
"""Measures playbook runners side by side on a fleet of real SSH hosts.   (root; peers.sh first)

  bench.py [--hosts 10] [--rounds 3] [--forks N: as many as hosts] [--only ansible,pyinfra] [--base ansible]
           [--mem | --trips MS,MS | --delay MS] [--json FILE]

Every round runs each contender in turn, so ratios are taken within a round, and medians over the rounds:
  first  pristine hosts, no open connection   all tasks change something
  again  the same once more, connections cold     nothing changes
  warm   again, right after: connections that the contender left open, if any, are used
  check  pristine hosts, cold: check mode with diffs
wall: seconds. ctl: processor seconds (user+system) of the controller, all it started included, detached ones too.
hosts: processor seconds of the fleet (sshd, what the runner starts there). On a real rollout those are other machines'.
procs: processes started on the host that started most, sshd's own for the connection included (ssh-true shows those).
--mem is a run of its own: the highest sum of PSS over all the controller's processes, sampled; its times do not count.
--trips A,B is one too: each run is made with A and with B milliseconds of round trip added to the links; the difference
  of the walls over the difference of the delays is the number of round trips in a row, connecting included.
After each `first` the hosts' files must be what `raw` makes of them: a contender that leaves another state is said.
"""
import argparse, base64, ctypes, json, os, random, signal, statistics, subprocess, sys, threading, time

HERE = os.path.dirname(os.path.abspath(__file__))
PLAY, TMP, PEERS = f"{HERE}/play", "/tmp/bench", os.environ.get("PEERS", "/tmp/peers")
FLEET, NS = os.environ.get("FLEET_DIR", "/tmp/fleet"), os.environ.get("FLEET_NS", "fleet")
CG = next(f"{d}/bench" for d in ("/sys/fs/cgroup/unified", "/sys/fs/cgroup") if os.path.exists(f"{d}/cgroup.procs"))
libc = ctypes.CDLL(None, use_errno=True)


# ---- the contenders: name -> how to run it. mode is first, again, warm or check ------------------------------------
def ansible(mode, forks, venv="ansible", play="site.yml", **env):
    argv = [f"{PEERS}/{venv}/bin/ansible-playbook", "-i", f"{FLEET}/inventory.ini", "-f", str(forks), f"{PLAY}/ansible/{play}"]
    return argv + ["--check", "--diff"] * (mode == "check"), {"ANSIBLE_CONFIG": f"{PLAY}/ansible/ansible.cfg", **env}


def mitogen(mode, forks, strategy):
    plugins = subprocess.run([f"{PEERS}/mitogen/bin/python", "-c", "import ansible_mitogen as m; print(m.__path__[0])"],
                             text=True, capture_output=True).stdout.strip() + "/plugins/strategy"
    return ansible(mode, forks, "mitogen", ANSIBLE_STRATEGY=strategy, ANSIBLE_STRATEGY_PLUGINS=plugins)


def pyinfra(mode, forks, *flags):
    return [f"{PEERS}/pyinfra/bin/pyinfra", *(("--dry", "--diff") if mode == "check" else ("-y",)), "--parallel", str(forks),
            *flags, f"{TMP}/pyinfra_inventory.py", f"{PLAY}/pyinfra/deploy.py"], {}


def ansible_rs(mode, forks):
    argv = [f"{PEERS}/acrs/bin/ansible", "playbook", "-i", f"{FLEET}/inventory.ini", "-f", str(forks), f"{PLAY}/ansible/site.yml"]
    return argv + ["--check", "--diff"] * (mode == "check"), {"ANSIBLE_CONFIG": f"{PLAY}/ansible/ansible.cfg"}


def raw(mode, forks, cmd="", *opts):
    ssh = " ".join(["ssh", "-F", f"{FLEET}/ssh_config", "-o", "ControlMaster=auto", "-o", "ControlPersist=60",
                    "-o", f"ControlPath={TMP}/cp/raw-%h", *opts])
    cmd = cmd or f"sh -s $0 {mode} <{TMP}/tune.sh"
    return ["xargs", "-a", f"{FLEET}/hosts.txt", "-L1", "-P", str(forks), "sh", "-c", f"exec {ssh} $0 {cmd}"], {}


def tunerun(mode, forks):
    """TUNERUN names the program. It plays the playbook that Ansible plays."""
    return [os.environ.get("TUNERUN", "tunerun"), "play", f"{PLAY}/ansible/site.yml", "-i", f"{FLEET}/inventory.ini",
            "-f", str(forks), *(["--check", "--diff"] if mode == "check" else ["--yes"])], {}


CONTENDERS = {
    "ansible": ansible,
    "ansible-free": lambda m, f: ansible(m, f, ANSIBLE_STRATEGY="free"),
    "ansible-loop": lambda m, f: ansible(m, f, play="site-loop.yml"),
    "ansible-facts": lambda m, f: ansible(m, f, play="site-facts.yml"),
    "ansible-defaults": lambda m, f: ansible(m, f, ANSIBLE_PIPELINING="0", ANSIBLE_SSH_PIPELINING="0"),
    "mitogen": lambda m, f: mitogen(m, f, "mitogen_linear"),
    "mitogen-free": lambda m, f: mitogen(m, f, "mitogen_free"),
    "pyinfra": pyinfra,
    "pyinfra-nowait": lambda m, f: pyinfra(m, f, "--no-wait"),
    "ansible-rs": ansible_rs,
    "raw": raw,                                                                   # the floor: one shell script per host
    "raw-25519": lambda m, f: raw(m, f, "", "-o KexAlgorithms=curve25519-sha256"),
    "ssh-true": lambda m, f: raw(m, f, "true"),                                   # the bare handshake, OpenSSH's default kex
    "ssh-true-25519": lambda m, f: raw(m, f, "true", "-o KexAlgorithms=curve25519-sha256"),
    "tunerun": tunerun,
}
NO_STATE = ("ssh-true", "ssh-true-25519")
# ---------------------------------------------------------------------------------------------------------------------


def cpu(group):
    d = dict(l.split() for l in open(f"{group}/cpu.stat"))
    return int(d["usage_usec"]) / 1e6


def pids():
    return [int(p) for p in open(f"{CG}/cgroup.procs")]


def close_connections():
    """End what the last contender left running: control masters, mostly. Only what this program started is in CG."""
    for _ in range(100):
        left = pids()
        for p in left:
            try:
                os.kill(p, 15 if _ < 20 else 9)
            except ProcessLookupError:
                pass
        if not left:
            break
        time.sleep(0.05)
    for f in os.listdir(f"{TMP}/cp"):
        os.unlink(f"{TMP}/cp/{f}")


def into():
    open(f"{CG}/cgroup.procs", "w").write("0")
    fd = os.open(f"/run/netns/{NS}", os.O_RDONLY)
    if libc.setns(fd, 0x40000000) < 0:
        raise OSError(ctypes.get_errno(), "setns")


def pss():
    total = 0
    for p in pids():
        try:
            total += next(int(l.split()[1]) for l in open(f"/proc/{p}/smaps_rollup") if l.startswith("Pss:"))
        except (OSError, StopIteration):
            pass
    return total / 1024


def run(name, mode, forks, mem):
    argv, env = CONTENDERS[name]("again" if mode == "warm" else mode, forks)
    peak, done = [0.0], threading.Event()

    def watch():
        while not done.wait(0.1):
            peak[0] = max(peak[0], pss())
    before = started()
    with open(f"{TMP}/out/{name}.{mode}", "w") as out:
        ctl, hosts, t = cpu(CG), cpu(f"{os.path.dirname(CG)}/{NS}"), time.monotonic()
        p = subprocess.Popen(argv, env={**os.environ, **env}, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=TMP,
                             preexec_fn=into)
        if mem:
            threading.Thread(target=watch, daemon=True).start()
        rc = p.wait()
        wall = time.monotonic() - t
        done.set()
        time.sleep(0.05)
        ctl, hosts = cpu(CG) - ctl, cpu(f"{os.path.dirname(CG)}/{NS}") - hosts
    if rc:
        print(f"!! {name} {mode}: exit {rc}; see {TMP}/out/{name}.{mode}", flush=True)
    procs = max(after - before[host] for host, after in started().items()) - 1      # one of them counted
    row = {"wall": wall, "ctl": ctl, "hosts": hosts, "procs": procs, "mem": peak[0]}
    with open(f"{TMP}/rows.tsv", "a") as f:
        print(name, mode, forks, *(f"{v:.3f}" for v in row.values()), open("/proc/loadavg").read().split()[0], sep="\t", file=f)
    return row


def fleet(*args):
    return subprocess.run([f"{HERE}/fleet", *args], text=True, check=True, capture_output=True).stdout


def started():
    """The number of processes that each host has started since it is up."""
    return {name: int(count) for name, count in (line.split() for line in fleet("procs").splitlines())}


def on_hosts(script):
    return fleet("each", open(f"{PLAY}/raw/{script}").read())


def relay(ms):
    """Adds MS milliseconds of round trip to the links; ends with the returned process."""
    process = subprocess.Popen([f"{HERE}/fleet", "exec", f"{HERE}/latency", str(ms)], stdout=subprocess.PIPE)
    if not process.stdout.readline():
        raise SystemExit("the relay did not start; it needs iptables")
    return process


def end(process):
    process.terminate()
    process.wait()


def prepare(forks):
    """Files that contenders read, and the state that a good run leaves."""
    blob = random.Random(1).randbytes(65536)
    open(f"{PLAY}/blob.bin", "wb").write(blob)
    script = open(f"{PLAY}/raw/tune.sh").read().replace("@BLOB@", base64.encodebytes(blob).decode().strip())
    open(f"{TMP}/tune.sh", "w").write(script)
    rows = [line.split() for line in open(f"{FLEET}/hosts.txt")]
    open(f"{TMP}/pyinfra_inventory.py", "w").write(
        "storage = ([\n" + "".join(f'    ("{n}", {{"ssh_hostname": "{ip}"}}),\n' for n, ip in rows)
        + f'], {{"ssh_user": "root", "ssh_key": "{FLEET}/id_ed25519", "ssh_known_hosts_file": "{FLEET}/known_hosts",'
        f' "ssh_strict_host_key_checking": "yes", "ssh_allow_agent": False, "ssh_look_for_keys": False}})\n')
    run("raw", "first", forks, False)
    want = on_hosts("state.sh")
    if want.count("== ") != 1:
        raise SystemExit(f"the reference run left differing hosts:\n{want}")
    return want


def measure(name, mode, forks, mem, want):
    """One run of one contender on hosts in the state that the mode asks for."""
    if mode != "warm":
        close_connections()
    if mode in ("first", "check"):
        on_hosts("reset.sh")
    row = run(name, mode, forks, mem)
    if mode == "first" and name not in NO_STATE and (left := on_hosts("state.sh")) != want:
        print(f"!! {name}: the hosts are not as they should be: {left}for\n{want}", flush=True)
    return row


def trips(name, mode, forks, delays, want):
    """The round trips in a row of one run: the same run at two delays, and the difference of the walls."""
    walls = []
    for ms in delays:
        link = relay(ms)
        try:
            walls.append(measure(name, mode, forks, False, want)["wall"])
            close_connections()
        finally:
            end(link)
    return {"trips": 1000 * (walls[1] - walls[0]) / (delays[1] - delays[0])}


def table(got, names, modes, keys, base):
    width = {"procs": 0, "trips": 1}
    print(f"{'contender':18}{'mode':7}" + "".join(f"{k:>9}{'spread':>18}" + (f"{'/' + base:>12}" if base in names else "") for k in keys))
    for mode in modes:
        for name in names:
            row = f"{name:18}{mode:7}"
            for k in keys:
                v, d = [r[k] for r in got[name, mode]], width.get(k, 2)
                row += f"{statistics.median(v):9.{d}f}{f'{min(v):.{d}f}..{max(v):.{d}f}':>18}"
                if base in names:
                    pairs = [(x, y[k]) for x, y in zip(v, got[base, mode]) if y[k]]
                    row += f"{statistics.median(x / y for x, y in pairs):12.3f}" if pairs else f"{'-':>12}"
            print(row)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--hosts", type=int, default=10)
    ap.add_argument("--forks", type=int)
    ap.add_argument("--rounds", type=int, default=3)
    ap.add_argument("--only", default="ansible,mitogen,pyinfra,ansible-rs,raw,raw-25519" + ",tunerun" * ("TUNERUN" in os.environ))
    ap.add_argument("--modes")
    ap.add_argument("--base", default="ansible")
    ap.add_argument("--mem", action="store_true")
    ap.add_argument("--delay", type=float, help="milliseconds of round trip to add to the links (see ./latency)")
    ap.add_argument("--trips", type=lambda text: [float(ms) for ms in text.split(",")], metavar="MS,MS")
    ap.add_argument("--json", metavar="FILE", help="where every run's figures go too")
    a = ap.parse_args()
    if bool(a.delay) + bool(a.trips) + a.mem > 1 or a.trips and (len(a.trips) != 2 or a.trips[0] >= a.trips[1]):
        ap.error("one of --mem, --delay MS and --trips LOW,HIGH")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))              # tidies up, as does ^C
    modes = (a.modes or ("first,again" if a.trips else "first,again,warm,check")).split(",")
    names, forks, link = a.only.split(","), a.forks or a.hosts, None
    if unknown := set(names) - set(CONTENDERS):
        ap.error(f"no such contender: {' '.join(unknown)}; there are {' '.join(CONTENDERS)}")
    if a.trips and "warm" in modes:
        ap.error("warm connections pass the relay of another delay: leave warm out with --trips")
    for folder in (f"{TMP}/cp", f"{TMP}/out", CG):
        os.makedirs(folder, exist_ok=True)
    print(fleet("up", str(a.hosts)).strip(), f"; forks {forks}, {a.rounds} rounds", flush=True)
    try:
        want = prepare(forks)
        link = relay(a.delay) if a.delay else None
        got = {(n, m): [] for n in names for m in modes}
        for _ in range(a.rounds):
            for n in names:
                for m in modes:
                    got[n, m].append(trips(n, m, forks, a.trips, want) if a.trips else measure(n, m, forks, a.mem, want))
                close_connections()
        keys = ["mem"] if a.mem else ["trips"] if a.trips else ["wall", "ctl", "hosts", "procs"]
        table(got, names, modes, keys, a.base)
        if a.json:
            json.dump({f"{name} {mode}": rows for (name, mode), rows in got.items()}, open(a.json, "w"))
    finally:
        close_connections()
        os.rmdir(CG)
        if link:
            end(link)
        fleet("down")


main()
