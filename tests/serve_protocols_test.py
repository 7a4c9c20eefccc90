#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks `halftone serve` over HTTPS, and in OpenAI's newer protocol, /v1/responses.

Usage: serve_protocols_test.py HALFTONE

Parts need the program openssl, and the package openai. Skipped (exit code 77) where the build has no
server.
"""

import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from serve_test import SKIPPED, TOOLS, Server, ToolServer, expect, write_model

PERSON = {"type": "object", "required": ["name", "age"], "additionalProperties": False,
          "properties": {"name": {"enum": ["Tom", "Ann"]},
                         "age": {"type": "integer", "minimum": 3, "maximum": 9}}}


def events_of(server: Server, body: dict) -> list[dict]:
    """The events of a stream, whose lines are checked."""
    request = urllib.request.Request(server.url + "/v1/responses",
                                     json.dumps({**body, "stream": True}).encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as response:
        blocks = response.read().decode().removesuffix("\n\n").split("\n\n")
    events = []
    for number, block in enumerate(blocks):
        name, data = block.split("\n")
        events.append(json.loads(data.removeprefix("data: ")))
        expect("the name of an event", "event: " + events[-1]["type"], name)
        expect("its number", number, events[-1]["sequence_number"])
    return events


def check_responses(server: Server) -> None:
    chat = {"messages": [{"role": "system", "content": "Be brief"},
                         {"role": "user", "content": "Hi"}], "max_tokens": 8, "seed": 2}
    body = {"model": "tiny", "instructions": "Be brief", "input": "Hi", "max_output_tokens": 8,
            "seed": 2}
    status, found = server.ask("/v1/responses", body)
    expect("status", 200, status)
    wanted = server.ask("/v1/chat/completions", chat)[1]
    text = wanted["choices"][0]["message"]["content"]
    message, = found["output"]
    expect("the text of a chat", text, message["content"][0]["text"])
    expect("usage", wanted["usage"]["total_tokens"], found["usage"]["total_tokens"])
    is_whole = wanted["choices"][0]["finish_reason"] == "stop"
    expect("status", "completed" if is_whole else "incomplete", found["status"])
    expect("what is repeated", ("Be brief", 8), (found["instructions"], found["max_output_tokens"]))
    parts = {**body, "instructions": None, "input": [
        {"role": "developer", "content": "Be brief"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]}]}
    expect("items", text, server.ask("/v1/responses", parts)[1]["output"][0]["content"][0]["text"])
    events = events_of(server, body)
    expect("a stream", text, "".join(each["delta"] for each in events
                                     if each["type"] == "response.output_text.delta"))
    expect("its end", message["content"], events[-1]["response"]["output"][0]["content"])
    form = {"format": {"type": "json_schema", "name": "person", "strict": True, "schema": PERSON}}
    _, found = server.ask("/v1/responses", {"input": "Who?", "text": form, "max_output_tokens": 999})
    person = json.loads(found["output"][0]["content"][0]["text"])
    assert person["name"] in ("Tom", "Ann") and 3 <= person["age"] <= 9, person


def check_wrong_responses(server: Server) -> None:
    image = [{"role": "user", "content": [{"type": "input_image", "image_url": "data:"}]}]
    for wrong, param in (({}, "input"), ({"input": []}, "input"), ({"input": [3]}, "input"),
                         ({"input": image}, "input"), ({"input": [{"type": "item_reference"}]}, "input"),
                         ({"input": "a", "previous_response_id": "resp_1"}, "previous_response_id"),
                         ({"input": "a", "background": True}, "background"),
                         ({"input": "a", "tools": [{"type": "web_search"}]}, "tools"),
                         ({"input": "a", "tool_choice": "required"}, "tool_choice"),
                         ({"input": "a", "text": {"format": {"type": "json_schema"}}},
                          "text.format"),
                         ({"input": "a", "max_output_tokens": 0}, "max_output_tokens"),
                         ({"input": "a", "stream": True, "stream_options": 3}, "stream_options"),
                         ({"messages": []}, "messages"), ({"input": "a" * 4000}, "input")):
        status, found = server.ask("/v1/responses", wrong)
        expect(f"{wrong}", (400, param), (status, found["error"]["param"]))
    expect("another model", 404, server.ask("/v1/responses", {"input": "a", "model": "b"})[0])


def check_calls(server: Server) -> None:
    """A call that is required, and an answer to it."""
    tools = [{"type": "function", **tool["function"]} for tool in TOOLS]
    body = {"input": [{"role": "user", "content": "Weather?"}], "tools": tools, "seed": 3,
            "tool_choice": {"type": "function", "name": "get_weather"}, "max_output_tokens": 200}
    _, found = server.ask("/v1/responses", body)
    call, = found["output"]
    expect("a call", ("function_call", "get_weather"), (call["type"], call["name"]))
    assert json.loads(call["arguments"])["days"] <= 5, call
    scored = server.ask("/v1/responses", {**body, "top_logprobs": 1})[1]["output"]
    expect("without probabilities", [call["arguments"]], [each["arguments"] for each in scored])
    events = events_of(server, body)
    done, = (each for each in events if each["type"] == "response.function_call_arguments.done")
    expect("the same as a stream", call["arguments"], done["arguments"])
    body["input"] += [call, {"type": "function_call_output", "call_id": call["call_id"],
                             "output": "12"}]
    status, found = server.ask("/v1/responses", {**body, "tool_choice": "auto",
                                                 "max_output_tokens": 2})
    expect("an answer to it", (200, "message"), (status, found["output"][0]["type"]))


def check_openai(server: Server) -> None:
    try:
        import openai
        import pydantic
    except ImportError:
        print("without the package openai")
        return
    client = openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0)
    answer = client.responses.create(model="tiny", input="Hi", max_output_tokens=6,
                                     include=["message.output_text.logprobs"], top_logprobs=3,
                                     extra_body={"seed": 2})
    scores = answer.output[0].content[0].logprobs
    expect("probabilities", (answer.usage.output_tokens, 3),
           (len(scores), len(scores[0].top_logprobs)))
    ask = dict(model="tiny", input="Hi", max_output_tokens=6, extra_body={"seed": 2})
    with client.responses.stream(**ask) as stream:
        texts = [event.text for event in stream if event.type == "response.output_text.done"]
    expect("the same as a stream", [answer.output_text], texts)

    class Person(pydantic.BaseModel):
        age: int = pydantic.Field(ge=3, le=9)

    found = client.responses.parse(model="tiny", input="Who?", text_format=Person)
    assert 3 <= found.output_parsed.age <= 9, found
    with client.responses.stream(model="tiny", input="Who?", text_format=Person) as stream:
        last = [event for event in stream][-1]
        expect("the last event", "response.completed", last.type)
        assert 3 <= stream.get_final_response().output_parsed.age <= 9, last
    try:
        client.responses.create(model="b", input="Hi")
        raise AssertionError("another model is taken")
    except openai.NotFoundError as error:
        expect("the code", "model_not_found", error.body["code"])


class SecureServer(Server):
    """One with a certificate, which lies beside the model."""

    def ask_with(self, context: ssl.SSLContext, path: str, body=None) -> dict:
        request = urllib.request.Request(f"https://localhost:{self.port}{path}",
                                         None if body is None else json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60, context=context) as response:
            return json.load(response)


def check_secure_server(program: str, model: Path) -> None:
    certificate, key = model.with_name("certificate.pem"), model.with_name("key.pem")
    if shutil.which("openssl") is None:
        print("without the program openssl")
        return
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=localhost", "-addext",
                    "subjectAltName=DNS:localhost", "-days", "2", "-keyout", key, "-out",
                    certificate], check=True, capture_output=True)
    check_refused_certificates(program, model, certificate, key)
    server = SecureServer(program, model, "--ssl-cert-file", str(certificate), "--ssl-key-file",
                          str(key))
    context = ssl.create_default_context(cafile=certificate)
    try:
        body = {"prompt": "Once", "max_tokens": 9, "seed": 3}
        plain = Server(program, model)
        wanted = plain.ask("/v1/completions", body)[1]["choices"]
        plain.stop()
        for _ in range(3):
            expect("the answer of plain HTTP", wanted,
                   server.ask_with(context, "/v1/completions", body)["choices"])
        long = server.ask_with(context, "/v1/completions", {"prompt": "a", "user": "u" * 100000,
                                                            "max_tokens": 2})
        expect("a body of several records", 2, long["usage"]["completion_tokens"])
        check_strangers(server, context)
        expect("health among strangers", "ok", server.ask_with(context, "/health")["status"])
        expect("exit code after SIGTERM", 0, server.stop())
    finally:
        server.process.kill()


def check_refused_certificates(program: str, model: Path, certificate: Path, key: Path) -> None:
    other = model.with_name("other.pem")
    subprocess.run(["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-out", other], check=True, capture_output=True)
    secret = model.with_name("secret.pem")
    subprocess.run(["openssl", "pkey", "-in", key, "-aes256", "-passout", "pass:abcd", "-out",
                    secret], check=True, capture_output=True)
    for options, code, text in (
            (["--ssl-cert-file", certificate], 2, "--ssl-key-file"),
            (["--ssl-cert-file", "none.pem", "--ssl-key-file", key], 3, "none.pem: cannot open"),
            (["--ssl-cert-file", certificate, "--ssl-key-file", "none.pem"], 3, "none.pem: cannot"),
            (["--ssl-cert-file", model, "--ssl-key-file", key], 3, "expected a certificate in PEM"),
            (["--ssl-cert-file", certificate, "--ssl-key-file", other], 3, "the private key of"),
            (["--ssl-cert-file", certificate, "--ssl-key-file", secret], 3, "without a password")):
        done = subprocess.run([program, "serve", model, "--tokenizer",
                               model.with_suffix(".tokenizer"), "--port", "0", *options],
                              capture_output=True, text=True, timeout=30)
        expect(f"{options}", code, done.returncode)
        assert text in done.stderr, done.stderr


def check_strangers(server: SecureServer, context: ssl.SSLContext) -> None:
    """Clients that do not speak TLS, or stop in the middle of it, or of a stream."""
    address = ("localhost", server.port)
    with socket.create_connection(address, 20) as client:
        client.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"HTTP/1.1 200" not in client.recv(1000)
    expect("who knows no certificate", "refused", outcome(server))
    with socket.create_connection(address, 20) as client:
        client.sendall(bytes([22, 3, 1, 2]))  # the beginning of a greeting
    body = json.dumps({"prompt": "a", "max_tokens": 60, "stream": True}).encode()
    with context.wrap_socket(socket.create_connection(address, 20),
                             server_hostname="localhost") as client:
        client.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                       b"application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        assert client.recv(12) == b"HTTP/1.1 200"
    end = time.monotonic() + 20
    while not any("TLS" in line.get("error", "") for line in server.log):
        assert time.monotonic() < end, server.log
        time.sleep(0.05)


def outcome(server: SecureServer) -> str:
    try:
        server.ask_with(ssl.create_default_context(), "/health")
        return "taken"
    except OSError:
        return "refused"


def main() -> int:
    program = sys.argv[1]
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "tiny.bin"
        write_model(model)
        tried = subprocess.run([program, "serve", str(model), "--tokenizer",
                                str(model.with_suffix(".tokenizer")), "--host", "192.0.2.1"],
                               capture_output=True, text=True, timeout=30)
        if tried.returncode == 4:
            print("skipped:", tried.stderr)
            return SKIPPED
        server = Server(program, model, "--context", "4000")
        try:
            check_responses(server)
            check_wrong_responses(server)
            check_openai(server)
        finally:
            server.stop()
        server = ToolServer(program, model, "--context", "4000")
        try:
            check_calls(server)
        finally:
            server.stop()
        check_secure_server(program, model)
    print("passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
