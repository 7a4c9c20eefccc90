#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Quantizes a GGUF model by llama.cpp with importance data, as a peer of `halftone quantize`.

Usage: llama_cpp_quantize.py MODEL.gguf OUTPUT TYPE [TYPE ...] [--folder FOLDER --text TEXT] [options]

Writes OUTPUT/TYPE.gguf: all matrices in blocks get TYPE, such as Q3_K, embedding and head the
table's. With a folder of Hugging Face of the same model (or the GGUF file, where transformers
reads it) and a text, the importance of an input is
the mean of its squares, as llama.cpp's tool takes it, over windows of 512 tokens of the text. Needs
llama-cpp-python, and torch and transformers for importance data.

Options:
  --samples N        windows (40)
  --table-type TYPE  of embedding and head (Q8_0)
  --threads N        (2)
"""

import argparse
import ctypes
import pathlib
import re
import time

TOKENS = 512
NAMES = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
         "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
         "mlp.down_proj": "ffn_down"}


def name_in_gguf(module: str) -> list[str]:
    if module == "lm_head":
        return ["output.weight", "token_embd.weight"]
    found = re.fullmatch(r"model\.layers\.(\d+)\.(.*)", module)
    return [f"blk.{found[1]}.{NAMES[found[2]]}.weight"] if found and found[2] in NAMES else []


def importance(folder: pathlib.Path, text: str, samples: int, threads: int) -> dict:
    """Mean squares of the inputs of each matrix, by its name in GGUF."""
    import torch
    import transformers
    torch.set_num_threads(threads)
    place, more = (folder.parent, {"gguf_file": folder.name}) if folder.is_file() else (folder, {})
    tokenizer = transformers.AutoTokenizer.from_pretrained(place, **more)
    model = transformers.AutoModelForCausalLM.from_pretrained(place, dtype=torch.float32, **more)
    ids = torch.tensor(tokenizer(text)["input_ids"])
    windows = ids[:len(ids) // TOKENS * TOKENS].reshape(-1, TOKENS)[:samples]
    squares = {}

    def watch(names: list[str]):
        def hook(_, inputs):
            rows = inputs[0].detach().reshape(-1, inputs[0].shape[-1]).double()
            for name in names:
                squares[name] = squares.get(name, 0) + (rows ** 2).sum(0)
        return hook

    for name, module in model.named_modules():
        if isinstance(module, torch.nn.Linear) and name_in_gguf(name):
            module.register_forward_pre_hook(watch(name_in_gguf(name)))
    with torch.inference_mode():
        for window in windows:
            model(window[None])
    return {name: (sums / windows.numel()).float().numpy() for name, sums in squares.items()}


class Importance(ctypes.Structure):
    """llama_model_imatrix_data of llama.h."""
    _fields_ = [("name", ctypes.c_char_p), ("data", ctypes.POINTER(ctypes.c_float)),
                ("size", ctypes.c_size_t)]


def quantize(arguments: argparse.Namespace, kind: str, squares: dict) -> None:
    import llama_cpp
    wanted = getattr(llama_cpp, "LLAMA_FTYPE_MOSTLY_" + kind, None)
    if wanted is None:  # K types have sizes of mixtures; a pure one is of the type alone
        wanted = getattr(llama_cpp, f"LLAMA_FTYPE_MOSTLY_{kind}_S")
    table = getattr(llama_cpp, "GGML_TYPE_" + arguments.table_type)
    parameters = llama_cpp.llama_model_quantize_default_params()
    parameters.nthread = arguments.threads
    parameters.ftype = wanted
    parameters.token_embedding_type = table
    parameters.output_tensor_type = table
    parameters.allow_requantize = True
    parameters.pure = True
    entries = (Importance * (len(squares) + 1))()
    for entry, (name, numbers) in zip(entries, squares.items()):
        entry.name = name.encode()
        entry.data = numbers.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
        entry.size = numbers.size
    if squares:
        parameters.imatrix = ctypes.cast(entries, type(parameters.imatrix))
    output = arguments.output / f"{kind}.gguf"
    begin = time.time()
    status = llama_cpp.llama_model_quantize(str(arguments.model).encode(), str(output).encode(),
                                            ctypes.byref(parameters))
    if status != 0:
        raise RuntimeError(f"llama.cpp: status {status}")
    print(f"{output}: {output.stat().st_size / 1e6:.1f} MB, {time.time() - begin:.0f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("types", nargs="+")
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--text", type=pathlib.Path)
    parser.add_argument("--samples", type=int, default=40)
    parser.add_argument("--table-type", default="Q8_0")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    if (arguments.folder is None) != (arguments.text is None):
        parser.error("--folder and --text belong together")
    squares = {}
    if arguments.folder:
        begin = time.time()
        squares = importance(arguments.folder, arguments.text.read_text(), arguments.samples,
                             arguments.threads)
        print(f"importance: {time.time() - begin:.0f} s", flush=True)
    arguments.output.mkdir(parents=True, exist_ok=True)
    for kind in arguments.types:
        quantize(arguments, kind, squares)


if __name__ == "__main__":
    main()
