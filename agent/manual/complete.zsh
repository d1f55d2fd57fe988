_rocewatch() {
	local current=${words[CURRENT]} what row found
	local -a before candidates described names
	before=("${(@)words[2,CURRENT-1]}")
	what=$(_rocewatch_find "${before[@]}")
	if [[ $current = --*=* ]]; then
		what="value ${${what#* }%% *} ${current%%=*}"
		compset -P '*='
	elif [[ $current = -* && $what != value\ * ]]; then
		row=${what#* }
		[[ $what = commands ]] && row=none
		what="options ${row%% *}"
	fi
	found=$(_rocewatch_words ${words[1]} "$(_rocewatch_store "${before[@]}")" ${=what})
	case $found in
	'<files>') _files ;;
	'<directories>') _files -/ ;;
	*)
		candidates=(${(f)found})
		if [[ $what = commands || $what = rows\ * ]]; then
			described=(${(f)"$(_rocewatch_described ${=what})"})
			_describe 'command' described
			names=(${described%%:*})
			candidates=(${candidates:|names})
		fi
		compadd -a candidates
		;;
	esac
}
_rocewatch "$@"
