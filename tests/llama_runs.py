# SPDX-License-Identifier: Apache-2.0
"""Runs GGUF files in llama.cpp, for tests. Import it inside a test that skips without packages."""

import os
import pathlib

import llama_cpp as lib
import numpy as np

SILENT = lib.llama_log_callback(lambda level, message, user_data: None)


def start() -> None:
    lib.llama_log_set(SILENT, None)
    lib.llama_backend_init()


class LlamaModel:
    """A model with a context of some tokens, whose keys and values are float32."""

    def __init__(self, file: pathlib.Path, context: int, flash_attention: bool = True):
        self.model = lib.llama_model_load_from_file(str(file).encode(),
                                                    lib.llama_model_default_params())
        assert self.model, f"{file}: llama.cpp does not load it"
        settings = lib.llama_context_default_params()
        settings.n_ctx = settings.n_batch = settings.n_ubatch = context
        settings.type_k = settings.type_v = lib.GGML_TYPE_F32
        settings.n_threads = settings.n_threads_batch = os.cpu_count()
        if not flash_attention:
            settings.flash_attn_type = lib.LLAMA_FLASH_ATTN_TYPE_DISABLED
        self.context = lib.llama_init_from_model(self.model, settings)
        self.vocabulary = lib.llama_model_get_vocab(self.model)

    def __enter__(self) -> "LlamaModel":
        return self

    def __exit__(self, *error: object) -> None:
        lib.llama_free(self.context)
        lib.llama_model_free(self.model)

    def tokens(self, text: bytes) -> list[int]:
        ids = (lib.llama_token * len(text))()
        count = lib.llama_tokenize(self.vocabulary, text, len(text), ids, len(text), True, False)
        return ids[:count]

    def logits(self, tokens: list[int]) -> np.ndarray:
        """Of each token, float32 [tokens, vocabulary]."""
        lib.llama_memory_clear(lib.llama_get_memory(self.context), True)
        batch = lib.llama_batch_init(len(tokens), 0, 1)
        batch.n_tokens = len(tokens)
        for i, token in enumerate(tokens):
            batch.token[i], batch.pos[i], batch.logits[i] = token, i, 1
            batch.n_seq_id[i] = 1
            batch.seq_id[i][0] = 0
        assert lib.llama_decode(self.context, batch) == 0
        size = lib.llama_vocab_n_tokens(self.vocabulary)
        rows = np.ctypeslib.as_array(lib.llama_get_logits(self.context), (len(tokens), size)).copy()
        lib.llama_batch_free(batch)
        return rows
