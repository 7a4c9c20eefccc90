#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""GGUF files that llama.cpp's converter makes of folders have the logits of transformers.

Usage: converted_folders_test.py LOGITS

LOGITS is the program of logits.cc. llama.cpp's convert_hf_to_gguf.py turns the models of
tiny_language_models.py into files. Skips with exit code 77 without its sources, or if a package is
absent (scripts/peers.sh --all): numpy torch transformers gguf
"""

import json
import logging
import pathlib
import sys
import tempfile

from python_test import llama_cpp, skip

SOURCES = llama_cpp()
sys.path[:0] = [str(SOURCES), str(SOURCES / "gguf-py")]  # before another gguf

try:
    import language_models_test
    import numpy as np
    import tiny_language_models as tiny
except ImportError as error:
    skip(f"{error}; pip install numpy torch transformers gguf")

# What the converter or llama.cpp leaves out, so that the file means another network.
LEFT_OUT = {
    "deepseek_v2": "llama.cpp judges groups of experts by their two best, not by the best",
    "deepseek_v3": "the function of scores is not written: transformers' own files do not name it",
    "exaone4": "llama.cpp has windows in files of 64 blocks only",
    "falcon_h1_ones": "llama.cpp has the norm of a scan behind its gate",
    "glm": "the epsilon of norms is not written",
    "gpt_oss_limit": "limits, slopes and blocks without windows are not written",
    "llama_yarn_ends": "mscale and truncate are not written",
    "mistral": "windows are not written",
    "nemotron_h_biases": "llama.cpp has squared ReLU alone; lists of networks are not written",
    "nemotron_h_mixed": "llama.cpp has experts in all networks or in none",
    "smollm3_list": "llama.cpp leaves out the positions of every fourth block",
    "starcoder2": "windows are not written",
}
# What the converter refuses, or needs a published tokenizer for.
NOT_CONVERTED = ("bitnet", "cohere2", "gemma3", "gemma3n_differing", "gpt2",
                 "hunyuan_alpha")
# It writes yarn_attn_factor, which llama.cpp does not read and Halftone refuses.
REFUSED = ("qwen2_yarn",)


def convert(source: pathlib.Path, target: pathlib.Path) -> None:
    import gguf
    from conversion import ModelType, base, get_model_class
    architecture = base.get_model_architecture(base.ModelBase.load_hparams(source, False),
                                               ModelType.TEXT)
    model = get_model_class(architecture, mmproj=False)
    model.set_vocab = lambda self: None
    model.no_mtp = True  # blocks that predict further tokens, which these have not
    more = {}
    if architecture.startswith("NemotronH"):  # where transformers names experts in any case
        more["hparams"] = json.loads((source / "config.json").read_text(encoding="utf-8"))
    model(source, gguf.LlamaFileType.ALL_F32, target, eager=True, **more).write()


def write_vocabulary(folder: pathlib.Path) -> None:
    """A tokenizer of which the converter of Gemma 4 counts the tokens."""
    vocabulary = {str(token): token for token in range(tiny.VOCABULARY)}
    (folder / "tokenizer.json").write_text(
        json.dumps({"model": {"vocab": vocabulary}, "added_tokens": []}), encoding="utf-8")


def test_model(program: str, folder: pathlib.Path, name: str) -> None:
    file = folder / f"{name}.converted.gguf"
    if name.startswith("gemma4"):
        write_vocabulary(folder / name)
    convert(folder / name, file)
    tokens = (folder / f"{name}.tokens").read_text(encoding="utf-8")
    expected = np.frombuffer((folder / f"{name}.logits").read_bytes(), dtype=np.float32)
    expected = expected.reshape(tiny.TOKENS, -1)
    form = "reference" if name in language_models_test.BLOCKS else "decoder"
    found = language_models_test.logits_of(program, file, form, tiny.CONTEXT, tokens)
    worst = float(np.abs(found - expected).max())
    print(f"{name}: differences up to {worst:.1e}", flush=True)
    assert worst <= language_models_test.TOLERANCE, name


def main(program: str) -> None:
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for model in tiny.write_models(folder):
            if model not in LEFT_OUT and model not in NOT_CONVERTED and model not in REFUSED:
                test_model(program, folder, model)


if __name__ == "__main__":
    main(*sys.argv[1:])
