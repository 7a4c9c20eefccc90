#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Chats with a model of random weights on the page of `halftone serve` in headless Chromium: the
answers are those of the routes, and the page asks no other host.

Usage: serve_page_test.py HALFTONE FOLDER

Writes screenshots to the folder. Skipped (exit code 77) without Chromium, and where the build has
no server.
"""

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from chromium import Chromium, find
from serve_test import SKIPPED, Server, expect, write_model

SETTINGS = {"seed": 5, "temperature": 0.8, "max_tokens": 24}
HOSTILE = ("Look at `<b>` & <img src=x onerror=alert(1)>:\n```html\n<script>alert(2)</script>\n```\n"
           "and\n```c\nint open;")


class TextServer(Server):
    """One whose model has no template."""

    template = ()


class Tab:
    """A page of a server, and what a person does with it."""

    def __init__(self, browser, server, width=1200, height=760):
        self.page = browser.page()
        self.server = server
        self.page.set_size(width, height)
        self.page.open(server.url + "/")
        self.wait("document.getElementById('about').textContent ||"
                  " !document.getElementById('problem').hidden")

    def get(self, expression):
        return self.page.evaluate(expression)

    def wait(self, condition):
        assert self.get(f"""new Promise((done) => {{
          const end = Date.now() + 30000;
          const look = () => ({condition}) ? done(true)
            : Date.now() > end ? done(false) : setTimeout(look, 10);
          look(); }})"""), (condition, self.get("document.body.innerText"))

    def wait_for_answer(self):
        self.wait("document.getElementById('stop').hidden")

    def click(self, text, within="document"):
        """Clicks the last button that says this, or is labelled so."""
        assert self.get(f"""(() => {{
          const all = [...{within}.querySelectorAll("button")].filter((each) =>
            !each.hidden && (each.textContent === {json.dumps(text)} ||
                             each.ariaLabel === {json.dumps(text)}));
          all.at(-1)?.click();
          return all.length > 0; }})()"""), text

    def write(self, text, field="text"):
        """Puts a text into a field as keys do."""
        self.get(f"""(() => {{ const field = document.getElementById({json.dumps(field)});
          field.focus(); field.select(); }})()""")
        self.page.call("Input.insertText", text=str(text))

    def send(self, text):
        self.write(text)
        self.page.press("Enter", text="\r")
        expect("the field after sending", "", self.get("document.getElementById('text').value"))

    def set(self, **values):
        self.click("Settings")
        for name, value in values.items():
            self.write(value, name)
        self.click("Close")

    def messages(self):
        """What the browser has kept of the last conversation."""
        return self.get("""Object.keys(localStorage).filter((each) => each.startsWith(
          "halftone-chat-")).map((each) => JSON.parse(localStorage.getItem(each)))
          .sort((a, b) => b.changed - a.changed)[0]?.messages ?? []""")

    def shown(self):
        return self.get("[...document.querySelectorAll('.said')].map((each) => each.textContent)")

    def check_quiet(self, refusals=0):
        """Nothing in the console but refused requests, which the browser logs itself."""
        problems = self.page.problems()
        known = [each for each in problems if each.get("entry", {}).get("source") == "network"]
        expect("refused requests", refusals, len(known))
        expect("problems", known, problems)
        for address in self.page.requests():
            assert address.startswith(self.server.url + "/"), address


def asked(server, messages, **changes):
    """The text of /v1/chat/completions for a conversation."""
    sent = [{"role": each["role"], "content": each["content"]} for each in messages]
    status, found = server.ask("/v1/chat/completions",
                               {"messages": sent, **SETTINGS, **changes})
    expect("status", 200, status)
    return found["choices"][0]["message"]["content"], found["usage"]["completion_tokens"]


def test_answers(browser, server, folder):
    tab = Tab(browser, server)
    expect("the name", "tiny", tab.get("document.getElementById('name').textContent"))
    tab.set(**SETTINGS, system="Be short.")
    tab.send("Hi")
    tab.wait_for_answer()
    system = {"role": "system", "content": "Be short."}
    first = {"role": "user", "content": "Hi"}
    text, tokens = asked(server, [system, first])
    expect("the first answer", [first["content"], text],
           [each["content"] for each in tab.messages()])
    expect("what is shown", text.replace("`", ""), tab.shown()[1].replace("`", ""))
    note = tab.messages()[1]["note"]
    assert f"{tokens} token" in note and "tokens/s" in note and "seed 5" in note, note
    tab.click("Regenerate")
    tab.wait_for_answer()
    again = asked(server, [system, first], seed=6)[0]
    expect("another answer", again, tab.messages()[1]["content"])
    tab.set(seed=9)
    tab.click("Regenerate")
    tab.wait_for_answer()
    expect("an answer to another seed", asked(server, [system, first], seed=9)[0],
           tab.messages()[1]["content"])
    tab.set(seed=5)
    tab.send("More")
    tab.wait_for_answer()
    more = asked(server, [system, *tab.messages()[:3]])[0]
    expect("an answer to all before", more, tab.messages()[3]["content"])
    tab.click("Edit", "document.querySelector('article')")
    expect("the edited text", "Hi", tab.get("document.getElementById('text').value"))
    tab.send("Ho")
    tab.wait_for_answer()
    expect("messages after an edit", ["Ho", asked(server, [system, {**first, "content": "Ho"}])[0]],
           [each["content"] for each in tab.messages()])
    tab.check_quiet()


def test_history(browser, server, folder):
    tab = Tab(browser, server)
    expect("a new page begins anew", [], tab.shown())
    count = "document.querySelectorAll('#history li').length"
    expect("conversations of the test before", 1, tab.get(count))
    tab.set(**SETTINGS)
    tab.write("line one")
    tab.page.call("Input.dispatchKeyEvent", type="keyDown", key="Enter", code="Enter", text="\r",
                  modifiers=8, windowsVirtualKeyCode=13)
    tab.page.call("Input.insertText", text="line two")
    tab.page.press("Enter", text="\r")
    tab.wait_for_answer()
    expect("lines", "line one\nline two", tab.messages()[0]["content"])
    expect("two conversations", 2, tab.get(count))
    tab.click("Ho", "document.getElementById('history')")
    expect("the first again", "Ho", tab.shown()[0])
    tab.click("Delete Ho")
    expect("asks first", 2, tab.get(count))
    tab.click("Delete Ho")
    expect("one is left", (1, []), (tab.get(count), tab.shown()))
    tab.check_quiet()


def test_texts_are_no_markup(browser, server, folder):
    tab = Tab(browser, server)
    chat = {"id": "x", "title": "Code", "changed": 9e15, "messages": [
        {"role": "user", "content": "Show me."}, {"role": "assistant", "content": HOSTILE,
                                                  "note": "24 tokens, 31.5 tokens/s"}]}
    tab.get(f"localStorage.setItem('halftone-chat-x', {json.dumps(json.dumps(chat))})")
    tab.page.open(server.url + "/")
    tab.wait("document.querySelector('#history button')")
    tab.click("Code", "document.getElementById('history')")
    expect("blocks", ["<script>alert(2)</script>", "int open;"],
           tab.get("[...document.querySelectorAll('pre')].map((each) => each.textContent)"))
    expect("languages", ["html", "c"], tab.get(
        "[...document.querySelectorAll('figcaption')].map((each) => each.firstChild.textContent)"))
    expect("elements", 0, tab.get("document.querySelectorAll('main img, main b').length"))
    for is_dark in (False, True):
        tab.page.set_dark(is_dark)
        for width in (1200, 390):
            tab.page.set_size(width, 760)
            assert tab.get("document.documentElement.scrollWidth") <= width
            name = f"{'dark' if is_dark else 'light'}-{width}"
            (folder / f"{name}.png").write_bytes(tab.page.screenshot())
            tab.click("Settings")
            (folder / f"settings-{name}.png").write_bytes(tab.page.screenshot())
            tab.click("Close")
    tab.click("Chats")
    (folder / "chats-390.png").write_bytes(tab.page.screenshot())
    background = "getComputedStyle(document.body).backgroundColor"
    expect("dark", "rgb(13, 17, 23)", tab.get(background))
    tab.click("Theme")
    expect("light by the switch", "rgb(255, 255, 255)", tab.get(background))
    tab.page.open(server.url + "/")
    expect("light is kept", "rgb(255, 255, 255)", tab.get(background))
    tab.get("localStorage.clear()")
    tab.check_quiet()


def test_controls_have_names(browser, server, folder):
    tab = Tab(browser, server)
    tab.click("Settings")
    nodes = tab.page.call("Accessibility.getFullAXTree")["nodes"]
    kinds = ("button", "textbox", "spinbutton", "dialog")
    controls = [(node["role"]["value"], node.get("name", {}).get("value")) for node in nodes
                if not node["ignored"] and node["role"]["value"] in kinds]
    assert len(controls) >= 8 and all(name for _, name in controls), controls
    tab.check_quiet()


def test_errors(browser, server, folder):
    tab = Tab(browser, server)
    tab.set(temperature=-1)
    tab.send("Hi")
    tab.wait_for_answer()
    error = server.ask("/v1/completions", {"prompt": "a", "temperature": -1})[1]["error"]["message"]
    expect("the error of the server", ["Hi", error], tab.shown())
    (folder / "error.png").write_bytes(tab.page.screenshot())
    tab.set(temperature=1, max_tokens=3)
    tab.click("Try again")
    tab.wait_for_answer()
    assert tab.shown()[1] != error, error
    tab.set(schema="{")
    tab.click("Regenerate")
    assert "not JSON" in tab.get("document.getElementById('problem').textContent")
    tab.check_quiet(refusals=1)


def test_schemas(browser, server, folder):
    """The page sends a schema; it shows the answer, or the error of a server without schemas."""
    tab = Tab(browser, server)
    schema = {"type": "boolean"}
    tab.set(**SETTINGS, schema=json.dumps(schema))
    tab.send("Is it?")
    tab.wait_for_answer()
    form = {"type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": schema}}
    status, found = server.ask("/v1/chat/completions", {
        "messages": tab.messages()[:1], **SETTINGS, "response_format": form})
    expected = (found["choices"][0]["message"]["content"] if status == 200
                else found["error"]["message"])
    expect("an answer by a schema", expected, tab.shown()[1])
    tab.get("localStorage.clear()")
    tab.check_quiet(refusals=int(status != 200))


def test_stop(browser, server, folder):
    tab = Tab(browser, server)
    tab.click("Settings")
    tab.click("Defaults")
    tab.click("Close")
    tab.set(temperature=0)  # it repeats itself, without an end
    for i, stop in enumerate((lambda: tab.page.press("Escape"), lambda: tab.click("Stop"))):
        tab.send("Hi")
        tab.wait("/tokens\\/s/.test(document.querySelector('article:last-child .below').textContent)")
        expect("sending while it runs", False, tab.get("document.getElementById('stop').hidden"))
        stop()
        tab.wait_for_answer()
        answer = tab.messages()[-1]
        assert answer["content"] and answer["note"].endswith(", stopped"), answer
        deadline = time.monotonic() + 30
        while [line.get("lost") for line in server.log].count(True) <= i:
            assert time.monotonic() < deadline, "the server writes on"
            time.sleep(0.02)
        if i == 0:
            (folder / "stopped.png").write_bytes(tab.page.screenshot())
            tab.click("New conversation")
    tab.check_quiet()


def test_key(browser, server, folder):
    tab = Tab(browser, server)
    expect("a field for the key", False, tab.get("document.getElementById('key').hidden"))
    (folder / "key.png").write_bytes(tab.page.screenshot())
    for word, is_wrong in (("wrong", True), ("secret", False)):
        tab.write(word, "secret")
        tab.page.press("Enter", text="\r")
        tab.wait("document.getElementById('key').hidden === " + json.dumps(not is_wrong))
    tab.set(max_tokens=2)
    tab.send("Hi")
    tab.wait_for_answer()
    expect("no error", None, tab.messages()[1].get("error"))
    assert "secret" not in tab.get("JSON.stringify(localStorage)")
    tab.check_quiet(refusals=2)


def test_texts(browser, server, folder):
    tab = Tab(browser, server)
    assert "no chat template" in tab.get("document.getElementById('about').textContent")
    tab.set(**SETTINGS)
    tab.send("Once")
    tab.wait_for_answer()
    tab.send("upon")
    tab.wait_for_answer()
    text = ""
    for message in tab.messages():
        if message["role"] == "assistant":
            _, found = server.ask("/v1/completions", {"prompt": text, **SETTINGS})
            expect("a continuation", found["choices"][0]["text"], message["content"])
        text += message["content"]
    tab.check_quiet()


def check_headers(server):
    policies = []
    for _ in range(2):
        with urllib.request.urlopen(server.url + "/", timeout=30) as response:
            policies.append(response.headers["Content-Security-Policy"])
            html = response.read().decode()
    nonce = policies[1].partition("'nonce-")[2].partition("'")[0]
    assert len(nonce) == 24 and policies[0] != policies[1], policies
    expect("nonces in the page", 2, html.count(f'nonce="{nonce}"'))
    assert "default-src 'none'" in policies[0] and "connect-src 'self'" in policies[0], policies


def served(program, model, folder, browser_program, tests, kind=Server, options=()):
    server = kind(program, model, *options)
    try:
        check_headers(server)
        with Chromium(browser_program) as browser:
            for test in tests:
                test(browser, server, folder)
                print("passed:", test.__name__)
    finally:
        server.stop()


def main(program, folder):
    browser_program = find()
    if browser_program is None:
        print("skipped: no Chromium (Debian: chromium)")
        return SKIPPED
    folder = Path(folder).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    model = folder / "tiny.bin"
    write_model(model)
    tried = subprocess.run([program, "serve", model, "--tokenizer",
                            model.with_suffix(".tokenizer"), "--host", "192.0.2.1"],
                           capture_output=True, text=True, timeout=30)
    if tried.returncode == 4:
        print("skipped:", tried.stderr)
        return SKIPPED
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    served(program, model, folder, browser_program,
           [test_answers, test_history, test_texts_are_no_markup, test_controls_have_names,
            test_errors, test_schemas], options=("--context", "2000"))
    served(program, model, folder, browser_program, [test_stop], options=("--context", "60000"))
    served(program, model, folder, browser_program, [test_key], options=("--api-key", "secret"))
    served(program, model, folder, browser_program, [test_texts], TextServer)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
