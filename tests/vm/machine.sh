# One QEMU machine, the same when the image is made and when a test restores it. Sourced.
# shellcheck shell=bash

# Units that only cost time in a guest of tests, masked.
cut_down() {
  local tree=$1 unit
  for unit in apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service \
    fstrim.timer getty@tty1.service serial-getty@ttyS0.service getty.target kmod-static-nodes.service \
    sys-kernel-debug.mount sys-kernel-tracing.mount sys-kernel-config.mount dev-mqueue.mount \
    systemd-binfmt.service proc-sys-fs-binfmt_misc.automount systemd-journal-flush.service \
    systemd-update-utmp.service systemd-update-utmp-runlevel.service systemd-random-seed.service \
    systemd-machine-id-commit.service systemd-sysusers.service systemd-user-sessions.service \
    systemd-fsck-root.service systemd-networkd.service systemd-timesyncd.service; do
    ln -sf /dev/null "$tree/etc/systemd/system/$unit"
  done
  mkdir -p "$tree/etc/systemd/system/multi-user.target.wants"
  ln -sf /etc/systemd/system/bed-network.service "$tree/etc/systemd/system/multi-user.target.wants/bed-network.service"
  : >"$tree/etc/machine-id"
}

# A port on 127.0.0.1 that nobody listens on, below those that the kernel gives to clients.
free_port() {
  local port
  for port in $(shuf -i 20000-31999 -n 50); do
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
  done
  return 1
}

# machine FOLDER PORT [ARGUMENT...]: QEMU in the foreground. It dies with the process that started it.
# Always TCG: the KVM device of a machine may be there and hang. qemu64 is the cheapest model under TCG.
machine() {
  local folder=$1 port=$2 disk
  shift 2
  local -a disks=()
  for disk in root data1 data2; do
    disks+=(-drive "if=none,id=$disk,file=$folder/$disk.qcow2,format=qcow2,cache=unsafe,discard=unmap")
    [ "$disk" = root ] && disks+=(-device "virtio-blk-pci,drive=$disk,bootindex=1") ||
      disks+=(-device "virtio-blk-pci,drive=$disk,serial=$disk")
  done
  exec setpriv --pdeathsig KILL qemu-system-x86_64 -name tunerun-vm -accel tcg,thread=multi -M q35 -cpu qemu64,+rdrand \
    -smp 1 -m 1024 -nodefaults -display none -vga none -serial "file:$folder/console.log" \
    "${disks[@]}" \
    -netdev "user,id=n0,restrict=on,hostfwd=tcp:127.0.0.1:$port-:22" -device virtio-net-pci,netdev=n0,romfile= \
    -object rng-random,id=r0,filename=/dev/urandom -device virtio-rng-pci,rng=r0 "$@"
}

# One QMP command; descriptors 4 and 5 are QEMU's answers and its input. Fails with QEMU's words.
qmp_asked() {
  local line
  echo "$1" >&5
  while read -r -t 300 line <&4; do
    case $line in
      *'"error"'*) echo "QEMU: $line" >&2; return 1 ;;
      *'"return": ""'* | *'"return": {}'*) return 0 ;;
      *'"return"'*) echo "QEMU: $line" >&2; return 1 ;;
    esac
  done
  echo "QEMU does not answer: $1" >&2
  return 1
}

# on_guest FOLDER PORT WORD...: runs a command there by ssh.
on_guest() {
  local folder=$1 port=$2
  shift 2
  [ -e "$folder/known_hosts" ] || sed "s/^/[127.0.0.1]:$port /" "$folder/host_key.pub" >"$folder/known_hosts"
  ssh -n -F none -i "$folder/id" -p "$port" -o BatchMode=yes -o StrictHostKeyChecking=yes -o ConnectTimeout=20 \
    -o UserKnownHostsFile="$folder/known_hosts" -o ServerAliveInterval=20 root@127.0.0.1 "$@"
}

# wait_for_guest FOLDER PORT [BOOT_ID]: until it answers, with another boot id than the one given; ten minutes at most.
wait_for_guest() {
  local folder=$1 port=$2 old=${3-} end=$((SECONDS + 600)) now
  while [ $SECONDS -lt $end ]; do
    now=$(on_guest "$folder" "$port" cat /proc/sys/kernel/random/boot_id 2>/dev/null) || now=
    [ -z "$now" ] || [ "$now" = "$old" ] || return 0
    sleep 1
  done
  echo "the guest did not answer within ten minutes; its last words:" >&2
  tail -n 20 "$folder/console.log" >&2
  return 1
}
