# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Completion of hearth(8) for bash. Options and settings come from --help, caches
# from hearth status, so that there is little here to go stale.

_hearth_words() {
	case $1 in
	caches) hearth status --json 2>/dev/null | sed -n 's/^ *"name": "\(.*\)",$/\1/p' ;;
	subcommands) hearth --help 2>/dev/null | sed -n 's/^  \([a-z-]*\) .*/\1/p' ;;
	options) hearth "$2" --help 2>/dev/null | sed -n 's/^  \(--[a-z-]*\).*/\1/p' ;;
	keys) hearth set --help 2>/dev/null | sed -n 's/^  \([a-z_]*=\).*/\1/p' ;;
	Modes | Policies | Presets) hearth set --help 2>/dev/null | sed -n "s/^$1: *//p" ;;
	esac
}

# Prints the values of a setting; a number has no list.
_hearth_values() {
	case $1 in
	mode) _hearth_words Modes ;;
	policy) _hearth_words Policies ;;
	esac
}

# Prints the values of the option $1; fails if it is no option that takes a word.
_hearth_argument() {
	case $1 in
	--preset) _hearth_words Presets ;;
	--policy) _hearth_words Policies ;;
	--format) echo "blkparse fio fiolog spc msr bin" ;;
	--cache | --live) _hearth_words caches ;;
	--size | --block | --sample | --minutes | --interval | --count | --listen) ;;
	*) return 1 ;;
	esac
}

_hearth() {
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	local sub=${COMP_WORDS[1]} words

	COMPREPLY=()
	# bash takes "mode=back" for three words.
	if [ "$current" = = ]; then
		words=$(_hearth_values "$previous")
		current=
	elif [ "$previous" = = ]; then
		words=$(_hearth_values "${COMP_WORDS[COMP_CWORD - 2]}")
	elif [ "$COMP_CWORD" = 1 ]; then
		words="$(_hearth_words subcommands) help --help --version"
	elif [ "$sub" = help ]; then
		words=$(_hearth_words subcommands)
	elif words=$(_hearth_argument "$previous"); then
		:
	elif [[ $previous =~ ^--(file|svg)$ ]]; then
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
		return
	elif [[ $current == -* ]]; then
		words="$(_hearth_words options "$sub") --help"
	elif [ "$sub" = advise ] || [[ $sub = replace-ssd && $COMP_CWORD -gt 2 && $previous != --* ]]; then
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
		return
	elif [ "$sub" = set ] && [[ $COMP_CWORD -gt 2 && $previous != --* ]]; then
		words="mode= policy= $(_hearth_words keys)"
		compopt -o nospace 2>/dev/null
	elif [[ $sub =~ ^(top|doctor|export)$ ]]; then
		words=
	else
		words=$(_hearth_words caches)
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -F _hearth hearth
