#!/bin/sh
# Installs what the tests need beside Python, where it is missing and we may: Chromium and PostgreSQL.
set -eu

missing=""
if ! command -v chromium >/dev/null 2>&1 && ! command -v chromium-browser >/dev/null 2>&1 && [ -z "${CHROMIUM:-}" ]; then
  missing="chromium"
fi
if [ -z "${ETHOGRAM_TEST_POSTGRES:-}" ] && ! command -v postgres >/dev/null 2>&1 && ! ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1; then
  missing="$missing postgresql"
fi
[ -n "$missing" ] || exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "installing $missing ..."
  export DEBIAN_FRONTEND=noninteractive
  # shellcheck disable=SC2086  # a list of packages
  if apt-get -qq update && apt-get -qq install -y --no-install-recommends $missing >/dev/null; then
    exit 0
  fi
fi
echo "missing for some tests: $missing; install with apt-get, or name CHROMIUM and ETHOGRAM_TEST_POSTGRES" >&2
# Outside CI those tests are left out, and say so.
[ "${CI:-}" != true ]
