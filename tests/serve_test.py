#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `halftone serve` and asks it, with urllib and, where it is there, the package openai.

Usage: serve_test.py HALFTONE

Skipped (exit code 77) where the build has no server, for want of libcpp-httplib-dev.
"""

import base64
import concurrent.futures
import http.client
import json
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

SKIPPED = 77
CONTEXT = 64


def write_model(path: Path) -> None:
    """A checkpoint of llama2.c with random weights, and its tokenizer of bytes beside it."""
    width, inner, blocks, heads, kv_heads, vocabulary = 16, 32, 2, 4, 2, 260
    source = random.Random(1)

    def numbers(count: int, mean: float, spread: float) -> bytes:
        return struct.pack(f"<{count}f", *(source.gauss(mean, spread) for _ in range(count)))

    square = width * width
    path.write_bytes(
        struct.pack("<7i", width, inner, blocks, heads, kv_heads, vocabulary, CONTEXT)
        + numbers(vocabulary * width, 0, 1)
        + numbers(blocks * width, 1, 0.1)
        + numbers(blocks * (2 * square + 2 * square * kv_heads // heads), 0, 0.3)
        + numbers(blocks * width, 1, 0.1)
        + numbers(3 * blocks * width * inner, 0, 0.3)
        + numbers(width, 1, 0.1)
        + numbers(CONTEXT * width // heads, 0, 1)
    )
    names = ["<unk>", "\n<s>\n", "\n</s>\n", *(f"<0x{i:02X}>" for i in range(256)), " "]
    pieces = [struct.pack("<fi", 0, len(name)) + name.encode() for name in names]
    path.with_suffix(".tokenizer").write_bytes(struct.pack("<i", 8) + b"".join(pieces))


class Server:
    """The program while it runs; port 0 lets the system choose."""

    template: tuple[str, ...] = ("--template", "chatml")

    def __init__(self, program: str, model: Path, *options: str):
        self.words = [program, str(model), "--tokenizer", str(model.with_suffix(".tokenizer"))]
        command = [program, "serve", *self.words[1:], *self.template, *options]
        self.process = subprocess.Popen([*command, "--port", "0"], stderr=subprocess.PIPE,
                                        text=True)
        self.log: list[dict] = []
        while (line := json.loads(self.process.stderr.readline())).get("event") != "listening":
            self.log.append(line)
        self.port = line["port"]
        self.reader = threading.Thread(target=self.read_log, daemon=True)
        self.reader.start()

    def read_log(self) -> None:
        for line in self.process.stderr:
            self.log.append(json.loads(line))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(self, path: str, body=None, key: str | None = None, raw: bytes | None = None,
            kind: str = "application/json"):
        """The status and the answer: JSON, or a text."""
        data = raw if raw is not None else None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data)
        if data is not None:
            request.add_header("Content-Type", kind)
        if key is not None:
            request.add_header("Authorization", "Bearer " + key)
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return self.status_and_answer(response.status, response)
        except urllib.error.HTTPError as error:
            return self.status_and_answer(error.code, error)

    @staticmethod
    def status_and_answer(status: int, response):
        text = response.read().decode()
        is_json = response.headers["Content-Type"] == "application/json"
        return status, json.loads(text) if is_json else text

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(30)
        finally:
            self.process.kill()
        self.reader.join()
        return code


def expect(what: str, wanted, found) -> None:
    assert wanted == found, f"{what}: expected {wanted}, found {found}"


def job(source: random.Random) -> dict:
    """A random request for a text."""
    front = source.choice(["", "Once upon ", "Once upon a time there "])
    prompt = front + "".join(source.choices("abcdef ", k=source.randrange(1, 25)))
    return {"prompt": prompt, "max_tokens": source.randrange(1, 30), "seed": source.randrange(1000),
            "temperature": source.choice([0, 0.8]), "stop": source.choice([None, "e", ["xy", "q"]])}


def alone(server: Server, body: dict) -> str:
    """What `halftone generate` makes of a request."""
    words = ["-p", body["prompt"], "-n", body["max_tokens"], "--seed", body["seed"], "--top-k", 0,
             "--top-p", 1, "--min-p", 0, "--temperature", body["temperature"]]
    stops = [body["stop"]] if isinstance(body["stop"], str) else body["stop"] or []
    for stop in stops:
        words += ["--stop", stop]
    command = [server.words[0], "generate", *server.words[1:], "--json", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return json.loads(done.stdout)["text"]


def check_answers(server: Server) -> None:
    status, found = server.ask("/health")
    expect("health", (200, "ok"), (status, found["status"]))
    status, found = server.ask("/v1/models")
    expect("models", "tiny", found["data"][0]["id"])
    expect("a model", (200, "model"), (server.ask("/v1/models/tiny")[0], found["data"][0]["object"]))
    _, tokens = server.ask("/tokenize", {"content": "Once"})
    _, found = server.ask("/detokenize", {"tokens": tokens["tokens"]})
    expect("tokens and back", "Once", found["content"])
    body = {"prompt": "Once", "max_tokens": 9, "seed": 3, "stop": None, "temperature": 0.8}
    status, found = server.ask("/v1/completions", {"model": "tiny", **body})
    expect("a completion", (200, alone(server, body)), (status, found["choices"][0]["text"]))
    expect("its tokens", tokens["count"], found["usage"]["prompt_tokens"])
    chat = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 5, "n": 2, "seed": 1}
    status, found = server.ask("/v1/chat/completions", chat)
    expect("two answers", (200, 2), (status, len(found["choices"])))
    status, metrics = server.ask("/metrics")
    assert "halftone_generated_tokens_total" in metrics and "# TYPE" in metrics, metrics


def check_clients(server: Server) -> None:
    """Clients at once, each of whom gets what it gets alone, or leaves early."""
    source = random.Random(7)
    bodies = [job(source) for _ in range(24)]
    wanted = [alone(server, body) for body in bodies]

    def ask(i: int) -> str | None:
        if i % 3 == 2:  # leaves
            with socket.create_connection(("127.0.0.1", server.port)) as client:
                text = json.dumps({**bodies[i % 24], "stream": i % 2 == 0}).encode()
                client.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Type: "
                               b"application/json\r\nContent-Length: %d\r\n\r\n" % len(text)
                               + text[: len(text) - i % 5])
            return None
        if i % 3 == 1:
            return streamed_text(server, bodies[i % 24])
        return server.ask("/v1/completions", bodies[i % 24])[1]["choices"][0]["text"]

    for clients in (1, 4, 16):
        with concurrent.futures.ThreadPoolExecutor(clients) as pool:
            for i, found in enumerate(pool.map(ask, range(48))):
                if found is not None:
                    expect(f"text {i} of {clients} clients", wanted[i % 24], found)


def streamed_text(server: Server, body: dict) -> str:
    request = urllib.request.Request(
        server.url + "/v1/completions", json.dumps({**body, "stream": True}).encode(),
        {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as response:
        expect("type of a stream", "text/event-stream", response.headers["Content-Type"])
        events = response.read().decode().split("\n\n")
    expect("the end of a stream", ["data: [DONE]", ""], events[-2:])
    pieces = [json.loads(event.removeprefix("data: ")) for event in events[:-2]]
    return "".join(piece["choices"][0]["text"] for piece in pieces)


def check_refusals(server: Server) -> None:
    path = "/v1/completions"
    cases = [
        ("no route", ("/nowhere",), 404, "nothing is at GET /nowhere"),
        ("another model", (path, {"prompt": "a", "model": "b"}), 404, "expected 'tiny'"),
        ("no JSON", (path, None, None, b"{"), 400, "expected JSON"),
        ("no text", (path, None, None, b"\xff\xfe"), 400, "expected JSON"),
        ("deep lists", (path, None, None, b"[" * 100000), 400, "the body"),
        ("no prompt", (path, {}), 400, "prompt: expected"),
        ("a long prompt", (path, {"prompt": "a" * 999}), 400, "which is the context"),
        ("a wrong type", (path, {"prompt": "a", "temperature": "hot"}), 400, "temperature"),
        ("another type", (path, None, None, b"a=b", "text/plain"), 415, "found 'text/plain'"),
        ("too large", (path, None, None, bytes((4 << 20) + 1)), 413, "at most 4194304"),
        ("no content", ("/v1/chat/completions", {"messages": [{"role": "user", "content": None}]}),
         400, "messages[0].content: expected a text or a list of parts"),
        ("functions of old", ("/v1/chat/completions", {"messages": [
            {"role": "user", "content": "a"}, {"role": "function", "name": "f", "content": "1"}]}),
         400, "expected tool_calls and the role tool"),
        ("no key of a list", ("/tokenize", {"content": 3}), 400, "content: expected a text"),
    ]
    for what, words, status, message in cases:
        found, answer = server.ask(*words)
        expect(f"status: {what}", status, found)
        assert message in answer["error"]["message"], f"{what}: {answer}"
        assert answer["error"]["type"] == "invalid_request_error", answer
    _, found = server.ask(path, {"prompt": "a", "stop": ["x" * 10000], "max_tokens": 2})
    expect("a long stop text", 2, found["usage"]["completion_tokens"])
    for garbage in (b"\0" * 100, b"GET\r\n\r\n", b"POST /v1/completions HTTP/1.1\r\n",
                    b"GET / HTTP/9.9\r\n\r\n", b"A" * 100000):
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            client.sendall(garbage)
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.request("DELETE", path)
    expect("another method", 404, connection.getresponse().status)
    connection.close()
    expect("afterwards", 200, server.ask(path, {"prompt": "a"})[0])
    assert any("metadata" in line.get("ignored", []) for line in server.log) or server.ask(
        path, {"prompt": "a", "metadata": {}})[0] == 200


def check_wrong_values(server: Server) -> None:
    """Each member with values of wrong types: an error that names it, or an answer where it fits."""
    values = [True, -1, 1.5, 1e300, 2**64, "", "x", [], [1], ["x"], [[]], {}, {"a": 1}, [None],
              {"999999": 5}, {"5": 1e300}, "a" * 100000]
    members = {
        "/v1/completions": "prompt max_tokens temperature top_p seed stop n stream stream_options "
                           "logprobs presence_penalty frequency_penalty logit_bias best_of echo "
                           "top_k min_p repeat_penalty repeat_window stop_token_ids lookup "
                           "response_format grammar suffix user",
        "/v1/chat/completions": "messages tools tool_choice parallel_tool_calls top_logprobs "
                                "documents chat_template_kwargs response_format",
        "/v1/responses": "input instructions include text tools tool_choice max_output_tokens user",
        "/v1/embeddings": "input encoding_format dimensions"}
    bodies = {"/v1/completions": {"prompt": "a", "max_tokens": 1}, "/v1/embeddings": {"input": "a"},
              "/v1/responses": {"input": "a", "max_output_tokens": 1},
              "/v1/chat/completions": {"messages": [{"role": "user", "content": "a"}], "max_tokens": 1}}
    refused = 0
    for path, names in members.items():
        for name in names.split():
            for value in values:
                status, found = server.ask(path, {**bodies[path], name: value})
                if status == 200:
                    continue
                assert 400 <= status < 500, (name, str(value)[:50], status, found)
                message, param = found["error"]["message"], found["error"]["param"]
                assert message and "\n" not in message and param, (name, str(value)[:50], found)
                refused += 1
    assert refused > 300, refused


def check_slow_headers(server: Server) -> None:
    """Clients that send a byte now and then have ten seconds for a header, wherever they are in it."""
    starts = [b"", b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nX: "]
    clients = [socket.create_connection(("127.0.0.1", server.port)) for _ in starts]
    for client, start in zip(clients, starts):
        client.sendall(start or b"P")
    began = time.monotonic()
    answers = {}
    while len(answers) < len(clients) and time.monotonic() - began < 30:
        time.sleep(0.5)
        for i, client in enumerate(clients):
            if i in answers:
                continue
            try:
                client.settimeout(0.01)
                answers[i] = client.recv(4096)
            except TimeoutError:
                client.sendall(b"a")
    seconds = time.monotonic() - began
    assert 8 < seconds < 20, seconds
    expect("late headers", [True] * 2, [b" 408 " in answers[i] for i in range(2)])
    time.sleep(0.2)
    lines = [line for line in server.log if line.get("status") == 408]
    expect("lines of late headers", ["the header: expected it within 10 seconds"] * 2,
           [line["error"] for line in lines])
    for client in clients:
        client.close()
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    for _ in range(3):  # one connection has a time for each header
        connection.request("GET", "/health")
        expect("health", b"ok" in connection.getresponse().read(), True)
        time.sleep(1)
    connection.close()


def check_full_queue(server: Server, key: str) -> None:
    """Some of those who ask at once for all that there is room for."""
    body = {"prompt": "a", "n": 2, "max_tokens": 1000}
    codes: set[int | str] = set()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(server.ask, "/v1/completions", body, key) for _ in range(32)]
        for status, found in [each.result() for each in asked]:
            codes.add(found["error"]["code"] if status == 429 else status)
    expect("a full queue", {200, "rate_limit_exceeded"}, codes)


def check_limits(program: str, model: Path) -> None:
    """A key, a full queue, no time, an early end."""
    server = Server(program, model, "--api-key", "secret", "--queue", "1", "--sequences", "1",
                    "-n", "1000", "--context", "2000")
    body = {"prompt": "a", "max_tokens": 20}
    try:
        expect("no key", 401, server.ask("/v1/models")[0])
        expect("another key", 401, server.ask("/v1/completions", body, "secrets")[0])
        expect("health without a key", 200, server.ask("/health")[0])
        expect("the key", 200, server.ask("/v1/completions", body, "secret")[0])
        expect("too many tokens", 400,
               server.ask("/v1/completions", {**body, "max_tokens": 1001}, "secret")[0])
        expect("more texts than ever find a place", 400,
               server.ask("/v1/completions", {**body, "n": 3}, "secret")[0])
        check_full_queue(server, "secret")
    finally:
        expect("exit code", 0, server.stop())
    busy = Server(program, model, "--max-seconds", "0.000001")
    try:
        expect("no time", 503, busy.ask("/v1/completions", body)[0])
        taken = subprocess.run([program, "serve", *busy.words[1:], "--port", str(busy.port)],
                               capture_output=True, text=True, timeout=30)
        expect("a port in use", (3, True), (taken.returncode, "cannot listen" in taken.stderr))
    finally:
        busy.stop()


def check_connections(server: Server) -> None:
    """What clients of HTTP send besides."""
    body = json.dumps({"prompt": "a", "max_tokens": 3, "seed": 1}).encode()
    wanted = server.ask("/v1/completions", raw=body)[1]["choices"]

    def ask(headers: str, version: str = "HTTP/1.1", sent: bytes = body) -> tuple[bytes, bytes]:
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as client:
            client.sendall(f"POST /v1/completions {version}\r\nHost: localhost\r\nConnection: close\r\n"
                           f"Content-Length: {len(sent)}\r\n{headers}\r\n".encode() + sent)
            received = b""
            while more := client.recv(4096):
                received += more
        head, _, rest = received.partition(b"\r\n\r\n")
        return head, rest

    json_type = "Content-Type: application/json\r\n"
    head, rest = ask(json_type, "HTTP/1.0")
    assert b"Content-Length:" in head and b"chunked" not in head, head
    expect("an answer in one piece", wanted, json.loads(rest)["choices"])
    head, rest = ask(json_type, "HTTP/1.0", body[:-1] + b', "stream": true}')
    assert b"chunked" not in head and rest.endswith(b"data: [DONE]\n\n"), (head, rest)
    head, rest = ask("Content-Type: Application/JSON ; charset=utf-8\r\n")
    assert head.startswith(b"HTTP/1.1 200"), head
    for headers, message in ((json_type + "Content-Encoding: br\r\n", b"found 'br'"),
                             ("Content-Type: multipart/form-data; boundary=x\r\n",
                              b"expected Content-Type: application/json")):
        head, rest = ask(headers)
        assert head.startswith(b"HTTP/1.1 415") and message in rest, (head, rest)


def check_end(program: str, model: Path) -> None:
    """SIGTERM lets open answers end, also where it arrives twice, as GNU's timeout sends it."""
    server = Server(program, model, "--context", "60000", "--max-seconds", "1")
    body = {"prompt": "a", "max_tokens": 50000, "stream": True, "temperature": 1}
    request = urllib.request.Request(server.url + "/v1/completions", json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as response:
        response.readline()
        for _ in range(2):
            server.process.send_signal(signal.SIGTERM)
            time.sleep(0.1)
        rest = response.read().decode()
    assert rest.endswith("data: [DONE]\n\n"), rest[-200:]
    expect("exit code", 0, server.process.wait(30))
    server.reader.join()
    expect("the last line", "ended", server.log[-1]["event"])


def check_hosts(server: Server) -> None:
    """Names that others have lead to this machine are not answered."""
    for host, wanted in (("evil.example", 403), ("localhost:1", 200), ("[::1]", 200)):
        request = urllib.request.Request(server.url + "/v1/models", headers={"Host": host})
        try:
            status = urllib.request.urlopen(request, timeout=60).status
        except urllib.error.HTTPError as error:
            status = error.code
        expect(f"host {host}", wanted, status)


def check_schemas(server: Server) -> None:
    """Answers are valid under their schemas, also several at once."""
    values = ["yes", "n\u00f6", 17, {"a": [1, 2.5, None]}]
    schema = {"enum": values}
    form = {"type": "json_schema", "json_schema": {"name": "s", "strict": True, "schema": schema}}
    status, answer = server.ask("/v1/chat/completions", {
        "messages": [{"role": "user", "content": "Hi"}], "response_format": form, "n": 4,
        "max_tokens": 40, "seed": 1})
    expect("status", 200, status)
    for choice in answer["choices"]:
        expect("why it ended", "stop", choice["finish_reason"])
        assert json.loads(choice["message"]["content"]) in values, choice
    for form_of_vllm in ({"guided_choice": ["yes", "n\u00f6 (1+1)"]},
                         {"structured_outputs": {"regex": "yes|n\u00f6 \\(1\\+1\\)"}}):
        status, answer = server.ask("/v1/completions", {"prompt": "a", **form_of_vllm})
        expect("status", 200, status)
        assert answer["choices"][0]["text"] in ("yes", "n\u00f6 (1+1)"), answer
    for wrong in ({"if": {}}, {"type": "number", "minimum": 2, "maximum": 1}):
        form["json_schema"]["schema"] = wrong
        status, answer = server.ask("/v1/completions", {"prompt": "a", "response_format": form})
        expect("status", 400, status)
        assert "JSON schema" in answer["error"]["message"] or "grammar" in answer["error"]["message"]


def check_openai(server: Server) -> None:
    try:
        import openai
    except ImportError:
        print("without the package openai")
        return
    client = openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0)
    expect("models", ["tiny"], [model.id for model in client.models.list()])
    expect("a model", "tiny", client.models.retrieve("tiny").id)
    messages = [{"role": "user", "content": "Hi"}]
    answer = client.chat.completions.create(model="tiny", messages=messages, max_tokens=6, seed=2,
                                            logprobs=True, top_logprobs=3)
    content = answer.choices[0].logprobs.content
    expect("probabilities", [3] * len(content), [len(each.top_logprobs) for each in content])
    expect("tokens", answer.usage.completion_tokens, len(content))
    stream = client.chat.completions.create(model="tiny", messages=messages, max_tokens=6, seed=2,
                                            stream=True, stream_options={"include_usage": True})
    pieces = list(stream)
    text = "".join(p.choices[0].delta.content or "" for p in pieces if p.choices)
    expect("the same as a stream", answer.choices[0].message.content, text)
    expect("usage", answer.usage.total_tokens, pieces[-1].usage.total_tokens)
    done = client.completions.create(model="tiny", prompt=["a", "b"], max_tokens=3, n=2, logprobs=1)
    expect("choices", [0, 1, 2, 3], [choice.index for choice in done.choices])
    for wrong, kind in (({"model": "b"}, openai.NotFoundError),
                        ({"temperature": -1}, openai.BadRequestError)):
        try:
            client.chat.completions.create(**{"model": "tiny", "messages": messages, **wrong})
            raise AssertionError(f"{wrong} is taken")
        except kind as error:
            assert error.body["param"] in ("model", "temperature"), error.body


