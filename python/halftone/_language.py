# SPDX-License-Identifier: Apache-2.0
"""Language models: tokens, logits, texts, conversations, perplexity."""

from __future__ import annotations

import json
import operator
import os
import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from . import _halftone as native
from ._arguments import checked
from ._fields import check_options, described, documented, fields_of, set_fields
from ._jobs import check_threads
from ._progress import Progress, ProgressCallback
from ._reports import Generation, LanguageSpeed, TextEvaluation

Path: TypeAlias = str | os.PathLike[str]
Cache: TypeAlias = Literal["float32", "float16", "int8", "int6", "int4"]
#: {"role": "user", "content": text}, with what else a template reads, such as "tool_calls"
Message: TypeAlias = Mapping[str, Any]
#: Called with each piece of a text; False stops the generation.
OnText: TypeAlias = Callable[[str], object]
#: Called with each token, or None, and the text that is certain with it; False stops.
OnToken: TypeAlias = Callable[[int | None, str], object]


class ChatInputs(TypedDict, total=False):
    """What belongs to a conversation, as apply_chat_template() of transformers takes it.

    tools: descriptions of functions, each a dict; documents: dicts that the template reads.
    continue_final_message: True continues the last message instead of answering it.
    variables: more for the template, such as {"enable_thinking": False}. Texts never become control
    tokens.
    """

    tools: Sequence[Mapping[str, Any]] | None
    documents: Sequence[Mapping[str, Any]] | None
    continue_final_message: bool
    variables: Mapping[str, Any] | None


@documented("open")
class LanguageModelOptions(TypedDict, total=False):
    """Options of LanguageModel.open()."""

    tokenizer: Path | None
    context: int | None
    sequences: int
    cache: Cache
    float_activations: bool
    lora: Path | None
    draft: Path | None
    bits: int | None
    device: str


@documented("generate")
class GenerateOptions(TypedDict, total=False):
    """Options of generate(), stream(), answer() and chat().

    A token is drawn in these steps on the logits l, each on the tokens that those before it have
    left: l + logit_bias[token]; l of the last repeat_window tokens becomes l / repeat_penalty if l > 0, else l *
    repeat_penalty; l - presence_penalty - n frequency_penalty of a token that was written n times,
    the prompt aside; the top_k highest logits; the fewest of the most probable tokens whose
    probabilities sum to top_p or more; tokens at least min_p times as probable as the most probable
    one; at last, the probabilities are softmax(l / temperature). The same options and tokens give
    the same text on every processor.

    stop (default ()): Texts in front of which the result ends. logit_bias (default {}): Numbers to
    add to logits, by token; -100 and less: it is never drawn, if others are. max_tokens of an answer is 0 by
    default: until the context is full.
    """

    max_tokens: int
    temperature: float
    top_k: int
    top_p: float
    min_p: float
    repeat_penalty: float
    repeat_window: int
    presence_penalty: float
    frequency_penalty: float
    logit_bias: Mapping[int, float]
    seed: int
    stop: str | Sequence[str]
    json_schema: str | None
    grammar: str | None
    regex: str | None
    sequence: int
    control: bool
    lookup: int


#: Until the context is full.
_WHOLE_ANSWER: GenerateOptions = {"max_tokens": 0}


def _how(
    options: GenerateOptions,
    on_text: OnText | None,
    on_token: OnToken | None,
    defaults: GenerateOptions | None = None,
) -> native.GenerateArguments:
    check_options(options, GenerateOptions)
    how = native.GenerateArguments()
    given: dict[str, Any] = {**(defaults or {}), **options}
    stop = given.pop("stop", ())
    how.stops = [stop] if isinstance(stop, str) else list(stop)
    bias = given.pop("logit_bias", {})
    how.set_logit_bias([int(token) for token in bias], [float(x) for x in bias.values()])
    set_fields(how, given)
    how.on_token = _callback(on_text, on_token)
    return how


def _callback(on_text: OnText | None, on_token: OnToken | None) -> OnToken | None:
    if on_text is None:
        return on_token

    def call(token: int | None, text: str) -> bool:
        goes_on = not text or on_text(text) is not False
        return goes_on and (on_token is None or on_token(token, text) is not False)

    return call


def _request(messages: Sequence[Message], inputs: Mapping[str, Any]) -> str:
    request = {**(inputs.get("variables") or {}), **inputs, "messages": list(messages)}
    request.pop("variables", None)
    given = {name: value for name, value in request.items() if value is not None}
    return json.dumps(given, default=_no_json)


