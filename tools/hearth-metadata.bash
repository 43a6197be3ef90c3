# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Completion of hearth-metadata(8) for bash. Subcommands and options come from the
# program's own help.

_hearth_metadata() {
	local current=${COMP_WORDS[COMP_CWORD]} sub=${COMP_WORDS[1]} words
	COMPREPLY=()
	if [ "$COMP_CWORD" = 1 ]; then
		words="$(hearth-metadata --help 2>/dev/null | sed -n 's/^  \([a-z]*\) .*/\1/p') --help --version"
	elif [ "$sub" = help ]; then
		words=$(hearth-metadata --help 2>/dev/null | sed -n 's/^  \([a-z]*\) .*/\1/p')
	elif [[ $current == -* ]]; then
		words=$(hearth-metadata help "$sub" 2>/dev/null |
			sed -n 's/^ \{2,6\}\(-., \)\?\(--[a-z-]*\).*/\2/p')
	else
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
		return
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -o filenames -F _hearth_metadata hearth-metadata
