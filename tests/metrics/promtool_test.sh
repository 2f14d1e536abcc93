#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: promtool_test.sh SAMPLE DOCS
# Prometheus' own tool has no complaint about our metrics and alert rules, and each rule fires when
# it should: docs/prometheus/karmalb_test.yml.
set -euo pipefail

command -v promtool >/dev/null || {
	echo "promtool is not here (package prometheus)"
	exit 77
}
said=$("$1" | promtool check metrics 2>&1) || {
	printf '%s\n' "$said"
	exit 1
}
if [ -n "$said" ]; then
	printf 'promtool check metrics is not silent:\n%s\n' "$said"
	exit 1
fi
promtool check rules "$2/prometheus/karmalb.rules.yml"
promtool test rules "$2/prometheus/karmalb_test.yml"
