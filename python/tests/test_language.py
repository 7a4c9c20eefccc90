# SPDX-License-Identifier: Apache-2.0
"""Language models: on a tiny one of random weights, and beside the program."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import halftone as ht
from conftest import ROOT, VOCABULARY, Program, write_tiny_gguf, write_tiny_model

SPACE = 259


def token_of(character: str) -> int:
    return 3 + ord(character)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("language") / "tiny.bin"
    write_tiny_model(path)
    return path


def opened(path: Path, **options: Any) -> ht.LanguageModel:
    try:
        return ht.LanguageModel.open(path, tokenizer=path.with_suffix(".tokenizer"), **options)
    except NotImplementedError as error:
        assert "this build has none" in str(error)
        pytest.skip(str(error))


@pytest.fixture
def model(files: Path) -> ht.LanguageModel:
    return opened(files, sequences=2)


def test_facts(model: ht.LanguageModel, files: Path) -> None:
    assert model.name == str(files)
    assert (model.vocabulary, model.context, model.sequences) == (VOCABULARY, 64, 2)
    assert model.begin_token == 1
    assert model.is_end_token(2) and not model.is_end_token(SPACE)
    assert model.bytes_per_token(10) > model.bytes_per_token() > 0
    assert repr(model) == f"<halftone.LanguageModel '{files}': 260 tokens, context 64>"
    assert opened(files, context=20).context == 20


def test_devices_have_the_same_logits(model: ht.LanguageModel, files: Path) -> None:
    found = ht.devices()
    assert found[0].id == "cpu" and found[0].problem is None
    want = model.append([1, SPACE, token_of("a")])
    for device in found:
        if device.problem is None:
            there = opened(files, device=device.id)
            assert there.device == device.id
            np.testing.assert_array_equal(there.append([1, SPACE, token_of("a")]), want)
    assert opened(files, device="auto").device in {device.id for device in found}
    with pytest.raises(RuntimeError, match="no device opencl:99"):
        opened(files, device="opencl:99")


def test_devices_are_those_of_the_program(program: Program) -> None:
    rows = json.loads(program("devices", "--json"))["devices"]
    assert [row["id"] for row in rows] == [device.id for device in ht.devices()]
    assert [row["problem"] for row in rows] == [device.problem for device in ht.devices()]


def test_text_becomes_tokens_and_back(model: ht.LanguageModel) -> None:
    assert model.tokenize("ab") == [1, SPACE, token_of("a"), token_of("b")]
    assert model.tokenize("ab", begin=False) == [SPACE, token_of("a"), token_of("b")]
    assert model.detokenize(model.tokenize("é b")) == "é b"
    assert model.detokenize(np.array([3 + 0xC3])) == "\N{REPLACEMENT CHARACTER}"
    assert model.token_bytes(3 + 0xC3) == b"\xc3"
    with pytest.raises(ValueError, match="260"):
        model.detokenize([260])
    with pytest.raises(TypeError):
        model.detokenize([1.5])  # type: ignore[list-item]


def test_logits_do_not_depend_on_the_calls(model: ht.LanguageModel) -> None:
    tokens = model.tokenize("Hello there")
    every = model.append(tokens, all=True)
    assert every.shape == (len(tokens), VOCABULARY) and every.dtype == np.float32
    model.append([5, 6], sequence=1)
    model.truncate(0, sequence=1)
    one_by_one = np.stack([model.append([token], sequence=1) for token in tokens])
    np.testing.assert_array_equal(every, one_by_one)
    assert model.tokens() == model.tokens(1) == tokens


def test_sequences_share_runs(model: ht.LanguageModel) -> None:
    alone = np.stack([model.append([5, 6, 7]), model.append([8], sequence=1)])
    model.truncate(0)
    model.truncate(0, sequence=1)
    np.testing.assert_array_equal(model.append_each({1: [5, 6, 7], 0: [8]}), alone)
    assert (model.tokens(), model.tokens(1)) == ([8], [5, 6, 7])
    assert model.append_each({}).shape == (0, VOCABULARY)
    with pytest.raises(ValueError, match="sequence: expected 0 to 1, found 2"):
        model.append_each({0: [5], 2: [5]})
    assert model.tokens() == [8]


def test_texts_become_vectors(model: ht.LanguageModel) -> None:
    vectors = model.embed(["Once", "upon a time", "Once"])
    assert vectors.dtype == np.float32
    np.testing.assert_array_equal(vectors[0], vectors[2])
    np.testing.assert_array_equal(model.embed("upon a time"), vectors[1])
    np.testing.assert_allclose((vectors**2).sum(1), 1, atol=1e-6)
    short = model.embed(["Once"], dimensions=3)[0]
    np.testing.assert_allclose(short, vectors[0, :3] / np.linalg.norm(vectors[0, :3]), atol=1e-6)
    assert model.tokens() == []
    with pytest.raises(ValueError, match="dimensions: expected 1 to"):
        model.embed("a", dimensions=1000)
    with pytest.raises(ValueError, match="text 0: expected 1 to 64 tokens"):
        model.embed("a" * 99)


def test_biases_and_penalties_change_what_is_drawn(model: ht.LanguageModel) -> None:
    plain = model.generate("Once", max_tokens=8).tokens
    never = model.generate("Once", max_tokens=8, logit_bias={plain[0]: -100}).tokens
    assert plain[0] not in never
    always = model.generate("Once", max_tokens=3, logit_bias={7: 1000}).tokens
    assert always == [7, 7, 7]
    repeated = model.generate("Once", max_tokens=9, logit_bias={7: 50}, frequency_penalty=-2).tokens
    assert repeated == [7] * 9
    with pytest.raises(ValueError, match="frequency_penalty: expected -2 to 2, found 3"):
        model.generate("Once", frequency_penalty=3)


def test_errors_leave_sequences_alone(model: ht.LanguageModel) -> None:
    model.append([5, 6])
    for tokens, sequence, text in (([260], 0, "token: expected 0 to 259, found 260"),
                                   ([5], 2, "sequence: expected 0 to 1, found 2"),
                                   ([], 0, "at least one token")):
        with pytest.raises(ValueError, match=text):
            model.append(tokens, sequence=sequence)
    with pytest.raises(NotImplementedError, match="the context is full"):
        model.append([5] * 63)
    with pytest.raises(ValueError, match="length"):
        model.truncate(3)
    with pytest.raises(ValueError, match="sequence"):
        model.tokens(2)
    with pytest.raises(ValueError, match=r"expected at most 64 tokens.*found 102 \(context=\)"):
        model.generate("x" * 100)
    with pytest.raises(ValueError, match="a token at least"):
        model.generate(None, sequence=1)
    assert model.tokens() == [5, 6]


def test_opening_says_what_is_wrong(files: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="none.gguf"):
        ht.LanguageModel.open(tmp_path / "none.gguf")
    with pytest.raises(ValueError, match="tokenizer"):
        ht.LanguageModel.open(files)
    with pytest.raises(ValueError, match="cache: expected 'float32'"):
        opened(files, cache="int2")
    with pytest.raises(ValueError, match="context"):
        opened(files, context=0)
    with pytest.raises(ValueError, match="threads"):
        opened(files, threads=0)


def test_caches_of_fewer_bits_read_less(files: Path) -> None:
    caches = ("float32", "float16", "int8", "int6", "int4")
    models = [opened(files, cache=cache) for cache in caches]
    sizes = [model.bytes_per_token(50) for model in models]
    assert sizes == sorted(set(sizes), reverse=True)
    logits = [model.append([1, SPACE, token_of("a"), 7]).tobytes() for model in models]
    assert len(set(logits)) == len(models)


def test_greedy_tokens_have_the_highest_logits(model: ht.LanguageModel) -> None:
    logits = model.append(model.tokenize("Once"), sequence=1)
    expected: list[int] = []
    while len(expected) < 9 and not (expected and model.is_end_token(expected[-1])):
        expected.append(int(logits.argmax()))
        logits = model.append(expected[-1:], sequence=1)
    pieces: list[str] = []
    heard: list[int | None] = []
    found = model.generate("Once", max_tokens=9, on_text=pieces.append,
                           on_token=lambda token, _: heard.append(token))
    assert found.tokens == expected
    assert [token for token in heard if token is not None] == expected
    assert "".join(pieces) == found.text == str(found)
    assert all(pieces)
    assert found.prompt_tokens == 6 and found.reused_tokens == 0
    tokens = model.generate(model.tokenize("Once"), max_tokens=9)
    assert tokens.tokens == expected and tokens.reused_tokens == 5
    model.truncate(6)
    assert model.generate(None, max_tokens=9).tokens == expected
    assert repr(found) == f"<halftone.Generation: {len(expected)} tokens, end: {found.end}>"


def test_options_of_sampling(model: ht.LanguageModel) -> None:
    draw: ht.GenerateOptions = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0,
                                "repeat_penalty": 1.2, "repeat_window": 9, "max_tokens": 12}
    drawn = [model.generate("x", seed=seed, **draw).tokens for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    plain = model.generate("x", seed=1, lookup=0, **draw)
    assert (plain.tokens, plain.guessed_tokens, plain.accepted_tokens) == (drawn[0], 0, 0)
    text = model.generate("x", max_tokens=12).text
    found = model.generate("x", max_tokens=12, stop=text[4])
    assert (found.text, found.end) == (text[: text.index(text[4])], "text")
    with pytest.raises(ValueError, match="temperature"):
        model.generate("x", temperature=-1.0)
    with pytest.raises(TypeError, match="unexpected option 'heat'"):
        model.generate("x", heat=1.0)  # type: ignore[call-arg]


def test_a_draft_changes_no_text(model: ht.LanguageModel, tmp_path: Path) -> None:
    sizes = {"model": 128, "draft": 32}
    for name, width in sizes.items():
        write_tiny_gguf(tmp_path / f"{name}.gguf", width=width, words=("ab",))
    alone = ht.LanguageModel.open(tmp_path / "model.gguf")
    drafted = ht.LanguageModel.open(
        tmp_path / "model.gguf", sequences=2, draft=tmp_path / "draft.gguf"
    )
    guessed = 0
    assert model.context == 64  # and this build has language models
    for seed in range(8):
        draw: ht.GenerateOptions = {"temperature": 1.0, "seed": seed, "max_tokens": 40, "lookup": 0}
        found = drafted.generate("x", sequence=seed % 2, **draw)
        assert found.tokens == alone.generate("x", **draw).tokens
        guessed += found.guessed_tokens
    assert guessed > 0
    for words, difference in ((("ab", "cd"), "260, found 261"), (("cd",), "token 259: cd ")):
        write_tiny_gguf(tmp_path / "other.gguf", words=words)
        with pytest.raises(ValueError, match=f"other.gguf: a draft has the tokens.*{difference}"):
            ht.LanguageModel.open(tmp_path / "model.gguf", draft=tmp_path / "other.gguf")


def test_texts_follow_schemas_and_grammars(model: ht.LanguageModel) -> None:
    schema = {"type": "array", "items": {"enum": [1, "two"]}, "minItems": 2, "maxItems": 3}
    for seed in range(5):
        found = model.generate("x", json_schema=json.dumps(schema), temperature=2, seed=seed)
        assert found.end == "token"
        items = json.loads(found.text)
        assert 2 <= len(items) <= 3 and set(items) <= {1, "two"}
    assert model.generate("x", grammar='root ::= "a" [b-d]').text in ("ab", "ac", "ad")
    assert model.generate("x", regex="(?!b)[ab]|cd").text in ("a", "cd")
    with pytest.raises(ValueError, match="expected one of a JSON schema, a grammar and a regular"):
        model.generate("x", json_schema="json", grammar='root ::= "a"')
    with pytest.raises(NotImplementedError, match="'if' is not supported"):
        model.generate("x", json_schema='{"if": {}}')
    with pytest.raises(ValueError, match="pattern 'a\\)', at 1: expected the end"):
        model.generate("x", regex="a)")


def test_callbacks_stop_and_raise(model: ht.LanguageModel) -> None:
    whole = model.generate("x", max_tokens=12)
    calls: list[str] = []
    found = model.generate("x", on_text=lambda text: calls.append(text) or len(calls) < 3)
    assert found.end == "interrupted"
    assert whole.text.startswith("".join(calls))

    def fail(text: str) -> None:
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        model.generate("x", on_text=fail)
    assert model.generate("x", max_tokens=12).tokens == whole.tokens
    with pytest.raises(ValueError, match="one thread at a time"):
        model.generate("x", on_text=lambda _: model.tokens())


def test_streams(model: ht.LanguageModel) -> None:
    whole = model.generate("x", max_tokens=12).text
    assert "".join(model.stream("x", max_tokens=12)) == whole
    before = threading.active_count()
    stream = model.stream("x")
    assert whole.startswith(next(stream))
    stream.close()  # type: ignore[attr-defined]
    assert threading.active_count() == before
    with pytest.raises(ValueError, match="which is the context"):
        list(model.stream("x" * 100))


def test_conversations(files: Path, tmp_path: Path) -> None:
    wide = tmp_path / "wide.bin"
    write_tiny_model(wide, context=400)
    model = opened(wide)
    with pytest.raises(NotImplementedError, match=r"has no chat template.*\(template=\)"):
        model.chat()
    jinja = "{% for m in messages %}<{{ m.role }}>{{ m.content|trim }}{% endfor %}"
    asked = [{"role": "user", "content": " Hi "}]
    assert model.chat_prompt(asked, template=jinja) == "<user>Hi"
    (tmp_path / "t.jinja").write_text(jinja)
    assert model.chat_prompt(asked, template=str(tmp_path / "t.jinja")) == "<user>Hi"
    with pytest.raises(ValueError, match="chat template: line 1: no"):
        model.chat_prompt(asked, template="{{ raise_exception('no') }}")
    chat = model.chat(system="Be brief.", template="zephyr", max_tokens=3)
    first = chat.answer("Hi")
    second = chat.answer("Ho")
    assert second.reused_tokens > first.prompt_tokens
    assert [message["role"] for message in chat.messages] == [
        "system", "user", "assistant", "user", "assistant"]
    assert chat.messages[2]["content"] == first.text
    start = chat.messages[:2]
    assert model.answer(start, template="zephyr", max_tokens=3).tokens == first.tokens
    assert "Be brief." in model.chat_prompt(start, template="zephyr")
    assert "".join(chat.stream("Ha")) == chat.messages[-1]["content"]
    with pytest.raises(ValueError, match="which is the context"):
        chat.answer("x" * 500)
    assert len(chat.messages) == 7
    with pytest.raises(NotImplementedError, match="expected messages with a role, system, user"):
        model.answer([{"role": "nobody", "content": ""}], template="zephyr")


def test_conversations_with_tools(model: ht.LanguageModel) -> None:
    jinja = ("{% for t in tools or [] %}[{{ t.name }}]{% endfor %}{% for m in messages %}"
             "<{{ m.role }}>{{ m.content }}|{% endfor %}{% if brief %}briefly{% endif %}"
             "{% if add_generation_prompt %}<assistant>{% endif %}")
    asked = [{"role": "user", "content": "Hi"}]
    inputs: ht.ChatInputs = {"tools": [{"name": "clock"}], "variables": {"brief": True}}
    prompt = model.chat_prompt(asked, template=jinja, inputs=inputs)
    assert prompt == "[clock]<user>Hi|briefly<assistant>"
    assert model.chat_prompt(asked, template=jinja, add_generation_prompt=False) == "<user>Hi|"
    begun = [*asked, {"role": "assistant", "content": "Well, "}]
    going_on: ht.ChatInputs = {"continue_final_message": True}
    prompt = model.chat_prompt(begun, template=jinja, inputs=going_on)
    assert prompt == "<user>Hi|<assistant>Well, "
    found = model.answer(begun, template=jinja, inputs=going_on, max_tokens=2)
    assert found.tokens == model.generate(prompt, max_tokens=2).tokens
    with pytest.raises(NotImplementedError, match="zephyr: has no tools"):
        model.chat_prompt(asked, template="zephyr", inputs=inputs)


def test_evaluation(model: ht.LanguageModel, files: Path) -> None:
    text = "Once upon a time " * 8
    found = model.evaluate_text(text, progress=False)
    assert found.windows == 3 and found.reference is None
    assert found.perplexity > 1 and found.standard_error > 0
    assert str(found).startswith("perplexity ")
    beside = model.evaluate_text(text, window=30, stride=15, reference=opened(files),
                                 progress=False)
    assert beside.reference is not None and beside.reference["kl_divergence"]["value"] == 0
    shares: list[float] = []
    model.evaluate_text(text, window=10, max_windows=2, progress=lambda f, _: shares.append(f))
    assert shares
    with pytest.raises(ValueError, match="expected another model"):
        model.evaluate_text(text, reference=model)


def test_speed(model: ht.LanguageModel) -> None:
    found = model.measure_speed(prompt=10, generate=6, depths=[0, 20], progress=False)
    assert [each.depth for each in found.depths] == [0, 20]
    assert found.depths[1].prompt_tokens_per_second > 0 < found.depths[1].tokens_per_second
    assert (found.prompt_tokens, found.generated_tokens) == (10, 6)
    assert found.ranks == ()
    several = model.measure_speed(prompt=0, generate=2, ranks=[2, 4], links=[100], latencies=[2],
                                  progress=False).ranks  # fmt: skip
    assert [(each.ranks, each.link) for each in several] == [(2, 100), (4, 100)]
    assert several[0].weight_bytes > several[1].weight_bytes and several[0].tokens_per_second > 0
    with pytest.raises(ValueError, match="one for each of 2 links"):
        model.measure_speed(ranks=[2], latencies=[2])
    read = model.measure_speed(prompt=4, generate=0, progress=False)
    assert read.depths[0].tokens_per_second is None and "tokens in front" in str(read)
    with pytest.raises(ValueError, match="found nothing to measure"):
        model.measure_speed(prompt=0, generate=0)
    with pytest.raises(ValueError, match="which is the context"):
        model.measure_speed(depths=[10**6])
    with pytest.raises(TypeError, match="depths"):
        model.measure_speed(depths=[0.5])  # type: ignore[list-item]


def test_numbers_are_those_of_the_program(
    files: Path, program: Program, tmp_path: Path
) -> None:
    model = opened(files)
    options = (files, "--tokenizer", files.with_suffix(".tokenizer"), "--json")
    for words, how in ((("-n", 20), {"max_tokens": 20}),
                       (("-n", 20, "--temperature", 0.9, "--seed", 7),
                        {"max_tokens": 20, "temperature": 0.9, "seed": 7})):
        printed = json.loads(program("generate", *options, "-p", "Once", *words))
        found = model.generate("Once", **how)  # type: ignore[arg-type]
        assert (found.tokens, found.text, found.end) == (
            printed["tokens"], printed["text"], printed["end"])
    path = tmp_path / "text.txt"
    path.write_text("Once upon a time " * 8)
    printed = json.loads(program("eval", *options, "--text", path, "--context", 40))
    assert json.loads(opened(files).evaluate_text(path.read_text(), window=40).to_json()) == printed


def test_control_c_ends_a_generation(tmp_path: Path) -> None:
    path = tmp_path / "long.bin"
    write_tiny_model(path, context=200000)
    opened(path, context=20)
    script = textwrap.dedent(f"""
        import halftone as ht
        model = ht.LanguageModel.open({str(path)!r}, context=200000,
                                      tokenizer={str(path.with_suffix(".tokenizer"))!r})
        try:
            print("ready", flush=True)
            model.generate("x", max_tokens=200000, temperature=1.0)
            print("finished")
        except KeyboardInterrupt:
            assert len(model.tokens()) > 2
            model.truncate(2)
            assert model.generate(None, max_tokens=3).tokens
            print("interrupted")
    """)
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True,
                               env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert out == "interrupted\n"


def test_other_threads_run_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "long.bin"
    write_tiny_model(path, context=2000)
    model = opened(path)
    started = threading.Event()
    worker = threading.Thread(
        target=lambda: model.generate("x", max_tokens=300, temperature=1.0,
                                      on_token=lambda *_: started.set()))
    worker.start()
    assert started.wait(30)
    counted = 0
    while worker.is_alive():
        counted += 1
    worker.join()
    assert counted > 0


def test_the_example(files: Path) -> None:
    opened(files)
    command = [sys.executable, str(ROOT / "examples" / "python" / "chat.py"), str(files),
               "--tokenizer", str(files.with_suffix(".tokenizer")), "--template", "zephyr"]
    done = subprocess.run(command, input="Hi\n", capture_output=True, text=True, timeout=60,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    model = opened(files)
    answer = model.answer([{"role": "user", "content": "Hi"}], template="zephyr", max_tokens=200)
    assert (done.stdout, done.returncode) == (answer.text + "\n", 0), done.stderr


def test_stories_are_told_as_llama2c_does() -> None:
    folder = Path(os.environ.get("HALFTONE_DATA", ROOT.parent / "shared" / "data")) / "models"
    if not (folder / "stories260K.bin").exists():
        pytest.skip("no stories260K.bin; HALFTONE_DATA names the folder")
    try:
        model = ht.LanguageModel.open(folder / "stories260K.bin", tokenizer=folder / "tok512.bin")
    except NotImplementedError as error:
        pytest.skip(str(error))
    story = model.generate("Once upon a time", max_tokens=40)
    assert story.text.startswith(
        ", there was a little girl named Lily. She loved to play outside in the park.")
