#!/bin/sh
# check_hardening.sh PROGRAM - is an optimised build of the program hardened: position independent, all symbols bound and made
# read-only at start, stack not executable, stack protector, checked libc calls (FORTIFY), and control-flow marks on x86-64.
set -eu
program=$1
bad=0

need() { # WHAT TEXT PATTERN
	if ! printf '%s\n' "$2" | grep -qE "$3"; then
		echo "$program: $1 is missing"
		bad=1
	fi
}

header=$(readelf -hW "$program")
dynamic=$(readelf -dW "$program")
segments=$(readelf -lW "$program")
symbols=$(readelf --dyn-syms -W "$program")
need "position independence (PIE)" "$header" 'Type: +DYN'
need "BIND_NOW" "$dynamic" 'BIND_NOW|Flags:.*NOW'
need "RELRO" "$segments" 'GNU_RELRO'
need "a stack that is not executable" "$segments" 'GNU_STACK.* RW '
need "the stack protector" "$symbols" '__stack_chk_fail'
need "FORTIFY" "$symbols" '__(memcpy|snprintf|vsnprintf|fprintf|read)_chk'
if printf '%s\n' "$header" | grep -q X86-64; then
	# Debian 12's crt1.o lacks the mark of the whole program, so the linker drops it: the landing points in our functions are counted
	marks=$(objdump -d --no-show-raw-insn "$program" | grep -c endbr64 || true)
	if [ "$marks" -lt 1000 ]; then
		echo "$program: control-flow protection is missing: $marks landing points"
		bad=1
	fi
fi
# Debian's own judge (devscripts), where there is one. The mark of the whole program is counted above; the rest has to be there.
if command -v hardening-check >/dev/null; then
	said=$(hardening-check --nocfprotection "$program" 2>&1) || {
		printf '%s\n' "$said"
		bad=1
	}
fi
[ $bad = 0 ] && echo "$program: hardened"
exit $bad