def check_embeddings(server: Server) -> None:
    path = "/v1/embeddings"
    texts = ["Once", "upon a time", "a"]
    status, found = server.ask(path, {"model": "tiny", "input": texts})
    expect("status", 200, status)
    vectors = [each["embedding"] for each in found["data"]]
    expect("widths", [16] * 3, [len(vector) for vector in vectors])
    for vector in vectors:
        assert abs(sum(x * x for x in vector) - 1) < 3 * 2**-24, vector  # each is rounded once
    tokens = [server.ask("/tokenize", {"content": text})[1]["tokens"] for text in texts]
    expect("usage", sum(map(len, tokens)), found["usage"]["total_tokens"])
    _, same = server.ask(path, {"input": tokens})
    expect("tokens", vectors, [each["embedding"] for each in same["data"]])
    _, packed = server.ask(path, {"input": texts[1], "encoding_format": "base64"})
    packed = struct.unpack("<16f", base64.b64decode(packed["data"][0]["embedding"]))
    expect("base64", [struct.unpack("<f", struct.pack("<f", x))[0] for x in vectors[1]],
           list(packed))
    _, short = server.ask(path, {"input": texts[0], "dimensions": 4})
    length = sum(x * x for x in vectors[0][:4]) ** 0.5
    for x, y in zip(vectors[0], short["data"][0]["embedding"], strict=False):
        assert abs(x / length - y) < 3 * 2**-24, short
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        bodies = [{"input": texts[i % 3]} for i in range(24)]
        for i, (_, found) in enumerate(pool.map(lambda body: server.ask(path, body), bodies)):
            expect("among others", vectors[i % 3], found["data"][0]["embedding"])
    for body, param in (({}, "input"), ({"input": []}, "input"), ({"input": [[]]}, "input"),
                        ({"input": "a", "dimensions": 17}, "dimensions"),
                        ({"input": "a" * 99}, "input"), ({"input": [300]}, "input"),
                        ({"input": "a", "encoding_format": "int8"}, "encoding_format")):
        status, found = server.ask(path, body)
        expect(f"{body}", (400, param), (status, found["error"]["param"]))
    expect("another model", 404, server.ask(path, {"input": "a", "model": "b"})[0])
    try:
        import openai
    except ImportError:
        return
    client = openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0)
    found = client.embeddings.create(model="tiny", input=texts)
    assert max(abs(x - y) for x, y in zip(found.data[2].embedding, vectors[2], strict=True)) < 1e-7


