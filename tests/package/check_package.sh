#!/usr/bin/env bash
# check_package.sh [DEB] - the Debian package in a bare Debian 12 root, with a real systemd where this machine can boot one: installed
# without a configuration, service from its first start to its stop, upgraded over a package and a database of before, removed, purged.
# lintian is asked first. Leaves the root with the package installed in build/package/root, for run_in_root. Exit 77 where there is no root user or no debootstrap.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/package/lib.sh

deb=${1:-}
is_root || { echo "needs root"; exit 77; }
command -v debootstrap >/dev/null && command -v lintian >/dev/null || { echo "needs the packages debootstrap and lintian"; exit 77; }
[ -n "$deb" ] || deb=$(scripts/package)
work=build/package
root=$PWD/$work/root
mkdir -p $work
trap 'root_halt' EXIT

fail() {
	echo "check_package: $*" >&2
	[ -z "$boot_pid" ] || booted journalctl --no-pager -q -u rocewatch -n 60 2>&1 | grep -v "where=\(leaf\|spine\)" >&2 || true
	exit 1
}

# until_true SECONDS COMMAND... - waits for it.
until_true() {
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || fail "never: $*"
		sleep 0.1
	done
}

# inside COMMAND... - in the root: under its systemd, else plainly.
inside() {
	if [ -n "$boot_pid" ]; then booted "$@"; else in_root "$root" "$@"; fi
}

# files - everything there is in the root, with its kind, mode and owner, and what stands in /etc; without what apt and systemd keep themselves.
files() {
	(cd "$root" && find . -xdev \( -path ./proc -o -path ./sys -o -path ./dev -o -path ./run -o -path ./tmp -o -path ./var/tmp -o -path ./root -o \
		-path ./var/cache -o -path ./var/log -o -path ./var/lib/apt -o -path ./var/lib/dpkg -o -name random-seed -o -path ./var/lib/systemd/timers \
		-o -path ./etc/machine-id -o -name '*shadow-' -o -name 'passwd-' -o -name 'group-' \) -prune -o \
		\( -path './etc/*' -type f -exec md5sum {} + \) -o -printf '%p %y %m %U %G\n') | LC_ALL=C sort
}

said=$(lintian --allow-root --fail-on error,warning --tag-display-limit 0 "$deb" 2>&1) || fail "lintian: $said"

say "a bare Debian 12 root" >&2
rm -f "$root.ready"
root_make "$root" "$deb"
mkdir -p "$root/root/deb"
cp "$deb" "$root/root/deb/"
new=/root/deb/$(basename "$deb")

# The package before: the same contents, a lower version.
dpkg-deb -R "$deb" $work/old
sed -i 's/^Version: .*/Version: 0.0.9-1/' $work/old/DEBIAN/control
dpkg-deb --root-owner-group -Zgzip -z1 -b $work/old "$root/root/deb/rocewatch_0.0.9-1_old.deb" >/dev/null
rm -rf $work/old

say "the package in it" >&2
root_boot "$root" || true
files >$work/before
inside apt-get -qq -y install /root/deb/rocewatch_0.0.9-1_old.deb >$work/apt.log 2>&1 || { cat $work/apt.log; fail "it does not install"; }

# ---- what is there -------------------------------------------------------------------------------------------------------------
inside rocewatch --version
for place in "etc/rocewatch root rocewatch 750" "var/lib/rocewatch rocewatch rocewatch 750"; do
	read -r path user group mode <<<"$place"
	[ "$(inside stat -c '%U %G %a' "/$path")" = "$user $group $mode" ] || fail "/$path is $(inside stat -c '%U %G %a' "/$path")"
