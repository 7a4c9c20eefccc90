#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs examples/http_service and asks it.

Usage: http_service_test.py [PROGRAM]

Skipped (exit code 77) where the build has no such program, for want of libcpp-httplib-dev.
"""

import array
import concurrent.futures
import gzip
import http.client
import json
import math
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

SKIPPED = 77
ROOT = Path(__file__).resolve().parent.parent
MNIST = ROOT / "examples" / "mnist"
NETWORK = MNIST / "mnist_mlp_700.onnx"
RAW = "application/octet-stream"
JSON = "application/json"


class Service:
    """The program while it runs; port 0 lets the system choose."""

    def __init__(self, program):
        command = [program, str(NETWORK), "0", "4"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline().rsplit(":", 1)[1])

    def ask(self, method, path, body=None, kind=None, chunked=False):
        """The status and the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        headers = {} if kind is None else {"Content-Type": kind}
        connection.request(method, path, body, headers, encode_chunked=chunked)
        response = connection.getresponse()
        text = response.read()
        connection.close()
        assert response.getheader("Content-Type") == JSON, response.getheaders()
        return response.status, json.loads(text)

    def stop(self, how):
        self.process.send_signal(how)
        return self.process.wait(10)


def images(count):
    """Samples as the network takes them, and their classes."""
    with gzip.open(MNIST / "t10k-images-idx3-ubyte.gz") as file:
        pixels = file.read(16 + 784 * count)[16:]
    with gzip.open(MNIST / "t10k-labels-idx1-ubyte.gz") as file:
        labels = list(file.read(8 + count)[8:])
    numbers = array.array("f", (x / 255 for x in pixels))
    return [numbers[784 * i : 784 * (i + 1)] for i in range(count)], labels


def expect(what, wanted, found):
    assert wanted == found, f"{what}: expected {wanted}, found {found}"


def check_answers(service, samples, labels):
    status, found = service.ask("GET", "/health")
    expect("health", (200, "ok"), (status, found["status"]))
    expect("input", {"name": "pixels", "numbers": 784}, found["input"])
    status, one = service.ask("POST", "/predict", samples[0].tobytes(), RAW)
    expect("status of one sample", 200, status)
    expect("sum of the scores", True, math.isclose(sum(one["scores"][0]), 1, abs_tol=1e-4))
    body = json.dumps({"input": samples[0].tolist()})
    expect("the same as JSON", (200, one), service.ask("POST", "/predict", body, JSON))
    rows = [list(samples[0][i : i + 28]) for i in range(0, 784, 28)]
    body = json.dumps({"input": [[rows]]})
    expect("the same in lists", (200, one),
           service.ask("POST", "/predict", body, "application/json; charset=utf-8"))
    _, many = service.ask("POST", "/predict", b"".join(s.tobytes() for s in samples), RAW)
    right = sum(a == b for a, b in zip(many["classes"], labels))
    expect("most classes are right", True, len(many["classes"]) == len(samples) and right > 93)
    expect("the first of many", one["scores"][0], many["scores"][0])


def check_threads(service, samples):
    """More clients than workers, each of whom gets its own answer."""
    bodies = [sample.tobytes() for sample in samples[:20]]
    alone = [service.ask("POST", "/predict", body, RAW) for body in bodies]
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        found = list(pool.map(lambda body: service.ask("POST", "/predict", body, RAW), bodies * 5))
    expect("answers to many clients", alone * 5, found)


def check_refusals(service, sample):
    raw = sample.tobytes()
    large = bytes((4 << 20) + 4)
    bad = array.array("f", [math.nan] * 784).tobytes()
    cases = [
        ("no path", ("GET", "/nowhere"), 404, "nothing is at /nowhere"),
        ("no body to read", ("GET", "/predict"), 405, "expected POST"),
        ("no type", ("POST", "/predict", raw), 415, "found none"),
        ("another type", ("POST", "/predict", raw, "image/png"), 415, "found 'image/png'"),
        ("no JSON", ("POST", "/predict", "{", JSON), 400, "no JSON"),
        ("no text", ("POST", "/predict", b"\xff\xfe", JSON), 400, "no JSON"),
        ("no object", ("POST", "/predict", "[1]", JSON), 400, "the key 'input'"),
        ("another key", ("POST", "/predict", '{"x": 1}', JSON), 400, "the key 'input'"),
        ("no numbers", ("POST", "/predict", '{"input": "a"}', JSON), 400, "found string"),
        ("deep lists", ("POST", "/predict", '{"input": ' + "[" * 9 + "]" * 9 + "}", JSON), 400,
         "found array"),
        ("very deep lists", ("POST", "/predict", "[" * 100000, JSON), 400, "no JSON"),
        ("no samples", ("POST", "/predict", '{"input": []}', JSON), 400, "found 0 numbers"),
        ("too few", ("POST", "/predict", raw[:-4], RAW), 400, "found 783 numbers"),
        ("half a number", ("POST", "/predict", raw[:-1], RAW), 400, "found 3135 bytes"),
        ("empty", ("POST", "/predict", b"", RAW), 400, "found 0 numbers"),
        ("not finite", ("POST", "/predict", bad, RAW), 400, "finite"),
        ("too large for float32", ("POST", "/predict", '{"input": [' + "1e39," * 783 + "0]}", JSON),
         400, "finite"),
        ("too large", ("POST", "/predict", large, RAW), 413, "expected at most 4194304"),
        ("too large in pieces", ("POST", "/predict", iter([large]), RAW, True), 413, "4194304"),
    ]
    for what, request, status, message in cases:
        found, answer = service.ask(*request)
        expect(f"status: {what}", status, found)
        assert message in answer["error"], f"{what}: {answer}"
    # A client that goes away in the middle.
    with socket.create_connection(("127.0.0.1", service.port)) as client:
        client.sendall(b"POST /predict HTTP/1.1\r\nContent-Length: 3136\r\n\r\nabc")
    expect("afterwards", 200, service.ask("POST", "/predict", raw, RAW)[0])


def check_start(program):
    for words, code, message in (
        ([], 2, "usage: "),
        ([str(NETWORK), "65536"], 1, "PORT: expected 0 to 65535, found '65536'"),
        ([str(NETWORK), "0", "0"], 1, "WORKERS: expected 1 to 256, found '0'"),
        (["nowhere.onnx"], 1, "nowhere.onnx"),
        ([str(ROOT / "README.md")], 1, "README.md"),
    ):
        done = subprocess.run([program, *words], capture_output=True, text=True, timeout=10)
        expect(f"exit code for {words}", code, done.returncode)
        assert message in done.stderr, done.stderr


def main():
    if len(sys.argv) < 2 or not sys.argv[1]:
        print("skipped: the build has no http_service; install libcpp-httplib-dev")
        return SKIPPED
    program = sys.argv[1]
    samples, labels = images(100)
    check_start(program)
    service = Service(program)
    try:
        check_answers(service, samples, labels)
        check_threads(service, samples)
        check_refusals(service, samples[0])
        taken = subprocess.run([program, str(NETWORK), str(service.port)], capture_output=True,
                               text=True, timeout=10)
        expect("a port in use", (1, True), (taken.returncode, "cannot listen" in taken.stderr))
        start = time.monotonic()
        expect("exit code after SIGTERM", 0, service.stop(signal.SIGTERM))
        expect("an end in time", True, time.monotonic() - start < 5)
    finally:
        service.process.kill()
    expect("exit code after SIGINT", 0, Service(program).stop(signal.SIGINT))
    print("passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
