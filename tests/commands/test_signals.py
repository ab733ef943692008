# SPDX-License-Identifier: Apache-2.0
"""Signals to the command line, at work and while it starts; those in scripts: test_places.py."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import time

import nibabel
import numpy as np
import pytest

from upsample3d.commands import main as command
from upsample3d.files.process import ENDING

COMMAND = [sys.executable, "-m", "upsample3d"]
LONG = ["forward", "x.npy", "--output-size", "512,2048,1024", "-o", "y.npz"]


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def begun(folder, *words, ignoring=()):
    """A process that works on a gigabyte of zeros, once its file grows."""
    np.lib.format.open_memmap(folder / "x.npy", "w+", np.float32, (256, 1024, 1024)).flush()

    def prepare():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for number in ignoring:
            signal.signal(number, signal.SIG_IGN)

    started = subprocess.Popen(
        [*words, *COMMAND, *LONG], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, preexec_fn=prepare, start_new_session=True,
    )  # fmt: skip
    while len(names(folder)) == 1 and started.poll() is None:
        time.sleep(0.01)
    return started


WORDS = {
    signal.SIGHUP: "hangup",
    signal.SIGQUIT: "quit",
    signal.SIGUSR1: "user defined signal 1",
    signal.SIGUSR2: "user defined signal 2",
    signal.SIGALRM: "alarm clock",
    signal.SIGXCPU: "cpu time limit exceeded",
    signal.SIGVTALRM: "virtual timer expired",
    signal.SIGRTMIN: "real-time signal 0",
}


@pytest.mark.parametrize("sent", WORDS)
def test_a_signal_that_ends_the_process_leaves_nothing(tmp_path, sent):
    """SIGINT and SIGTERM in test_resample_mistakes.py."""
    running = begun(tmp_path)
    running.send_signal(sent)
    out, told = running.communicate(timeout=60)
    assert (running.returncode, out, told) == (-sent, "", f"{WORDS[sent]}\n")
    assert names(tmp_path) == ["x.npy"]


def test_every_signal_that_ends_a_process_is_heard():
    """But for those that cannot be caught, or by which the process itself failed."""
    others = {"KILL", "STOP", "TSTP", "TTIN", "TTOU", "CHLD", "CONT", "URG", "WINCH", "PIPE",
              "XFSZ", "ABRT", "BUS", "FPE", "ILL", "SEGV", "SYS", "TRAP"}  # fmt: skip
    others = {getattr(signal, f"SIG{name}") for name in others}
    assert set(ENDING) == signal.valid_signals() - others


@pytest.mark.parametrize("ignored", [signal.SIGHUP, signal.SIGINT], ids=["nohup", "background"])
def test_ignored_signals_stay_ignored(tmp_path, ignored):
    running = begun(tmp_path, ignoring=[ignored])
    running.send_signal(ignored)
    size, deadline = 0, time.monotonic() + 60
    while (grown := sum(path.stat().st_size for path in tmp_path.glob(".*"))) <= size + (1 << 16):
        size = size or grown
        assert running.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    running.terminate()
    assert running.communicate(timeout=60)[1] == "terminated\n"
    assert running.returncode == -signal.SIGTERM
    assert names(tmp_path) == ["x.npy"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_an_interrupt_ends_the_loop_of_a_shell(tmp_path):
    """As it does where a command dies of the signal, and not where it ends with status 130."""
    loop = 'for number in 1 2; do "$@"; echo "$?" >> status; done; echo after >> status'
    running = begun(tmp_path, "bash", "-c", loop, "bash")
    os.killpg(running.pid, signal.SIGINT)
    running.communicate(timeout=60)
    assert running.returncode == -signal.SIGINT
    assert names(tmp_path) == ["x.npy"]


def test_a_shell_sees_130(tmp_path):
    line = "trap : INT; \"$@\"; echo $?"  # fmt: skip
    running = begun(tmp_path, "sh", "-c", line, "sh")
    os.killpg(running.pid, signal.SIGINT)
    assert running.communicate(timeout=60) == ("130\n", "interrupted\n")


MOMENTS = """
import os, signal, sys
kind, moment = os.environ["MOMENT"].split()
left = int(moment)

def count():
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGINT)

def imported(event, arguments):
    module = "upsample3d.commands"
    if event == "import" and "upsample3d" in sys.modules and arguments[0] != module:
        count()

def called(frame, event, argument):
    if event == "call" and frame.f_code.co_name == "cb" and "upsample3d" in sys.modules:
        count()

if kind == "import":
    sys.addaudithook(imported)
else:
    sys.setprofile(called)
if left == 0:
    import atexit
    atexit.register(lambda: print(-left))
"""
"""Sends Ctrl-C before the n-th import of the command, or while the import system calls back."""


@pytest.mark.parametrize("kind", ["import", "callback"])
def test_an_interrupt_while_modules_are_imported_ends_the_command(tmp_path, kind):
    """Python prints and forgets an exception in a callback, with which it frees modules' locks."""
    nibabel.Nifti1Image(np.ones((3, 4, 5), np.float32), np.eye(4)).to_filename(
        tmp_path / "x.nii.gz"
    )
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(MOMENTS)
    path = os.pathsep.join([str(tmp_path / "site"), os.environ.get("PYTHONPATH", "")])
    before = names(tmp_path)

    def forward(moment):
        environment = {"PYTHONPATH": path.rstrip(os.pathsep), "MOMENT": f"{kind} {moment}"}
        return subprocess.run(
            [*COMMAND, "forward", "x.nii.gz", "--scales", "2", "-o", "y.nii"], cwd=tmp_path,
            env=os.environ | environment, capture_output=True, text=True, timeout=60,
        )  # fmt: skip

    done = forward(0)
    assert (done.returncode, done.stderr) == (0, "")
    total = int(done.stdout.split()[-1])
    assert total > 100
    (tmp_path / "y.nii").unlink()
    for moment in [1, 2, 3, *range(4, total, total // 12)]:
        done = forward(moment)
        assert done.returncode == -signal.SIGINT, (moment, done.stderr)
        assert done.stderr in ("", "interrupted\n"), moment
        assert set(names(tmp_path)) - set(before) <= {"y.nii"}, moment
        (tmp_path / "y.nii").unlink(missing_ok=True)


def test_signals_of_another_process_are_left_alone(monkeypatch, capsys):
    """Where a program calls main() with arguments, that is."""
    seen = []
    monkeypatch.setattr(command, "run_info", lambda _: seen.append(handlers()) or 0)

    def handlers():
        return {number: signal.getsignal(number) for number in signal.valid_signals()}

    before, streams = handlers(), (sys.stdout, sys.stderr)
    assert command.main(["info"]) == 0
    assert seen == [before]
    assert handlers() == before
    assert (sys.stdout, sys.stderr) == streams

    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "run_info", interrupt)
    assert command.main(["info"]) == 130
    assert capsys.readouterr().err == "interrupted\n"
