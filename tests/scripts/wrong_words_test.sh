#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: wrong_words_test.sh TOP
# Scripts that are asked wrongly: a sentence that names what was wrong, exit status 2, and nothing
# is installed, built or started before.
set -euo pipefail

scripts=$1/scripts
n_failed=0

# expect PATTERN SCRIPT WORD...
expect() {
	local pattern=$1 script=$2 said status=0
	shift 2
	said=$(timeout 60 "$scripts/$script" "$@" 2>&1 </dev/null) || status=$?
	if [ "$status" -eq 2 ] && [[ $said =~ $pattern ]] && [ "$(wc -l <<<"$said")" -eq 1 ] &&
		[[ $said == "$script: "* ]]; then
		return
	fi
	printf '%s %s: exit status %s, said: %s\n' "$script" "$*" "$status" "$said"
	n_failed=$((n_failed + 1))
}

expect 'there is no folder /nonexistent' package /nonexistent
expect 'there is no folder /etc/passwd' package /etc/passwd
expect "'--fast' is not an option" package --fast
expect 'expected one folder' package /tmp /tmp
expect 'no such purpose: --fast' setup --fast
expect 'no such purpose: fly' setup build fly
expect 'usage: scripts/format' format --all
expect 'usage: scripts/format' format --check all
expect 'no such check: shape' lint shape
expect 'no such part: units' test units
expect 'no such part: --fast' test unit --fast
expect 'no such benchmark: pipelines' bench pipelines
expect 'no such option: --fast' bench --fast
expect '--runs wants a whole number' bench --runs
expect "--runs wants a whole number above 0, not 'many'" bench --runs many
expect "--seconds wants a number above 0, not '0'" bench endtoend --seconds 0
expect '--runs goes up to 101' bench --runs 1000
expect "what is '--fast'" demo --fast
expect 'which mirror' demo kill
expect 'which mirror' demo slow m9
expect 'there is no folder /nonexistent' check-includes /nonexistent
expect 'expected no words' check-size all
expect 'which interface' karmalb-doctor
expect '--fast is not an option' karmalb-doctor --fast
expect '--config needs a file' karmalb-doctor --config
expect '/nonexistent cannot be read' karmalb-doctor --config /nonexistent lo
expect 'there is no interface nosuch0' karmalb-doctor nosuch0

[ "$n_failed" -eq 0 ]