def _no_json(value: object) -> None:
    raise TypeError(
        "messages, inputs: expected texts, numbers, booleans, lists and dicts, found "
        f"{type(value).__name__}"
    )


class LanguageModel:
    """A language model with its tokenizer, and the sequences of tokens that it remembers.

    Functions that are given a prompt reuse the tokens at its front that the sequence has. Logits
    depend on the tokens of their sequence alone, bit for bit: not on how they were divided into
    calls, nor on threads, other sequences or the processor. One thread at a time may use a model;
    the GIL is free while it runs. Ctrl-C ends a generation.
    """

    def __init__(self, model: native.LanguageModel):
        if not isinstance(model, native.LanguageModel):
            raise TypeError("a language model is opened by LanguageModel.open(path)")
        self._model = model

    @classmethod
    @checked
    def open(
        cls,
        path: Path,
        *,
        threads: int | None = None,
        **options: Unpack[LanguageModelOptions],
    ) -> LanguageModel:
        """Opens a GGUF file, a folder of Hugging Face, or a *.bin file of llama2.c.

        threads: None for all cores; changes no result.
        options: those of LanguageModelOptions. Logits have the same bits on every device.
        """
        check_options(options, LanguageModelOptions)
        how = native.OpenArguments()
        set_fields(how, options)
        how.threads = check_threads(threads)
        try:
            return cls(native.LanguageModel.open(os.fsdecode(path), how))
        except OSError as error:
            if os.path.exists(path):
                raise
            raise FileNotFoundError(str(error)) from None

    @property
    def name(self) -> str:
        """In messages: the path of the file."""
        return self._model.name

    @property
    def device(self) -> str:
        """Where it runs: "cpu", "cuda" or "opencl:0"."""
        return self._model.device

    @property
    def vocabulary(self) -> int:
        """Logits for each token."""
        return self._model.vocabulary

    @property
    def context(self) -> int:
        """Tokens that a sequence may have."""
        return self._model.context

    @property
    def sequences(self) -> int:
        """Sequences that the model remembers."""
        return self._model.sequences

    @property
    def begin_token(self) -> int | None:
        """The token in front of every text, if there is one."""
        token = self._model.begin_token
        return None if token < 0 else token

    @checked
    def is_end_token(self, token: int) -> bool:
        """Whether a text or an answer ends with the token."""
        return self._model.is_end_token(token)

    @checked
    def tokenize(self, text: str, *, begin: bool = True, control: bool = False) -> list[int]:
        """The tokens of a text.

        begin: with the token in front that begins a text, if the model has one.
        control: finds control tokens such as "<|im_start|>"; else they are plain text.
        """
        return self._model.tokenize(text, begin, control)

    @checked
    def detokenize(self, tokens: Sequence[int]) -> str:
        """The text of tokens. Control tokens have none; bytes that are no UTF-8 become U+FFFD."""
        return self._model.detokenize(_ids(tokens)).decode(errors="replace")

    @checked
    def token_bytes(self, token: int) -> bytes:
        """The bytes of one token in the middle of a text; of a control token its name."""
        return self._model.token_bytes(token)

    @checked
    def append(
        self, tokens: Sequence[int], *, sequence: int = 0, all: bool = False
    ) -> npt.NDArray[np.float32]:
        """Appends tokens to a sequence, and returns the logits of the token that follows.

        all: those of the tokens that follow each, [tokens, vocabulary]; else [vocabulary]. If it
        fails, the sequence is as it was.
        """
        ids = _ids(tokens)
        shape = (len(ids), self.vocabulary) if all else (self.vocabulary,)
        logits = np.empty(shape, np.float32)
        self._model.append(ids, sequence, all, logits)
        return logits

    @checked
    def append_each(self, parts: Mapping[int, Sequence[int]]) -> npt.NDArray[np.float32]:
        """Appends tokens to each of several sequences, in runs that they share.

        Weights are read once for all, and each gets the logits that it gets alone.

        parts: tokens by sequence, such as {0: [5], 2: [7, 8]}. Returns the logits of the tokens
        that follow each, [len(parts), vocabulary]. If it fails, all sequences are as they were.
        """
        ids = [_ids(tokens) for tokens in parts.values()]
        logits = np.empty((len(ids), self.vocabulary), np.float32)
        self._model.append_each([_sequence(key) for key in parts], ids, logits)
        return logits

    @checked
    def embed(
        self, texts: str | Sequence[str], *, dimensions: int = 0
    ) -> npt.NDArray[np.float32]:
        """Vectors of texts, each of length 1: the product of two is their similarity.

        They are the mean of the hidden rows behind the final norm, or the row of the first or the
        last token where the files say so. Each is the same whatever the others are.

        dimensions: the first numbers only, of length 1 again; 0: all. Returns [len(texts),
        dimensions], of one text [dimensions].
        """
        all_texts = [texts] if isinstance(texts, str) else list(texts)
        full = self._model.embedding_width()
        width = min(dimensions, full) or full
        vectors = np.empty((len(all_texts), width), np.float32)
        self._model.embed(all_texts, dimensions, vectors)
        return vectors[0] if isinstance(texts, str) else vectors

    @checked
    def tokens(self, sequence: int = 0) -> list[int]:
        """The tokens of a sequence."""
        return self._model.tokens(sequence)

    @checked
    def truncate(self, length: int, *, sequence: int = 0) -> None:
        """Forgets all tokens of a sequence from `length` on."""
        self._model.truncate(length, sequence)

    @checked
    def bytes_per_token(self, length: int = 0) -> int:
        """Bytes of weights, keys and values that one more token reads behind `length` tokens."""
        return self._model.bytes_per_token(length)

    @checked
    def generate(
        self,
        prompt: str | Sequence[int] | None,
        *,
        on_text: OnText | None = None,
        on_token: OnToken | None = None,
        **options: Unpack[GenerateOptions],
    ) -> Generation:
        """Continues a text, or tokens; None: the tokens that the sequence has.

        on_text: called with each piece of the text as it is written; False stops.
        on_token: called with each token and its text; with None before each 256 tokens of the
        prompt, and for text that remains at the end. False stops.
        options: those of GenerateOptions.
        """
        how = _how(options, on_text, on_token)
        if isinstance(prompt, str):
            return Generation(self._model.generate(prompt, how))
        tokens = None if prompt is None else _ids(prompt)
        return Generation(self._model.generate_from(tokens, how))

    @checked
    def stream(
        self, prompt: str | Sequence[int] | None, **options: Unpack[GenerateOptions]
    ) -> Iterator[str]:
        """The pieces of generate() as they are written, by a thread that ends with the iterator."""
        yield from _stream(lambda on_text: self.generate(prompt, on_text=on_text, **options))

    @checked
    def answer(
        self,
        messages: Sequence[Message],
        *,
        template: str | None = None,
        inputs: ChatInputs | None = None,
        forgets: bool = False,
        on_text: OnText | None = None,
        on_token: OnToken | None = None,
        **options: Unpack[GenerateOptions],
    ) -> Generation:
        """Answers the last message of a conversation, written as the template of the model says.

        messages: the whole conversation, such as [{"role": "user", "content": "Hi"}]; what the
        sequence has of it is not read again. Control tokens in contents are plain text.
        template: "chatml", "llama3", ..., a template in Jinja or a file with one; None: that of
        the model.
        inputs: tools, documents and other ChatInputs.
        forgets: where a conversation leaves less than a quarter of the context for the answer, or
        max_tokens if that is less, its oldest turns are left out until it takes half.
        """
        how = _how(options, on_text, on_token, _WHOLE_ANSWER)
        how.forgets = forgets
        how.chat_template = template or ""
        return Generation(self._model.answer(_request(messages, inputs or {}), how))

    @checked
    def chat(
        self,
        *,
        system: str | None = None,
        template: str | None = None,
        inputs: ChatInputs | None = None,
        **options: Unpack[GenerateOptions],
    ) -> Chat:
        """A conversation. system: a message that tells the model what it is."""
        return Chat(self, system, template, inputs, options)

    @checked
    def chat_prompt(
        self,
        messages: Sequence[Message],
        *,
        template: str | None = None,
        inputs: ChatInputs | None = None,
        add_generation_prompt: bool | None = None,
    ) -> str:
        """The text that answer() has the model continue.

        add_generation_prompt: False ends it behind the last message.
        """
        more = {**(inputs or {}), "add_generation_prompt": add_generation_prompt}
        return self._model.chat_prompt(_request(messages, more), template or "")

    @checked
    @described("evaluate_text")
    def evaluate_text(
        self,
        text: str,
        *,
        window: int | None = None,
        stride: int | None = None,
        max_windows: int | None = None,
        second_half: bool = False,
        reference: LanguageModel | None = None,
        progress: bool | ProgressCallback = True,
    ) -> TextEvaluation:
        """Perplexity of a text. Sequence 0 is overwritten.

        FIELDS
        A window is no longer than the context unless it is given.
        reference: another model with the same tokenizer, to compare with.
        """
        other = None if reference is None else reference._model
        with Progress(progress) as callback:
            how = native.EvaluateTextArguments()
            usual = min(fields_of("evaluate_text")["window"].default, self.context)
            set_fields(how, {"window": usual if window is None else window, "stride": stride,
                             "max_windows": max_windows, "second_half": second_half})  # fmt: skip
            how.progress = callback
            return TextEvaluation(self._model.evaluate(text, other, how))

    @checked
    @described("measure_speed")
    def measure_speed(
        self,
        *,
        prompt: int = 512,
        generate: int = 128,
        depths: Sequence[int] = (0,),
        seed: int = 0,
        ranks: Sequence[int] | None = None,
        links: Sequence[float] = (10, 100),
        latencies: Sequence[float] = (25, 2),
        progress: bool | ProgressCallback = True,
    ) -> LanguageSpeed:
        """Tokens that the model reads and writes in a second. Sequence 0 is overwritten.

        FIELDS
        """
        with Progress(progress) as callback:
            how = native.SpeedArguments()
            set_fields(how, {"prompt": prompt, "generate": generate, "depths": depths,
                             "seed": seed, "ranks": ranks, "links": links,
                             "latencies": latencies})  # fmt: skip
            how.progress = callback
            return LanguageSpeed(self._model.measure_speed(how))

    def __repr__(self) -> str:
        return (
            f"<halftone.LanguageModel '{self.name}': {self.vocabulary} tokens, "
            f"context {self.context}>"
        )


