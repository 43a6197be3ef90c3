# SPDX-License-Identifier: GPL-2.0-only
#
# Completion of hearth(8) for fish. hearth itself says what may stand there.

function __hearth_complete
    set -l current (commandline -ct)
    set -l words (commandline -opc)
    set -l lines (hearth __complete $words[2..-1] "$current" 2>/dev/null)
    if test "$lines[1]" = :files
        __fish_complete_path "$current"
        return
    end
    printf '%s\n' $lines
end

complete -c hearth -f -a '(__hearth_complete)'
