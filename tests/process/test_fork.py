# SPDX-License-Identifier: Apache-2.0
"""Forked and spawned children: nothing hangs, and answers stay right."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys

import pytest
from programs import SETUP, python

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")


@forks
def test_forked_child_after_threads_ran():
    code = """
wanted, _ = work()
assert all(child(serial_and_right) for _ in range(20))
assert work()[0] == wanted
print("fine")
"""
    assert python(code) == "fine"


@pytest.mark.long
@forks
def test_200_forks_of_three_ops():
    code = """
few = source[:, :2]
ops = up.trilinear_backward, up.nearest_exact_backward, up.nearest_backward
def three():
    return [op(few, (1, 2, 32, 32, 32)).tobytes() for op in ops]
wanted = three()
assert all(child(lambda: three() == wanted) for _ in range(200))
assert three() == wanted
print("fine")
"""
    assert python(code) == "fine"


@forks
def test_fork_by_c_code():
    """Python's own hooks do not run here: pthread_atfork's do."""
    code = """
wanted, _ = work()
fork = ctypes.PyDLL(None).fork
for _ in range(20):
    number = fork()
    if number == 0:
        os._exit(0 if serial_and_right() else 1)
    assert os.waitpid(number, 0)[1] == 0
print("fine")
"""
    assert python(code) == "fine"


@forks
def test_before_exec_of_a_subprocess():
    code = """
wanted, _ = work()
def before():
    assert serial_and_right()
for _ in range(5):
    subprocess.run(["true"], preexec_fn=before, check=True)
print("fine")
"""
    assert python(code) == "fine"


@forks
def test_fork_while_another_thread_is_inside_a_kernel():
    code = """
wanted, _ = work()
stop, rounds, wrong = threading.Event(), [0], []
def busy():
    while not stop.is_set():
        if work()[0] != wanted: wrong.append(1)
        rounds[0] += 1
threads = [threading.Thread(target=busy) for _ in range(2)]
for thread in threads: thread.start()
while rounds[0] < 4: time.sleep(0.001)
for _ in range(30):
    assert child(serial_and_right)
stop.set()
for thread in threads: thread.join()
assert not wrong
print("fine")
"""
    assert python(code) == "fine"


@forks
def test_fork_by_a_signal_handler_inside_a_call():
    """The child returns into a call of several threads that it does not have: one goes on."""
    code = """
long = np.broadcast_to(np.float32(1), (1, 2, 600, 600, 600))
number = []
def handler(*_):
    if not number: number.append(os.fork())
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.01)
result = up.nearest_backward(long, (1, 2, 300, 300, 300), num_threads=2)
assert number and (result == 8).all()
assert up.get_num_threads() == (1 if number[0] == 0 else 4)
if number[0] == 0:
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(number[0], 0)[1]) == 7
print("fine")
"""
    assert python(code) == "fine"


@forks
def test_fork_by_a_signal_handler_before_a_call_runs():
    """Its threads are counted by then, but there are none in the child."""
    code = """
from upsample3d.kernel import cpu
wanted, _ = work()
counted, number = cpu.ensure_threads, []
def ensure_threads(*arguments):
    found = counted(*arguments)
    number.append(os.fork())
    return found
cpu.ensure_threads = ensure_threads
assert up.trilinear_backward(source, size, num_threads=2).tobytes() == wanted
if number[0] == 0:
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(number[0], 0)[1]) == 7
print("fine")
"""
    assert python(code) == "fine"


@forks
def test_grandchild_and_child_of_a_thread():
    code = """
wanted, _ = work()
def fork(depth):
    return child(lambda: (depth == 0 or fork(depth - 1)) and serial_and_right())
fine = []
thread = threading.Thread(target=lambda: fine.append(fork(2)))
thread.start()
thread.join()
assert fine == [True]
print("fine")
"""
    assert python(code) == "fine"


@forks
def test_pool_of_forked_workers():
    code = """
wanted, _ = work()
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map(work, range(6)) == [(wanted, 1)] * 6
print("fine")
"""
    assert python(code) == "fine"


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_pool_of_spawned_workers(method, tmp_path):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"a system without {method}")
    script = tmp_path / "spawned.py"
    script.write_text(
        SETUP + "if __name__ == '__main__':\n"
        f"    multiprocessing.set_start_method({method!r})\n"
        "    wanted, threads = work()\n"
        "    with multiprocessing.Pool(2) as pool:\n"
        "        assert pool.map(work, range(4)) == [(wanted, threads)] * 4\n"
        "    print('fine')\n"
    )
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert run.stdout.strip() == "fine", run.stderr


@forks
def test_forkserver_that_has_imported_us():
    """Its children are forked, but from a process that has used no threads: serial all the same."""
    code = """
if __name__ == "__main__":
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["upsample3d"])
    with context.Pool(2) as pool:
        assert pool.starmap(up.get_num_threads, [()] * 4) == [1] * 4
    print("fine")
"""
    assert python(code) == "fine"
