#!/bin/sh
# Installs what the tests need beside Python: Chromium, where it is missing and we may install it.
set -eu

if command -v chromium >/dev/null 2>&1 || command -v chromium-browser >/dev/null 2>&1 || [ -n "${CHROMIUM:-}" ]; then
  exit 0
fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "installing chromium ..."
  export DEBIAN_FRONTEND=noninteractive
  if apt-get -qq update && apt-get -qq install -y --no-install-recommends chromium >/dev/null; then
    exit 0
  fi
fi
echo "there is no chromium: apt-get install chromium, or CHROMIUM=/path/to/it" >&2
# Outside CI those tests are left out, and say so.
[ "${CI:-}" != true ]
