_rocewatch() {
	local current=${COMP_WORDS[COMP_CWORD]} what='' row='' words='' before
	before=("${COMP_WORDS[@]:1:COMP_CWORD-1}")
	if [ "$current" = "=" ]; then
		current=''
	elif [ "${#before[@]}" -gt 0 ] && [ "${before[-1]}" = "=" ]; then
		unset 'before[-1]'
	fi
	what=$(_rocewatch_find "${before[@]}")
	case "$what $current" in
	value\ *) ;;
	*' '-*)
		row=${what#* }
		[ "$what" = commands ] && row=none
		what="options ${row%% *}"
		;;
	esac
	# shellcheck disable=SC2086 # the parts of $what are words
	words=$(_rocewatch_words "${COMP_WORDS[0]}" "$(_rocewatch_store "${before[@]}")" $what)
	case "$words" in
	'<files>')
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
		;;
	'<directories>')
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -d -- "$current")
		;;
	*) mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current") ;;
	esac
}
complete -F _rocewatch rocewatch
