#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `halftone serve` with a network and asks it.

Usage: serve_network_test.py HALFTONE

Skipped (exit code 77) where the build has no server.
"""

import array
import base64
import concurrent.futures
import gzip
import http.client
import json
import math
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

SKIPPED = 77
MNIST = Path(__file__).resolve().parent.parent / "examples" / "mnist"
NETWORK = MNIST / "mnist_mlp_700.onnx"
RAW, JSON, NPY = "application/octet-stream", "application/json", "application/x-npy"


class Service:
    """The program while it runs; port 0 lets the system choose."""

    def __init__(self, program):
        self.process = subprocess.Popen([program, "serve", str(NETWORK), "--port", "0"],
                                        stderr=subprocess.PIPE, text=True)
        while (line := json.loads(self.process.stderr.readline())).get("event") != "listening":
            pass
        self.port = line["port"]

    def ask(self, path, body=None, kind=JSON, accept=JSON):
        """The status and the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        headers = {"Accept": accept} if body is None else {"Content-Type": kind, "Accept": accept}
        connection.request("GET" if body is None else "POST", path, body, headers)
        response = connection.getresponse()
        text = response.read()
        connection.close()
        return response.status, json.loads(text) if response.getheader("Content-Type") == JSON else text

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(10)


def images(count):
    """Samples as the network takes them, and their classes."""
    with gzip.open(MNIST / "t10k-images-idx3-ubyte.gz") as file:
        pixels = file.read(16 + 784 * count)[16:]
    with gzip.open(MNIST / "t10k-labels-idx1-ubyte.gz") as file:
        labels = list(file.read(8 + count)[8:])
    numbers = array.array("f", (x / 255 for x in pixels))
    return [numbers[784 * i : 784 * (i + 1)] for i in range(count)], labels


def npy_of(shape, data):
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data


def expect(what, wanted, found):
    assert wanted == found, f"{what}: expected {wanted}, found {found}"


def scores_of(answer):
    expect("status", 200, answer[0])
    (output,) = answer[1]["outputs"].values()
    expect("rows", output["shape"][0], len(output["data"]))
    return output["data"]


def check_answers(service, samples, labels):
    status, found = service.ask("/health")
    expect("health", (200, "ok", "mnist_mlp_700"), (status, found["status"], found["network"]))
    name = found["inputs"][0]["name"]
    expect("an open batch", "N", found["inputs"][0]["shape"][0])
    (one,) = scores_of(service.ask("/v1/run", samples[0].tobytes(), RAW))
    forms = [{"input": samples[0].tolist()}, {"inputs": {name: [samples[0].tolist()]}},
             {"input": {"data": base64.b64encode(samples[0].tobytes()).decode()}}]
    for form in forms:
        expect("the same in JSON", [one], scores_of(service.ask("/v1/run", json.dumps(form))))
    body = json.dumps({**forms[0], "encoding_format": "base64"})
    (packed,) = service.ask("/v1/run", body)[1]["outputs"].values()
    wanted = struct.pack(f"<{len(one)}f", *one)
    expect("base64", wanted, base64.b64decode(packed["data"]))
    raw = service.ask("/v1/run", samples[0].tobytes(), RAW, RAW)
    expect("bytes", (200, wanted), raw)
    npy = npy_of((1, *found["inputs"][0]["shape"][1:]), samples[0].tobytes())
    status, file = service.ask("/v1/run", npy, NPY, NPY)
    expect("a .npy file", (200, b"\x93NUMPY", wanted), (status, file[:6], file[-len(wanted):]))
    many = scores_of(service.ask("/v1/run", b"".join(s.tobytes() for s in samples), RAW))
    expect("the first of many", one, many[0])
    right = sum(row.index(max(row)) == label for row, label in zip(many, labels, strict=True))
    expect("most classes are right", True, right > 93)
    return many


def check_clients(service, samples, wanted):
    """Many at once: each gets what it gets alone."""
    def ask(i):
        first, count = i % 90, 1 + i % 9
        body = b"".join(sample.tobytes() for sample in samples[first : first + count])
        expect(f"client {i}", wanted[first : first + count],
               scores_of(service.ask("/v1/run", body, RAW)))

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        list(pool.map(ask, range(200)))
    status, text = service.ask("/metrics")
    expect("metrics", 200, status)
    assert b"halftone_runs_total " in text and b"halftone_samples_total " in text, text


def check_refusals(service, sample):
    raw = sample.tobytes()
    bad = array.array("f", [math.nan]).tolist()
    cases = [
        ("no route", ("/nowhere",), 404, "nothing is at GET /nowhere"),
        ("another type", ("/v1/run", raw, "image/png"), 415, "found 'image/png'"),
        ("no JSON", ("/v1/run", "{"), 400, "expected JSON"),
        ("no inputs", ("/v1/run", '{"x": 1}'), 400, "inputs: expected an object"),
        ("a text", ("/v1/run", '{"input": ["a"]}'), 400, "finite numbers"),
        ("a number alone", ("/v1/run", '{"input": 5}'), 400, "expected the shape"),
        ("deep lists", ("/v1/run", "[" * 100000), 400, "the body"),
        ("NaN", ("/v1/run", json.dumps({"input": bad})), 400, "expected JSON"),
        ("too large for float32", ("/v1/run", '{"input": [1e39]}'), 400, "finite numbers"),
        ("too few", ("/v1/run", raw[:-4], RAW), 400, "expected the shape"),
        ("half a number", ("/v1/run", raw[:-1], RAW), 400, "elements of 4 bytes"),
        ("nothing", ("/v1/run", b"", RAW), 400, "elements of 4 bytes"),
        ("no .npy file", ("/v1/run", b"abc", NPY), 400, "input"),
        ("too much", ("/v1/run", bytes((4 << 20) + 4), RAW), 413, "at most 4194304"),
    ]
    for what, request, status, message in cases:
        found, answer = service.ask(*request)
        expect(f"status: {what}", status, found)
        assert message in answer["error"]["message"], f"{what}: {answer}"
    expect("afterwards", 200, service.ask("/v1/run", raw, RAW)[0])


def main():
    program = sys.argv[1]
    tried = subprocess.run([program, "serve", str(NETWORK), "--host", "192.0.2.1"],
                           capture_output=True, text=True, timeout=30, check=False)
    if tried.returncode == 4:
        print("skipped:", tried.stderr)
        return SKIPPED
    samples, labels = images(100)
    service = Service(program)
    try:
        wanted = check_answers(service, samples, labels)
        check_clients(service, samples, wanted)
        check_refusals(service, samples[0])
        start = time.monotonic()
        expect("exit code after SIGTERM", 0, service.stop())
        expect("an end in time", True, time.monotonic() - start < 5)
    finally:
        service.process.kill()
    print("passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
