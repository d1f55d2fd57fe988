# _rocewatch_find WORD... - what comes after these words: "commands", "rows COMMAND", "value ROW
# OPTION" or "argument ROW N", where ROW is COMMAND or COMMAND/SUBCOMMAND.
_rocewatch_find() {
	local word option='' command='' row='' n=0
	for word in "$@"; do
		if [ -n "$option" ] && [ "$word" != "=" ]; then
			option=''
			continue
		fi
		case "$word" in
		=) ;;
		--*=*) ;;
		-?*) if _rocewatch_takes_value "$word"; then option=$word; fi ;;
		*)
			if [ -z "$command" ]; then
				command=$word
				row=$word
			elif [ "$row" = "$command" ] && [ "$n" = 0 ] &&
				_rocewatch_rows "$command" | grep -qxF -e "$word"; then
				row=$command/$word
			else
				n=$((n + 1))
			fi
			;;
		esac
	done
	if [ -n "$option" ]; then
		echo "value ${row:-none} $option"
	elif [ -z "$command" ]; then
		echo commands
	elif [ "$row" = "$command" ] && [ "$n" = 0 ] && [ -n "$(_rocewatch_rows "$command")" ]; then
		echo "rows $command"
	else
		echo "argument $row $n"
	fi
}

# _rocewatch_ask PROGRAM STORE ARGUMENT... - the first column of what a command prints. STORE is the
# option that names the database, or "-". It must not keep the shell waiting.
_rocewatch_ask() {
	local program=$1 store=$2
	shift 2
	if [ "$store" != - ]; then set -- "$@" "$store"; fi
	timeout 2 "$program" "$@" 2>/dev/null </dev/null | sed 's/[", ].*//; /^$/d'
}

# _rocewatch_words PROGRAM STORE WHAT... - the candidates, one a line; "<files>" or "<directories>"
# for those of the shell.
_rocewatch_words() {
	local program=$1 store=$2 kind=''
	shift 2
	case "$1" in
	commands) _rocewatch_commands ;;
	rows)
		_rocewatch_rows "$2"
		kind=$(_rocewatch_argument "$2" 0)
		;;
	value) kind=$(_rocewatch_value "$2" "$3") ;;
	argument) kind=$(_rocewatch_argument "$2" "$3") ;;
	options) _rocewatch_options "$2" ;;
	esac
	case "$kind" in
	'') ;;
	files) echo '<files>' ;;
	directories) echo '<directories>' ;;
	words\ *) printf '%s\n' "${kind#words }" | tr ' ' '\n' ;;
	commands) _rocewatch_commands ;;
	incidents) _rocewatch_ask "$program" "$store" incident list --all --format csv --no-header ;;
	sheets) _rocewatch_ask "$program" "$store" tune list --format csv --no-header ;;
	silences) _rocewatch_ask "$program" "$store" silence list --format csv --no-header ;;
	receivers) _rocewatch_ask "$program" "$store" alert list --format csv --no-header ;;
	devices) _rocewatch_ask "$program" "$store" status --format csv --no-header ;;
	metrics) _rocewatch_ask "$program" - query --list --format csv --no-header ;;
	profiles) _rocewatch_ask "$program" - profile list --format csv --no-header ;;
	scenarios) _rocewatch_ask "$program" - lab list --no-header ;;
	esac
}

# _rocewatch_store WORD... - the option of these words that names a database or configuration.
_rocewatch_store() {
	local word before='' store=-
	for word in "$@"; do
		case "$before" in
		--db) store=--db=$word ;;
		-c | --config) [ "$store" = - ] && store=--config=$word ;;
		esac
		before=$word
	done
	echo "$store"
}