done
inside rocewatch config show /usr/share/doc/rocewatch/examples/rocewatch.yaml >/dev/null || fail "the example is wrong"
said=$(inside systemd-analyze verify --man=yes rocewatch.service 2>&1 | grep -i rocewatch || true)
[ -z "$said" ] || fail "the unit: $said"
level=$(inside systemd-analyze security --offline=true --no-pager rocewatch.service | sed -nE 's/.*level for [^ ]*: ([0-9]+)\.([0-9]).*/\1\2/p')
[ -n "$level" ] && [ "$level" -lt 20 ] || fail "systemd-analyze security: $level tenths"
pages=$(inside dpkg -L rocewatch | grep '/man/man.*\.gz$' || true)
[ -n "$pages" ] || fail "no manual pages"
for page in $pages; do
	said=$(inside man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null || true)
	[ -z "$said" ] || fail "$page: $said"
done
inside sh -c 'MANPAGER=cat man rocewatch' | grep "^NAME" >/dev/null || fail "man rocewatch does not open"
inside bash -c '. /usr/share/bash-completion/bash_completion && _completion_loader rocewatch; complete -p rocewatch' | grep rocewatch >/dev/null || fail "no completion"
[ "$(inside rocewatch lab list | wc -l)" -gt 50 ] || fail "the lab has no scenarios"
inside sh -ec 'cd /root && rocewatch lab record slow-receiver --out case && rocewatch replay --from case' >$work/replay.log 2>&1 || true
grep -q "pauses leaf" $work/replay.log || { tail $work/replay.log; fail "the lab's slow receiver is not found"; }
inside rm -rf /root/case
said=$(inside sqlite3 :memory: '.load /usr/lib/rocewatch/rocewatch_sqlite' 'SELECT 1' 2>&1)
[ "$said" = 1 ] || fail "the SQLite extension: $said"

