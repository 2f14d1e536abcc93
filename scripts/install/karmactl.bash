# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# bash completion of karmactl: what may stand next in a statement is karmactl's own table of them, and
# the names there are at present are the running control plane's.
_karmactl() {
	local line words=() socket=() word i
	local current=${COMP_WORDS[COMP_CWORD]}
	if [[ $current == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W '--execute --socket --json --tsv --count --help --version' \
			-- "$current")
		return
	fi
	# Options are not part of the statement.
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-s | --socket)
			i=$((i + 1))
			socket=(--socket "${COMP_WORDS[i]}")
			;;
		-n | --count) i=$((i + 1)) ;;
		-*) ;;
		*) words+=("${COMP_WORDS[i]}") ;;
		esac
	done
	line="${words[*]} $current"
	while IFS= read -r word; do
		COMPREPLY+=("$word")
	done < <("${COMP_WORDS[0]}" "${socket[@]}" --complete="$line" 2>/dev/null)
}
complete -F _karmactl karmactl
