# need.sh - for the bench_*.sh to source: says at once what they cannot run without.

# need_built BUILDDIR TARGET... - ends the script with status 1 when one of the programs is not built.
need_built() {
	need_dir=$1
	shift
	need_missing=
	for need_target in "$@"; do
		case $need_target in
		rocewatch) need_path=$need_dir/rocewatch ;;
		gnmi_server) need_path=$need_dir/tests/fake/gnmi_server ;;
		*) need_path=$need_dir/tests/bench/$need_target ;;
		esac
		[ -x "$need_path" ] || need_missing="$need_missing $need_target"
	done
	[ -n "$need_missing" ] || return 0
	echo "$(basename "$0"): not built in $need_dir:$need_missing. Build it: cmake --build $need_dir --target$need_missing" >&2
	exit 1
}

# need_program PROGRAM... - the same for programs of the system.
need_program() {
	for need_target in "$@"; do
		command -v "$need_target" >/dev/null && continue
		echo "$(basename "$0"): $need_target is not installed (scripts/packages-bench.txt)" >&2
		exit 1
	done
}
