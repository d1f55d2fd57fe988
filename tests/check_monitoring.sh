#!/usr/bin/env bash
# check_monitoring.sh BUILD - Nagios and Icinga 2 themselves read the definitions that the build printed, and find one for every check;
# every option that they name is one of the check.
set -euo pipefail
share=$1/share/rocewatch
program=$1/rocewatch
command -v nagios4 >/dev/null && command -v icinga2 >/dev/null || { echo "needs nagios4-core and icinga2-bin"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 777 "$work" # Nagios leaves root
names=$(sed -nE 's/^\tcommand_name\tcheck_rocewatch_(.*)/\1/p' "$share/nagios/rocewatch.cfg")
[ "$(wc -w <<<"$names")" -ge 11 ] || { echo "too few checks: $names"; exit 1; }

# Nagios: a host with a service of each template
{
	printf 'define timeperiod {\n\ttimeperiod_name always\n\talias always\n\tmonday 00:00-24:00\n}\n'
	printf 'define host {\n\thost_name noc1\n\taddress 127.0.0.1\n\tmax_check_attempts 3\n\tcheck_period always\n\tcontacts root\n\tnotification_period always\n}\n'
	printf 'define command {\n\tcommand_name none\n\tcommand_line /bin/true\n}\n'
	printf 'define contact {\n\tcontact_name root\n\thost_notification_commands none\n\tservice_notification_commands none\n'
	printf '\thost_notification_period always\n\tservice_notification_period always\n}\n'
	for name in $names; do
		printf 'define service {\n\tuse rocewatch-%s\n\thost_name noc1\n\tmax_check_attempts 3\n\tcheck_period always\n\tnotification_period always\n\tcontacts root\n}\n' "$name"
	done
} >"$work/site.cfg"
printf '%s\n' "cfg_file=$share/nagios/rocewatch.cfg" "cfg_file=$work/site.cfg" "log_file=$work/log" "check_result_path=$work" "temp_path=$work" \
	"object_cache_file=$work/cache" "status_file=$work/status" "lock_file=$work/lock" "command_file=$work/cmd" 'illegal_macro_output_chars=`~$&|"<>' >"$work/nagios.cfg"
nagios4 -v "$work/nagios.cfg" >"$work/said" || { cat "$work/said"; exit 1; }
grep -q 'Total Errors: *0' "$work/said" || { cat "$work/said"; exit 1; }
grep -q 'Total Warnings: *0' "$work/said" || { grep -i warning "$work/said"; exit 1; }
grep -q "Checked $(wc -w <<<"$names") services" "$work/said" || { cat "$work/said"; exit 1; }

# Icinga 2: a host that asks for each
{
	printf 'include <itl>\ninclude "%s"\n' "$share/icinga/rocewatch.conf"
	printf 'object Host "noc1" {\n\tcheck_command = "dummy"\n'
	for name in $names; do printf '\tvars.rocewatch["%s"] = { rocewatch_warn = "1%%" }\n' "$name"; done
	printf '}\n'
} >"$work/icinga.conf"
icinga2 daemon -C -c "$work/icinga.conf" -D "DataDir=$work" -D "CacheDir=$work" -D "LogDir=$work" -D "SpoolDir=$work" -D "InitRunDir=$work" \
	-D "RunAsUser=$(id -un)" -D "RunAsGroup=$(id -gn)" >"$work/said" 2>&1 || { cat "$work/said"; exit 1; }
grep -q "Instantiated $(wc -w <<<"$names") Services" "$work/said" || { cat "$work/said"; exit 1; }
grep -iE 'warning|critical' "$work/said" && exit 1

# every command of the definitions is one of the program, and so is every option
for name in $names; do
	options=$(sed -n "/CheckCommand \"rocewatch_$name\"/,/^}/p" "$share/icinga/rocewatch.conf" | grep -oE '"--[a-z]+"' | tr -d '"')
	"$program" help check "$name" >"$work/help"
	for option in $options; do
		[ "$option" = --config ] || grep -q -- "$option" "$work/help" || { echo "check $name has no $option"; exit 1; }
	done
done
echo "monitoring: $(wc -w <<<"$names") checks, by Nagios and Icinga 2"
