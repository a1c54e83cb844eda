#!/bin/sh
# Pass an event to `ethogram hook`. Without ethogram, say so once a session; the agent always continues.
if command -v ethogram >/dev/null 2>&1; then
  [ "$1" = check ] && exit 0
  ethogram hook || true
elif [ "$1" = check ]; then
  printf '%s\n' '{"systemMessage": "ethogram is not on PATH, so this session is not watched. Install it as docs/install.md of its repository says."}'
fi
exit 0