# ---- the service ---------------------------------------------------------------------------------------------------------------
shown() { booted systemctl show -P "$1" rocewatch; }
query() { booted rocewatch query sql "$1" --format csv --no-header; }
# Reports by timers and by cron, as in the examples, with a mail server that keeps what it gets.
reports() {
	local examples=/usr/share/doc/rocewatch/examples said line
	printf '#!/bin/sh\ncat >/var/lib/rocewatch/mail.new\nif [ -e /var/lib/rocewatch/refuse ] && ! grep -q "failed on" /var/lib/rocewatch/mail.new; then exit 75; fi\n%s\n' \
		'mv /var/lib/rocewatch/mail.new /var/lib/rocewatch/mail' | booted sh -c 'cat >/usr/sbin/sendmail; chmod 755 /usr/sbin/sendmail'
	booted sh -ec "cp -r $examples/systemd/. /etc/systemd/system/; systemctl daemon-reload"
	said=$(booted sh -c 'cd /etc/systemd/system && systemd-analyze verify rocewatch-*.service rocewatch-*.timer' 2>&1 | grep -i rocewatch || true)
	[ -z "$said" ] || fail "the examples of units: $said"
	booted sh -ec 'systemctl -q enable --now rocewatch-report-daily.timer rocewatch-backup.timer; systemctl start rocewatch-report@daily.service rocewatch-backup.service' ||
		fail "the report by a timer: $(booted systemctl status --no-pager rocewatch-report@daily.service)"
	booted systemctl is-active -q rocewatch-report-daily.timer || fail "the timer does not wait"
	booted cat /var/lib/rocewatch/mail >$work/mail
	python3 tests/package/read_mail.py $work/mail "rocewatch daily: " "<html" || fail "the mail is not a report"
	booted touch /var/lib/rocewatch/refuse
	if booted systemctl start rocewatch-report@daily.service 2>/dev/null; then fail "a mail that was refused is no failure"; fi
	until_true 30 booted grep -q '^Subject: rocewatch-report@daily.service failed on' /var/lib/rocewatch/mail
	booted rm /var/lib/rocewatch/refuse
	[ "$(booted sh -c 'rocewatch --db /var/lib/rocewatch/backup/*.db query sql "SELECT count(*) > 0 FROM samples" --format csv --no-header')" = 1 ] || fail "the copy is not read"
	booted rm -r /var/lib/rocewatch/backup
	while IFS= read -r line; do
		[[ $line =~ ^([^[:space:]]+[[:space:]]){5}rocewatch[[:space:]]+(.*)$ ]] || fail "cron: $line"
		line=${BASH_REMATCH[2]//\\%/%}
		booted setpriv --reuid rocewatch --regid rocewatch --init-groups env PATH=/usr/sbin:/usr/bin:/sbin:/bin:/usr/share/rocewatch sh -c "$line" >$work/cron.log 2>&1 ||
			{ cat $work/cron.log; fail "cron: $line"; }
	done < <(booted grep -E '^[0-9*]' $examples/cron.d/rocewatch)
	booted sh -ec 'systemctl -q disable --now rocewatch-report-daily.timer rocewatch-backup.timer; rm -r /etc/systemd/system/rocewatch-* /usr/sbin/sendmail; systemctl daemon-reload'
	echo "reports: mailed by a timer and by cron, a failure is mailed, the copy of the database is read"
}
event_of_before="SELECT count(*) FROM events WHERE text = 'before the upgrade'"
service() {
	[ "$(booted systemctl is-enabled rocewatch)" = enabled ] || fail "the service is not enabled"
	[ "$(shown ActiveState) $(shown ConditionResult)" = "inactive no" ] || fail "without a configuration: $(shown ActiveState) $(shown ConditionResult)"

	# A fabric to watch, the configuration of a site, and a database that the first version has left.
	booted systemd-run -q --unit=lab rocewatch lab run healthy --face sonic-gnmi --dir /root/lab
	until_true 60 booted test -s /root/lab/rocewatch.yaml
	booted sh -ec 'install -m 640 -g rocewatch /root/lab/password /etc/rocewatch/password
		sed -e "/^user:/d" -e "s|/root/lab/rocewatch.db|/var/lib/rocewatch/rocewatch.db|" -e "s|/root/lab/password|/etc/rocewatch/password|" /root/lab/rocewatch.yaml |
			install -m 640 -g rocewatch /dev/stdin /etc/rocewatch/rocewatch.yaml'
	python3 tests/package/old_database.py "$root/var/lib/rocewatch/rocewatch.db"
	booted chown rocewatch:rocewatch /var/lib/rocewatch/rocewatch.db
	booted rocewatch config check >/dev/null || fail "the configuration is wrong"

	booted apt-get -qq -y install "$new" >$work/apt.log 2>&1 || { cat $work/apt.log; fail "the upgrade"; }
	[ "$(shown ActiveState)" = active ] || fail "after the upgrade: $(shown ActiveState)"
	until_true 60 booted rocewatch check freshness
	[ "$(query "$event_of_before")" = 1 ] || fail "the event of the version before: $(query "$event_of_before")"
	echo "upgraded; the database of before is read"

	# Again from the running service: another process, the same data.
	local pid samples
	pid=$(shown MainPID)
	samples=$(query "SELECT count(*) FROM samples WHERE device = 'spine1'")
	booted apt-get -qq -y install --reinstall "$new" >$work/apt.log 2>&1 || { cat $work/apt.log; fail "the installation over itself"; }
	[ "$(shown ActiveState)" = active ] && [ "$(shown MainPID)" != "$pid" ] || fail "an upgrade did not restart the service"
	[ "$(query "SELECT count(*) FROM samples WHERE device = 'spine1'")" -ge "$samples" ] || fail "samples are gone after a restart"

	# Who runs checks is a member of the group, and no more.
	booted useradd -r -G rocewatch watcher
	booted setpriv --reuid watcher --regid watcher --init-groups rocewatch check freshness >/dev/null || fail "a member of the group cannot check"
	if booted setpriv --reuid watcher --regid watcher --clear-groups cat /etc/rocewatch/rocewatch.yaml >/dev/null 2>&1; then fail "others read the configuration"; fi
	booted userdel watcher

	reports

	# Reload: what is right is taken, what is wrong is refused and changes nothing.
	pid=$(shown MainPID)
	booted sed -i 's/^fabric: lab/fabric: pod-b/' /etc/rocewatch/rocewatch.yaml
	booted systemctl reload rocewatch
	until_true 30 sh -c "nsenter -t $boot_pid -a rocewatch status --format json | grep -q pod-b"
	booted sh -c 'cp /etc/rocewatch/rocewatch.yaml /root/right; echo "nonsense: [" >>/etc/rocewatch/rocewatch.yaml'
	booted systemctl reload rocewatch
	until_true 30 sh -c "nsenter -t $boot_pid -a journalctl -q -u rocewatch | grep -q 'rocewatch.yaml:[0-9]'"
	booted sh -c 'cat /root/right >/etc/rocewatch/rocewatch.yaml; rm /root/right'
	[ "$(shown ActiveState) $(shown MainPID)" = "active $pid" ] || fail "a wrong configuration ended the service"

	# Watchdog: an agent that stands still is ended and started again.
	booted sh -ec 'mkdir -p /etc/systemd/system/rocewatch.service.d && printf "[Service]\nWatchdogSec=2s\n" >/etc/systemd/system/rocewatch.service.d/fast.conf
		systemctl daemon-reload && systemctl restart rocewatch'
	pid=$(shown MainPID)
	booted sh -c "kill -STOP $pid"
	until_true 60 sh -c "[ \$(nsenter -t $boot_pid -a systemctl show -P NRestarts rocewatch) -ge 1 ]"
	until_true 60 sh -c "[ \$(nsenter -t $boot_pid -a systemctl is-active rocewatch) = active ]"
	booted sh -ec 'rm -r /etc/systemd/system/rocewatch.service.d; rm -f /var/lib/systemd/coredump/*; systemctl daemon-reload'

	booted systemctl stop rocewatch
	[ "$(shown Result) $(shown ExecMainStatus)" = "success 0" ] || fail "it did not stop in order: $(shown Result) $(shown ExecMainStatus)"
	echo "service: started, restarted by an upgrade, reloaded, ended by the watchdog and started again, stopped"
	booted systemctl stop lab
	booted rm -rf /root/lab
}
if [ -n "$boot_pid" ]; then
	service
else
	echo "SKIPPED: the service under systemd: $(tail -n 1 "$boot_log")" >&2
	inside sh -c 'echo "fabric: kept" >/etc/rocewatch/rocewatch.yaml'
	inside apt-get -qq -y install "$new" >$work/apt.log 2>&1 || { cat $work/apt.log; fail "the upgrade"; }
fi

# ---- and away with it ----------------------------------------------------------------------------------------------------------
inside apt-get -qq -y remove rocewatch >$work/apt.log 2>&1 || { cat $work/apt.log; fail "it cannot be removed"; }
inside test -s /etc/rocewatch/rocewatch.yaml || fail "removing took the configuration"
[ -z "$boot_pid" ] || inside test -s /var/lib/rocewatch/rocewatch.db || fail "removing took the history"
inside test ! -e /usr/bin/rocewatch || fail "removing left the program"
inside apt-get -qq -y purge rocewatch >$work/apt.log 2>&1 || { cat $work/apt.log; fail "it cannot be purged"; }
files >$work/after
diff $work/before $work/after >&2 || fail "purging does not leave what was before (< before, > after)"
echo "removed: configuration and history stay; purged: nothing stays"

inside apt-get -qq -y install "$new" >$work/apt.log 2>&1 || { cat $work/apt.log; fail "it does not install again"; }
rm "$root/root/deb/rocewatch_0.0.9-1_old.deb"
root_halt
rm -rf "$root"/var/log/journal/*
: >"$root.ready"
echo "the package holds"
