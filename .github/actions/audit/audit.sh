#!/usr/bin/env bash
# Audits a site or a list, writes the report and the job summary. Inputs come
# as INPUT_…, agentaudit is in PATH.
set -euo pipefail

refuse() {
	echo "::error::$1"
	exit 2
}

if [ -n "$INPUT_URL" ] && [ -n "$INPUT_LIST" ]; then refuse "give url or list, not both"; fi
source=$INPUT_URL$INPUT_LIST
if [ -z "$source" ]; then refuse "give url or list"; fi
if [ -n "$INPUT_LIST" ] && [ ! -f "$INPUT_LIST" ]; then refuse "there is no file with the name that list gives"; fi
case "$source" in -*) refuse "url and list must not begin with a hyphen" ;; esac

case "$INPUT_PUBLICATION" in
true) INPUT_FAIL_ON=partial ;;
false) ;;
*) refuse "publication must be true or false" ;;
esac

case "$INPUT_FORMAT" in
sarif | junit | markdown | ndjson | json | csv) ;;
*) refuse "format must be sarif, junit, markdown, ndjson, json or csv" ;;
esac
case "$INPUT_FORMAT" in
junit) ending=xml ;;
markdown) ending=md ;;
*) ending=$INPUT_FORMAT ;;
esac

# bash 3.2 of macOS calls an empty array unbound, hence ${known[@]+…}.
known=()
if [ -n "$INPUT_BASELINE" ]; then known=(--baseline "$INPUT_BASELINE"); fi
judged=(${known[@]+"${known[@]}"})
if [ "$INPUT_FAIL_ON" = never ]; then judged=(); fi

AGENTAUDIT_DATA_DIR=$(mktemp -d "$RUNNER_TEMP/agentaudit-data.XXXXXX")
export AGENTAUDIT_DATA_DIR
report=$RUNNER_TEMP/agentaudit-report.$ending
rm -f "$report"

code=0
agentaudit run "$source" --name "$source" --fail-on "$INPUT_FAIL_ON" ${judged[@]+"${judged[@]}"} || code=$?
echo "exit-code=$code" >>"$GITHUB_OUTPUT"
case $code in
0 | 1 | 3) ;;
*) exit "$code" ;;
esac

case "$INPUT_FORMAT" in
sarif | junit | markdown) marked=(${known[@]+"${known[@]}"}) ;;
*) marked=() ;;
esac
agentaudit results latest --format "$INPUT_FORMAT" ${marked[@]+"${marked[@]}"} >"$report"
echo "report=$report" >>"$GITHUB_OUTPUT"
agentaudit results latest --format markdown ${known[@]+"${known[@]}"} >>"$GITHUB_STEP_SUMMARY"

if [ "$code" = 3 ]; then
	echo "::warning::Some sites gave no definite answer; that is no verdict about them. Audit them again later."
	exit 0
fi
exit "$code"
