#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures `halftone serve` with many clients, beside llama.cpp's server.

Usage: serving.py HALFTONE MODEL.gguf [--llama-server PROGRAM] [--threads N] [--tokens N] ...

Each round asks both servers in turn, which hold the same file and are idle meanwhile. It measures
the tokens/s that 1 client and --clients clients get together, of texts of --tokens tokens behind
prompts of 20 words; and the seconds until the first token of a short prompt comes, alone and while
4 prompts of --long-prompt words are read. Prints medians over --rounds, and their ratios. No text
is looked up (`lookup`: 0) and no prompt is known, since all differ.

With --page FILE the table takes the place of that between the marks `serving` there.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import re
import socket
import statistics
import subprocess
import time
import urllib.request

LONG_PROMPTS = 4
WORDS = "the of and to in is that for it was on are as with his they at be this from have or by one".split()


class Server:
    """A program that answers requests at a port; its log goes nowhere."""

    def __init__(self, name: str, command: list[str], environment: dict[str, str]):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.url = f"http://127.0.0.1:{free.getsockname()[1]}"
        self.name = name
        self.process = subprocess.Popen([*command, "--port", self.url.rsplit(":", 1)[1]],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        env={**os.environ, **environment})
        while not self.is_ready():
            if self.process.poll() is not None:
                raise SystemExit(f"{name}: ended with {self.process.returncode}")
            time.sleep(0.1)

    def is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(self.url + "/health", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False

    def open(self, prompt: str, tokens: int, stream: bool):
        body = {"prompt": prompt, "max_tokens": tokens, "temperature": 0, "seed": 1,
                "stream": stream, "lookup": 0, "ignore_eos": True, "cache_prompt": False}
        return urllib.request.urlopen(urllib.request.Request(
            self.url + "/v1/completions", json.dumps(body).encode(),
            {"Content-Type": "application/json"}), timeout=600)

    def written_tokens(self, prompt: str, tokens: int) -> int:
        with self.open(prompt, tokens, stream=False) as answer:
            return json.load(answer)["usage"]["completion_tokens"]

    def seconds_to_first_token(self, prompt: str) -> float:
        begin = time.perf_counter()
        with self.open(prompt, 1, stream=True) as answer:
            answer.readline()
            return time.perf_counter() - begin

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()


def prompt_of(source: random.Random, words: int) -> str:
    return f"{source.randrange(10**6)} " + " ".join(source.choices(WORDS, k=words))


def tokens_per_second(server: Server, source: random.Random, clients: int, tokens: int) -> float:
    prompts = [prompt_of(source, 20) for _ in range(clients)]
    begin = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
        written = sum(pool.map(lambda prompt: server.written_tokens(prompt, tokens), prompts))
    return written / (time.perf_counter() - begin)


def first_token_beside(server: Server, source: random.Random, words: int) -> float:
    """Seconds until the first token while long prompts are read, which began a little earlier."""
    long_prompts = [prompt_of(source, words) for _ in range(LONG_PROMPTS)]
    short = prompt_of(source, 8)
    with concurrent.futures.ThreadPoolExecutor(LONG_PROMPTS) as pool:
        others = [pool.submit(server.written_tokens, prompt, 1) for prompt in long_prompts]
        time.sleep(0.1)
        if any(other.done() for other in others):
            raise SystemExit("a long prompt was read too early; give a larger --long-prompt")
        return server.seconds_to_first_token(short)


def measure(servers: list[Server], options) -> dict[str, dict[str, list[float]]]:
    source = random.Random(1)
    found: dict[str, dict[str, list[float]]] = {server.name: {} for server in servers}
    for server in servers:
        tokens_per_second(server, source, options.clients, 4)  # memory is taken at the first run
    for _ in range(options.rounds):
        for server in servers:
            for what, value in (
                    ("one", tokens_per_second(server, source, 1, options.tokens)),
                    ("many", tokens_per_second(server, source, options.clients, options.tokens)),
                    ("idle", server.seconds_to_first_token(prompt_of(source, 8))),
                    ("busy", first_token_beside(server, source, options.long_prompt))):
                found[server.name].setdefault(what, []).append(value)
    return found


def table(found: dict[str, dict[str, list[float]]], options) -> str:
    lines = [f"| server | 1 client, tokens/s | {options.clients} clients, tokens/s | of one | "
             "first token, idle | beside long prompts | of idle |",
             "|---|---|---|---|---|---|---|"]
    for name, values in found.items():
        one, many, idle, busy = (statistics.median(values[what])
                                 for what in ("one", "many", "idle", "busy"))
        lines.append(f"| {name} | {one:.1f} | {many:.1f} | {many / one:.2f} | {1e3 * idle:.0f} ms |"
                     f" {1e3 * busy:.0f} ms | {busy / idle:.1f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("model")
    parser.add_argument("--llama-server", help="its program; its folder has its libraries")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--long-prompt", type=int, default=1000)
    parser.add_argument("--context", type=int, default=2048)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--page", type=pathlib.Path)
    options = parser.parse_args()
    servers = [Server("Halftone", [
        options.program, "serve", options.model, "--threads", str(options.threads), "--sequences",
        str(options.clients), "--context", str(options.context), "--quiet"], {})]
    try:
        if options.llama_server:
            servers.append(Server("llama.cpp", [
                options.llama_server, "-m", options.model, "-t", str(options.threads), "-tb",
                str(options.threads), "-np", str(options.clients), "-c",
                str(options.context * options.clients)],
                {"LD_LIBRARY_PATH": str(pathlib.Path(options.llama_server).parent)}))
        text = table(measure(servers, options), options)
    finally:
        for server in servers:
            server.stop()
    print(text)
    if options.page:
        marks = re.compile(r"(<!-- serving -->\n).*?(\n<!-- end -->)", re.DOTALL)
        page, count = marks.subn(lambda found: found[1] + "\n" + text + "\n" + found[2],
                                 options.page.read_text(encoding="utf-8"))
        if count != 1:
            raise SystemExit(f"{options.page}: expected one pair of marks <!-- serving -->, <!-- end -->")
        options.page.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
