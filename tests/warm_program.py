"""`ethogram` as a program that starts warm: a call is a fork of a process that has loaded code and patterns.

The pages of the documentation run two hundred commands, and loading takes most of the time of each. A call
has its own process, arguments, environment, folder and streams, like one from a shell.
"""

from __future__ import annotations

import gc
import io
import marshal
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

CALLER = """#!{python} -IS
import _socket, array, marshal, os, sys

call = marshal.dumps((sys.argv[1:], os.getcwd(), dict(os.environ)))
line = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
line.connect({path!r})
streams = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))
line.sendmsg([len(call).to_bytes(4, "big")], [streams])
line.sendall(call)
sys.exit(int.from_bytes(line.recv(1) or b"\\xff", "big"))
"""
STREAMS = (("stdin", "r", -1), ("stdout", "w", -1), ("stderr", "w", 1))
"""Their names, modes and buffers: what is an error is written line by line."""


@contextmanager
def warm_program(environment: dict[str, str], python: str = sys.executable) -> Iterator[Path]:
    """A folder with the program `ethogram` of this Python, to stand in front of the search path."""
    folder = Path(tempfile.mkdtemp(prefix="ethogram-"))
    path, program = str(folder / "socket"), folder / "ethogram"
    program.write_text(CALLER.format(python=python, path=path))
    program.chmod(0o700)
    command = [python, "-P", __file__, path]  # nothing is imported from this folder
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        try:
            assert server.stdout is not None
            assert server.stdout.readline() == b"ready\n"
            yield folder
        finally:
            server.communicate()  # it ends with its input
            shutil.rmtree(folder)


def serve(path: str) -> bool:
    """Answer calls until the input ends; true in a process that is to run a command."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        print("ready", flush=True)
        while listener in select.select([listener, 0], [], [])[0]:
            caller, _ = listener.accept()
            if not os.fork():
                listener.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                take_over(caller)
                return True
            caller.close()
    return False


def take_over(caller: socket.socket) -> None:
    """Become the process of a call, while another one waits to tell the caller how it ended."""
    size, streams, _, _ = socket.recv_fds(caller, 4, 3)
    call = b""
    while len(call) < int.from_bytes(size, "big"):
        call += caller.recv(1 << 16)
    if child := os.fork():
        for descriptor in streams:
            os.close(descriptor)
        _, status = os.waitpid(child, 0)
        caller.sendall(bytes([os.waitstatus_to_exitcode(status) & 255]))
        os._exit(0)
    caller.close()
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
        os.close(descriptor)
    # Those from the start know what their files were then.
    for number, (name, mode, buffering) in enumerate(STREAMS):
        stream = open(number, mode, buffering, encoding="utf-8", closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
    sys.argv[1:], folder, environment = marshal.loads(call)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)


if __name__ == "__main__":
    from ethogram.cli.main import main as run
    from ethogram.entry import main

    with redirect_stdout(io.StringIO()):
        for warming in (["demo"], ["patterns", "list"]):
            run(warming)
    # Or each call looks at all of it again as it ends, which takes longer than most commands.
    gc.freeze()
    if serve(sys.argv[1]):
        sys.exit(main())