TOOLS = [
    {"type": "function", "function": {"name": "get_weather", "description": "Weather", "parameters": {
        "type": "object", "required": ["city", "days"], "properties": {
            "city": {"enum": ["Bern", "Z\u00fcrich"]}, "days": {"type": "integer", "maximum": 5}}}}},
    {"type": "function", "function": {"name": "now"}},
]
TEMPLATE = """{%- if tools %}{{ tools | tojson }}{% endif %}
{%- for message in messages %}<{{ message.role }}>{{ message.content }}
{%- for call in message.tool_calls %}<call>{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}</call>{% endfor %}
{%- endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"""


class ToolServer(Server):
    """One whose template has functions; it lies beside the model."""

    def __init__(self, program: str, model: Path, *options: str):
        template = model.with_suffix(".jinja")
        template.write_text(TEMPLATE)
        self.template = ("--template", str(template))
        super().__init__(program, model, *options)


def check_tools(program: str, model: Path, kind: type[Server]) -> None:
    """Calls that are required are valid; answers are told of."""
    server = kind(program, model, "--context", "4000")
    chat = {"messages": [{"role": "user", "content": "Weather?"}], "tools": TOOLS, "max_tokens": 200}
    try:
        for seed in range(8):
            body = {**chat, "tool_choice": "required", "parallel_tool_calls": False, "seed": seed}
            status, found = server.ask("/v1/chat/completions", body)
            expect("status", 200, status)
            choice = found["choices"][0]
            expect("reason", "tool_calls", choice["finish_reason"])
            call, = choice["message"]["tool_calls"]
            arguments = json.loads(call["function"]["arguments"])
            if call["function"]["name"] == "now":
                expect("no arguments", {}, arguments)
            else:
                assert arguments["city"] in ("Bern", "Z\u00fcrich") and arguments["days"] <= 5, call
            chat["messages"] += [choice["message"], {"role": "tool", "tool_call_id": call["id"],
                                                     "content": "12"}]
            expect("an answer to it", 200, server.ask("/v1/chat/completions",
                                                      {**chat, "max_tokens": 2})[0])
            chat["messages"] = chat["messages"][:1]
        check_tools_of_openai(server)
    finally:
        server.stop()


