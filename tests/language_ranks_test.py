#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs language models on the ranks of mpirun: they answer as one process does, byte for byte.

Usage: language_ranks_test.py HALFTONE MPIRUN DATA

Skipped (exit code 77) without the model stories260K in the folder DATA.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

SKIPPED = 77
PROGRAM, MPIRUN, DATA = sys.argv[1:]
MODELS = Path(DATA) / "models"
STORIES = [str(MODELS / "stories260K.bin"), "--tokenizer", str(MODELS / "tok512.bin")]
PROMPT = ["-p", "Once upon a time", "-n", "16"]


def environment(folder: str) -> dict:
    return {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_orte_tmpdir_base": folder, "OMP_WAIT_POLICY": "passive"}


def command(ranks: int, *words: str) -> list[str]:
    one = [PROGRAM, *words, "--threads", "1"]
    return one if ranks == 1 else [MPIRUN, "--oversubscribe", "-n", str(ranks), *one]


def run(folder: str, ranks: int, *words: str, code: int = 0) -> subprocess.CompletedProcess:
    found = subprocess.run(command(ranks, *words), env=environment(folder), capture_output=True,
                           text=True, timeout=120)
    assert found.returncode == code, (found.returncode, found.stdout, found.stderr)
    return found


def same_on_ranks(folder: str, *words: str) -> None:
    alone = run(folder, 1, *words).stdout
    assert alone
    for ranks in (2, 3):
        assert run(folder, ranks, *words).stdout == alone, (ranks, words)


def test_answers(folder: str) -> None:
    text = Path(folder) / "t.txt"
    text.write_text("".join(f"Lily and Tom saw a big, red ball in story {i * i}.\n"
                            for i in range(80)))
    quantized = str(Path(folder) / "q.safetensors")
    run(folder, 1, "quantize", *STORIES, "--text", str(text), "--type", "Q4_0",
        "--tensor", "blk.*.ffn_down.weight=keep", "-o", quantized)
    for model in (STORIES, [quantized]):
        same_on_ranks(folder, "generate", *model, *PROMPT)
        same_on_ranks(folder, "generate", *model, *PROMPT, "--temperature", "1", "--seed", "3",
                      "--cache", "int8")
        same_on_ranks(folder, "eval", *model, "--text", str(text), "--json", "--windows",
                      "1")
        same_on_ranks(folder, "embed", *model, "-p", "Once upon a time", "-p", "Lily")
    lines = Path(folder) / "prompts.jsonl"
    lines.write_text("".join(json.dumps({"prompt": prompt}) + "\n"
                             for prompt in ("Once", "The dog", "Lily", "One day")))
    words = ("generate", *STORIES, "--batch-file", str(lines), "-n", "20")
    alone, ranks = (
        [json.loads(line)["tokens"] for line in run(folder, count, *words).stdout.splitlines()]
        for count in (1, 2))
    assert len(alone) == 4 and ranks == alone, (alone, ranks)


def test_errors(folder: str) -> None:
    """The first rank alone reports what is wrong."""
    for words, code, message in (
            (("generate", "absent.gguf", *PROMPT), 3, "absent.gguf: cannot open"),
            (("generate", *STORIES), 2, "expected a prompt"),
            (("generate", *STORIES, *PROMPT, "--device", "opencl"), 4, "on their processors")):
        found = run(folder, 2, *words, code=code)
        own = [line for line in found.stderr.splitlines() if line.startswith("halftone: ")]
        assert message in found.stderr, found.stderr
        assert len(own) == 1, found.stderr


class Server:
    def __init__(self, folder: str, ranks: int):
        self.process = subprocess.Popen(command(ranks, "serve", *STORIES, "--port", "0"),
                                        env=environment(folder), stderr=subprocess.PIPE, text=True)
        while (line := json.loads(self.process.stderr.readline())).get("event") != "listening":
            pass
        self.port = line["port"]

    def ask(self, prompt: str) -> str:
        body = json.dumps({"prompt": prompt, "max_tokens": 40}).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/v1/completions", body,
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.load(response)["choices"][0]["text"]

    def ranks(self) -> list[int]:
        """The processes that mpirun has started."""
        parent = self.process.pid
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        return [int(child) for child in children]


def test_serves(folder: str) -> None:
    prompts = ("Once upon a time", "The cat", "Once upon a time there")
    alone, ranks = Server(folder, 1), Server(folder, 2)
    try:
        for prompt in prompts:
            assert ranks.ask(prompt) == alone.ask(prompt), prompt
    finally:
        alone.process.send_signal(signal.SIGTERM)
        ranks.process.send_signal(signal.SIGTERM)
    assert alone.process.wait(20) == 0
    ranks.process.wait(20)


def is_running(pid: int) -> bool:
    """Whether there is such a process that is more than an entry of the table."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_rank_that_dies_ends_the_others(folder: str) -> None:
    for victim in (0, 1):
        server = Server(folder, 2)
        server.ask("Once")
        pids = server.ranks()
        assert len(pids) == 2, pids
        begin = time.monotonic()
        os.kill(pids[victim], signal.SIGKILL)
        code = server.process.wait(20)
        seconds = time.monotonic() - begin
        assert code != 0 and seconds < 10, (code, seconds)
        errors = server.process.stderr.read()
        assert errors.count("signal 9") == 1, errors
        while any(is_running(pid) for pid in pids):
            assert time.monotonic() - begin < 10
            time.sleep(0.1)


def main() -> int:
    if not Path(STORIES[0]).exists():
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        test_answers(folder)
        test_errors(folder)
        tried = subprocess.run(command(1, "serve", *STORIES, "--host", "192.0.2.1"),
                               env=environment(folder), capture_output=True)
        if tried.returncode == 4:  # a build without a server
            return 0
        test_serves(folder)
        test_a_rank_that_dies_ends_the_others(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
