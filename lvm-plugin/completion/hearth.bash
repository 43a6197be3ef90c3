# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Completion of hearth(8) for bash. hearth itself says what may stand there.

_hearth() {
	local word glue='' current files='' words=() lines=()

	# bash takes "mode=back" for three words.
	for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
		if [ ${#words[@]} != 0 ] && [[ $word = = || $glue ]]; then
			words[-1]+=$word
		else
			words+=("$word")
		fi
		glue=
		if [ "$word" = = ]; then glue=1; fi
	done
	current=${words[-1]}
	mapfile -t lines < <(hearth __complete "${words[@]}" 2>/dev/null)
	# The value that follows "=" is a word of its own for bash.
	if [[ $current == *=* ]]; then
		lines=("${lines[@]#"${current%%=*}="}")
		current=${current#*=}
	fi
	COMPREPLY=()
	for word in "${lines[@]}"; do
		if [ "$word" = :files ]; then
			files=1
		else
			COMPREPLY+=("${word%%$'\t'*}")
		fi
	done
	if [ "$files" ]; then
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
	elif [[ ${COMPREPLY[0]} == *= ]]; then
		compopt -o nospace 2>/dev/null
	fi
}

complete -F _hearth hearth