def check_tools_of_openai(server: Server) -> None:
    try:
        import openai
    except ImportError:
        return
    client = openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0)
    ask = dict(model="tiny", messages=[{"role": "user", "content": "Weather?"}], tools=TOOLS, seed=3,
               tool_choice={"type": "function", "function": {"name": "get_weather"}})
    message = client.chat.completions.create(**ask).choices[0].message
    arguments = json.loads(message.tool_calls[0].function.arguments)
    pieces = [p.choices[0] for p in client.chat.completions.create(**ask, stream=True)]
    calls = [call for piece in pieces for call in piece.delta.tool_calls or []]
    expect("the same as a stream", arguments,
           json.loads("".join(call.function.arguments for call in calls)))
    expect("its name", "get_weather", calls[0].function.name)
    expect("its end", "tool_calls", pieces[-1].finish_reason)
    client.chat.completions.create(model="tiny", max_tokens=1, messages=[
        *ask["messages"], message,
        {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "12"}])


def main() -> int:
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "tiny.bin"
        write_model(model)
        tried = subprocess.run([program, "serve", str(model), "--tokenizer",
                                str(model.with_suffix(".tokenizer")), "--host", "192.0.2.1"],
                               capture_output=True, text=True, timeout=30)
        if tried.returncode == 4:
            print("skipped:", tried.stderr)
            return SKIPPED
        expect("a host of another machine", 3, tried.returncode)
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")
        server = Server(program, model)
        try:
            check_answers(server)
            check_clients(server)
            check_refusals(server)
            check_wrong_values(server)
            check_slow_headers(server)
            check_schemas(server)
            check_hosts(server)
            check_connections(server)
            check_embeddings(server)
            check_openai(server)
            expect("exit code after SIGTERM", 0, server.stop())
        finally:
            server.process.kill()
        for kind in (ToolServer, Server):  # templates with functions, and without
            check_tools(program, model, kind)
        check_limits(program, model)
        check_end(program, model)
    print("passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
