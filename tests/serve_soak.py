#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks `halftone serve` many times, also as no client should.

usage: serve_soak.py HALFTONE [REQUESTS [CONNECTIONS]]

Two thirds of the requests are answered, and each answer is what the same request gets alone. Of the
others some leave early, and some send garbage, too much, nothing, or bytes one by one. Afterwards
many connections are open at once, and each is answered. Memory at the end is what it was after half
of the requests, within 2 %.

Skipped (exit code 77) where the build has no server.
"""

import concurrent.futures
import json
import random
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from serve_test import SKIPPED, ToolServer, expect, streamed_text, write_model

CLIENTS = 32
SCHEMA = {"type": "json_schema", "json_schema": {"name": "s", "schema": {
    "type": "array", "items": {"enum": ["yes", "no", 17]}, "maxItems": 3}}}


def good_request(source: random.Random) -> dict:
    body = {"prompt": "".join(source.choices("abcdef ", k=source.randrange(1, 30))),
            "max_tokens": source.randrange(1, 12), "seed": source.randrange(100)}
    return {**body, "response_format": SCHEMA} if source.random() < 0.2 else body


def text_of(server: ToolServer, body: dict) -> str:
    status, found = server.ask("/v1/completions", body)
    expect("status", 200, status)
    return found["choices"][0]["text"]


def head(length: int) -> bytes:
    return (b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n" % length)


def misbehave(server: ToolServer, source: random.Random) -> None:
    """One of the ways in which clients are wrong."""
    body = json.dumps({**good_request(source), "max_tokens": 50, "stream": True}).encode()
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as client:
        kind = source.randrange(6)
        try:
            if kind == 0:  # leaves before its answer
                client.sendall(head(len(body)) + body)
            elif kind == 1:  # leaves in the middle of its request
                client.sendall(head(len(body)) + body[: source.randrange(len(body))])
            elif kind == 2:
                client.sendall(source.randbytes(source.randrange(1, 5000)))
            elif kind == 3:  # says that it has gigabytes
                client.sendall(head(3 << 30) + bytes(source.randrange(100000)))
            elif kind == 4:
                pass
            else:
                for byte in (head(len(body)) + body)[: source.randrange(1, 60)]:
                    client.sendall(bytes([byte]))
                    time.sleep(0.002)
        except (BrokenPipeError, ConnectionResetError):
            pass  # the server has had enough


def resident_bytes(process: subprocess.Popen) -> int:
    for line in Path(f"/proc/{process.pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmRSS")


def ask_many(server: ToolServer, count: int, bodies: list[dict], wanted: list[str]) -> None:
    def ask(i: int) -> None:
        if i % 3 == 2:
            misbehave(server, random.Random(i))
        elif i % 3 == 1:
            expect(f"stream {i}", wanted[i % len(bodies)], streamed_text(server, bodies[i % len(bodies)]))
        else:
            expect(f"text {i}", wanted[i % len(bodies)], text_of(server, bodies[i % len(bodies)]))

    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
        for _ in pool.map(ask, range(count)):
            pass


def check_connections(server: ToolServer, count: int) -> None:
    """All are open before the first one asks."""
    start = time.monotonic()
    clients = [socket.create_connection(("127.0.0.1", server.port), timeout=60)
               for _ in range(count)]
    opened = time.monotonic() - start
    for client in clients:
        client.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    for client in clients:
        answer = b""
        while piece := client.recv(4096):
            answer += piece
        assert b'"status":"ok"' in answer, answer
        client.close()
    print(f"{count} connections: open after {opened:.2f} s, answered after "
          f"{time.monotonic() - start:.2f} s")


def main() -> int:
    program = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 600
    connections = int(sys.argv[3]) if len(sys.argv) > 3 else 300
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "tiny.bin"
        write_model(model)
        tried = subprocess.run([program, "serve", str(model), "--tokenizer",
                                str(model.with_suffix(".tokenizer")), "--host", "192.0.2.1"],
                               capture_output=True, text=True, timeout=30, check=False)
        if tried.returncode == 4:
            print("skipped:", tried.stderr)
            return SKIPPED
        server = ToolServer(program, model, "--queue", "1000")
        try:
            source = random.Random(1)
            bodies = [good_request(source) for _ in range(97)]
            wanted = [text_of(server, body) for body in bodies]
            start = time.monotonic()
            ask_many(server, count // 2, bodies, wanted)
            before = resident_bytes(server.process)
            ask_many(server, count - count // 2, bodies, wanted)
            after = resident_bytes(server.process)
            print(f"{count} requests in {time.monotonic() - start:.1f} s; memory after half of them "
                  f"{before / 2**20:.1f} MiB, after all {after / 2**20:.1f} MiB")
            assert after <= 1.02 * before, "memory grows"
            check_connections(server, connections)
            expect("exit code after SIGTERM", 0, server.stop())
        finally:
            server.process.kill()
    print("passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
