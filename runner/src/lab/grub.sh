#!/bin/sh
# GRUB's programs on a host of a tunerun lab. The host has no boot loader; whoever boots it reads what these write.
set -e
env=/boot/grub/grubenv

entries() { # the variables in $env
	[ ! -e "$env" ] || grep -v '^#' "$env" | grep = || true
}

store() { # the variables on stdin become $env, a block of 1024 bytes as GRUB wants it
	text=$(echo '# GRUB Environment Block'; cat)
	room=$((1024 - ${#text} - 1))
	[ "$room" -ge 0 ] || { echo 'environment block too small' >&2; exit 1; }
	{ printf '%s\n' "$text"; printf "%${room}s" '' | tr ' ' '#'; } > "$env.new"
	mv "$env.new" "$env"
}

unset_() { entries | grep -v "^$1=" || true; }

set_() { { unset_ "${1%%=*}"; echo "$1"; } | store; }

configuration() {
	. /etc/default/grub
	for file in /etc/default/grub.d/*.cfg; do
		[ ! -e "$file" ] || . "$file"
	done
	echo '# Written by a stand-in for grub-mkconfig on a host of a tunerun lab.'
	default=${GRUB_DEFAULT:-0}
	[ "$default" != saved ] || default="\${saved_entry}"
	# What a one-time entry is taken by.
	cat <<-END
	if [ "\${next_entry}" ] ; then
	   set default="\${next_entry}"
	   set next_entry=
	   save_env next_entry
	else
	   set default="$default"
	fi
	END
	echo "menuentry 'GNU/Linux' --class gnu-linux --id gnulinux-simple {"
	echo "	linux	/boot/vmlinuz root=/dev/vda1 ro $GRUB_CMDLINE_LINUX $GRUB_CMDLINE_LINUX_DEFAULT"
	echo '}'
	echo "menuentry 'GNU/Linux (recovery mode)' --class gnu-linux --id gnulinux-recovery {"
	echo "	linux	/boot/vmlinuz root=/dev/vda1 ro single $GRUB_CMDLINE_LINUX"
	echo '}'
	cat <<-'END'
	if [ -f ${config_directory}/custom.cfg ]; then
	  source ${config_directory}/custom.cfg
	fi
	END
}

case ${0##*/} in
grub-mkconfig)
	out=
	while [ $# -gt 0 ]; do
		case $1 in
		-o) out=$2; shift ;;
		--output=*) out=${1#*=} ;;
		*) echo "unrecognized option '$1'" >&2; exit 1 ;;
		esac
		shift
	done
	text=$(configuration)
	if [ -n "$out" ]; then
		umask 077
		printf '%s\n' "$text" > "$out.new"
		# As the real one does where no password is in it.
		chmod 444 "$out.new"
		mv "$out.new" "$out"
	else
		printf '%s\n' "$text"
	fi ;;
update-grub) exec grub-mkconfig -o /boot/grub/grub.cfg ;;
grub-reboot) set_ "next_entry=$1" ;;
grub-set-default) set_ "saved_entry=$1" ;;
grub-probe)
	case $* in
	*fs*) echo ext2 ;;
	*device*) echo /dev/vda1 ;;
	*abstraction*) echo ;;
	esac ;;
grub-editenv)
	case $1 in
	-) shift ;;
	/*) env=$1; shift ;;
	esac
	word=$1
	shift
	case $word in
	create) : | store ;;
	list) entries ;;
	set) for one; do set_ "$one"; done ;;
	unset) for one; do unset_ "$one" | store; done ;;
	*) echo "unknown command '$word'" >&2; exit 1 ;;
	esac ;;
esac
