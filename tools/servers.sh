#!/bin/sh
# Installs what the tests need beside Python, where it is missing and we may: Chromium, PostgreSQL, Redis, NATS,
# Prometheus, valgrind, and Java and Maven, which fetch Neo4j. Outside CI, tests without their server are left out, and say so.
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
status=0
missing=""
if ! command -v chromium >/dev/null 2>&1 && ! command -v chromium-browser >/dev/null 2>&1 && [ -z "${CHROMIUM:-}" ]; then
  missing="chromium"
fi
if [ -z "${ETHOGRAM_TEST_POSTGRES:-}" ] && ! command -v postgres >/dev/null 2>&1 && ! ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1; then
  missing="$missing postgresql"
fi
for program in redis-server nats-server; do
  command -v $program >/dev/null 2>&1 || [ -x /usr/sbin/$program ] || missing="$missing $program"
done
command -v promtool >/dev/null 2>&1 || missing="$missing prometheus"
command -v valgrind >/dev/null 2>&1 || missing="$missing valgrind"
classpath="$here/build/neo4j.classpath"
fetch_neo4j=""
if [ -z "${ETHOGRAM_TEST_NEO4J:-}" ] && ! { [ -s "$classpath" ] && [ "$classpath" -nt "$here/tests/java/pom.xml" ]; }; then
  fetch_neo4j=yes
  # The single-file launcher is compiled as it starts, so a JDK and not a JRE.
  command -v javac >/dev/null 2>&1 || missing="$missing openjdk-17-jdk-headless"
  command -v mvn >/dev/null 2>&1 || missing="$missing maven"
fi
if [ -n "$missing" ]; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing $missing ..."
    export DEBIAN_FRONTEND=noninteractive
    # shellcheck disable=SC2086  # a list of packages
    { apt-get -qq update && apt-get -qq install -y --no-install-recommends $missing >/dev/null; } || status=1
  else
    status=1
  fi
  if [ "$status" != 0 ]; then
    echo "missing for some tests: $missing; install with apt-get, or name CHROMIUM, ETHOGRAM_TEST_POSTGRES and ETHOGRAM_TEST_NEO4J" >&2
  fi
fi
# Tests wait for the lock, which the fetch holds until it ends, however it ends.
mkdir -p "$here/build"
exec 9>"$here/build/neo4j.lock"
if [ -n "$fetch_neo4j" ] && command -v javac >/dev/null 2>&1 && command -v mvn >/dev/null 2>&1 && flock -n 9; then
  echo "fetching Neo4j for the tests, in the background (build/neo4j.log) ..."
  rm -f "$classpath"
  (
    mvn -B -ntp -f "$here/tests/java/pom.xml" dependency:build-classpath \
      "-Dmdep.outputFile=$classpath.new" && mv "$classpath.new" "$classpath"
  ) >"$here/build/neo4j.log" 2>&1 </dev/null &
fi
[ "$status" = 0 ] || [ "${CI:-}" != true ]
