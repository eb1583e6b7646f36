#!/usr/bin/env bash
# Frameworks that are too large for the ordinary environment, or pin packages that we have newer: each in its own.
set -euo pipefail
cd "$(dirname "$0")/.."
python="${PYTHON:-python3}"
failed=""
for row in claude_agent:claude-agent-sdk crewai:crewai \
  llama_index:llama-index-core:llama-index-llms-openai-like adk:google-adk; do
  IFS=: read -r name package client <<<"$row"
  home=".venv-adapters/$name"
  test -x "$home/bin/python" || "$python" -m venv "$home"
  "$home/bin/python" -m pip install --quiet --disable-pip-version-check --upgrade "$package" ${client:+"$client"} \
    hypothesis pytest pytest-asyncio pytest-timeout --editable .
  echo "== $("$home/bin/python" -m pip list --format freeze --disable-pip-version-check | grep -i "^$package==")"
  CREWAI_DISABLE_TELEMETRY=true OTEL_SDK_DISABLED=true \
    "$home/bin/python" -m pytest -p no:cacheprovider "tests/adapters/test_$name.py" \
    "tests/adapters/test_adapter_examples.py" -k "$name" || failed="$failed $package"
done
test -z "$failed" || { echo "failed:$failed"; exit 1; }