class Chat:
    """A conversation with a language model; LanguageModel.chat() makes one."""

    @checked
    def __init__(
        self,
        model: LanguageModel,
        system: str | None,
        template: str | None,
        inputs: ChatInputs | None,
        options: GenerateOptions,
    ):
        _how(options, None, None)  # refuses other options before the first message
        model.chat_prompt([{"role": "user", "content": ""}], template=template, inputs=inputs)
        self._model = model
        self._template = template
        self._inputs = inputs
        self._options = options
        self._messages: list[Message] = []
        if system:
            self._messages.append({"role": "system", "content": system})

    @property
    def messages(self) -> list[Message]:
        """The conversation so far."""
        return list(self._messages)

    @checked
    def answer(
        self, message: str, *, on_text: OnText | None = None, on_token: OnToken | None = None
    ) -> Generation:
        """Answers a message. If this fails, the conversation is as it was.

        Oldest turns are forgotten where the context is too short, as in LanguageModel.answer().

        The seed of answer i is seed + i. on_text, on_token: as in LanguageModel.generate().
        """
        conversation = [*self._messages, {"role": "user", "content": message}]
        options: Any = self._options
        found = self._model.answer(
            conversation,
            template=self._template,
            inputs=self._inputs,
            forgets=True,
            on_text=on_text,
            on_token=on_token,
            **options,
        )
        first = 1 if conversation[0]["role"] == "system" else 0
        kept = [*conversation[:first], *conversation[first + found.forgotten_messages :]]
        self._messages = [*kept, {"role": "assistant", "content": found.text}]
        self._options = {**self._options, "seed": self._options.get("seed", 0) + 1}
        return found

    @checked
    def stream(self, message: str) -> Iterator[str]:
        """The pieces of answer() as they are written. It counts once the iterator has ended."""
        yield from _stream(lambda on_text: self.answer(message, on_text=on_text))


def _sequence(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"parts: expected numbers of sequences, found {value!r}")
    if not 0 <= value < 1 << 63:
        raise ValueError(f"parts: expected numbers of sequences, found {value}")
    return int(value)


def _ids(tokens: Sequence[int]) -> list[int]:
    ids = [operator.index(token) for token in tokens]
    for token in ids:
        if not 0 <= token < 1 << 31:
            raise ValueError(f"tokens: expected numbers of tokens, found {token}")
    return ids


def _stream(generate: Callable[[OnText], Any]) -> Iterator[str]:
    pieces: queue.SimpleQueue[str | BaseException | None] = queue.SimpleQueue()
    stopped = threading.Event()

    def on_text(piece: str) -> bool:
        pieces.put(piece)
        return not stopped.is_set()

    def run() -> None:
        try:
            generate(on_text)
            pieces.put(None)
        except BaseException as error:
            pieces.put(error)

    thread = threading.Thread(target=run, name="halftone stream")
    thread.start()
    try:
        while (piece := pieces.get()) is not None:
            if isinstance(piece, BaseException):
                raise piece
            yield piece
    finally:
        stopped.set()
        thread.join()
