# SPDX-License-Identifier: Apache-2.0
"""Many threads of Python, signals, callbacks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import halftone as ht
from conftest import MNIST, NETWORK, pixels


def test_one_model_serves_many_threads(model: ht.Model) -> None:
    inputs = [np.random.default_rng(i).random((1 + i % 3, 784), np.float32) for i in range(24)]
    expected = [model(x) for x in inputs]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(model, inputs * 4))
    for got, want in zip(found, expected * 4):
        np.testing.assert_array_equal(got, want)


def test_a_session_refuses_a_second_thread(two_bits: ht.Quantized) -> None:
    session = two_bits.model.session(batch=20000)
    x = np.random.default_rng(0).random((20000, 784), np.float32)
    expected = session(x)
    refusals: list[str] = []
    results: list[np.ndarray] = []
    start = threading.Barrier(2)

    def call() -> None:
        start.wait()
        try:
            results.append(session(x))
        except RuntimeError as error:
            refusals.append(str(error))

    for _ in range(20):
        threads = [threading.Thread(target=call) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if refusals:
            break
    assert refusals and "runs on another thread" in refusals[0]
    for result in results:
        np.testing.assert_array_equal(result, expected)


def test_other_threads_run_while_a_network_computes() -> None:
    """The GIL is free: this thread counts while the other quantizes."""
    x = pixels("train", 300)
    worker = threading.Thread(target=lambda: ht.quantize(NETWORK, x, progress=False))
    worker.start()
    longest, last = 0.0, time.monotonic()
    while worker.is_alive():
        time.sleep(0.001)
        now = time.monotonic()
        longest, last = max(longest, now - last), now
    # A fit takes seconds; with the GIL held all of it would be one gap.
    assert longest < 0.5


def test_progress_goes_from_0_to_1_in_words() -> None:
    seen: list[tuple[float, str]] = []
    ht.quantize(NETWORK, pixels("train", 100), progress=lambda f, a: seen.append((f, a)))
    assert seen and all(0 <= fraction <= 1 for fraction, _ in seen)
    assert [f for f, _ in seen] == sorted(f for f, _ in seen)
    assert any("fitting" in activity for _, activity in seen)


class Enough(Exception):
    pass


@pytest.mark.parametrize("job", ["quantize", "evaluate", "bench"])
def test_an_exception_of_the_callback_ends_the_job(job: str, tmp_path: Path) -> None:
    def stop(fraction: float, activity: str) -> None:
        raise Enough(activity)

    output = tmp_path / "m.circle"
    with pytest.raises(Enough):
        if job == "quantize":
            ht.quantize(NETWORK, MNIST, output=output, progress=stop)
        elif job == "evaluate":
            ht.evaluate(NETWORK, MNIST, progress=stop)
        else:
            ht.bench(NETWORK, seconds=30, progress=stop)
    assert list(tmp_path.iterdir()) == []


# CPython 3.11 misses an exception that a signal raises at the end of a loop which begins a try block,
# so the loop is in a function.
CODE = """
    import sys, halftone as ht
    def work():
        {call}
    print("ready", flush=True)
    try:
        work()
    except KeyboardInterrupt:
        sys.exit(7)
"""


@pytest.mark.parametrize(
    "call",
    [
        "ht.quantize('{network}', '{mnist}', output='{output}', progress=False)",
        "while True: ht.evaluate('{network}', '{mnist}', progress=False)",
        "ht.bench('{network}', seconds=60, progress=False)",
    ],
)
def test_ctrl_c_ends_a_job(call: str, tmp_path: Path) -> None:
    names = {"network": NETWORK, "mnist": MNIST, "output": tmp_path / "m.circle"}
    code = textwrap.dedent(CODE).format(call=call.format(**names))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        time.sleep(0.7)
        process.send_signal(signal.SIGINT)
        start = time.monotonic()
        assert process.wait(timeout=60) == 7
        assert time.monotonic() - start < 20
    assert list(tmp_path.iterdir()) == []


STORM = """
    import signal, sys, halftone as ht
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 0.0002, 0.0002)
    for _ in range(25):
        ht.evaluate(sys.argv[1], sys.argv[2], limit=500, progress=False)
    signal.setitimer(signal.ITIMER_REAL, 0)
"""


def test_signals_do_no_harm_to_float_layers() -> None:
    """With oneDNN: its products keep the stack pointer in the heap, where handlers would write."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", textwrap.dedent(STORM), str(NETWORK), str(MNIST)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
