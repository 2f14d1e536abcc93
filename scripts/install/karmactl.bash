# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# bash completion of karmactl: what may stand next in a statement is karmactl's own table of them, and
# the names there are at present are the running control plane's.
_karmactl() {
	local words=() socket=() word i text='' typed
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
	# bash parts words at colons, too: 10.0.0.11 : 80.  What stands before the last is typed already.
	for word in "${words[@]}" "$current"; do
		if [[ $text == *: || $word == : ]]; then
			text+=$word
		else
			text+=${text:+ }$word
		fi
	done
	word=${text##* }
	typed=''
	[[ $word != *:* ]] || typed=${word%"${word##*:}"}
	while IFS= read -r word; do
		COMPREPLY+=("${word#"$typed"}")
	done < <("${COMP_WORDS[0]}" "${socket[@]}" --complete="$text" 2>/dev/null)
}
complete -F _karmactl karmactl
