#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Speed of random language models beside llama.cpp.

  bench/language_models.py PROGRAM FOLDER [--types Q1_0 Q4_K ...] [--own FILE] [--threads N] ...

Makes FOLDER/TYPE.gguf, a llama of 1.1 billion random weights of that type (with the extents of
TinyLlama), unless it is there. Then, in turns: `halftone bench`; llama.cpp with weights that it
repacks; llama.cpp with the file's blocks. Prints the medians of tokens/s, and how many times the
faster of both peers we reach. With --own, such as a file that `halftone quantize` made of one of
these models, that file is ours in all rows. Needs: pip install numpy llama-cpp-python, the latter
built for this processor (LLAMA_CPP_LIB_PATH names the folder of another build, such as one for
AVX2).
"""

import argparse
import json
import pathlib
import statistics
import struct
import subprocess
import sys
import time

WIDTH, INNER, BLOCKS, HEADS, KV_HEADS, VOCABULARY = 2048, 5632, 22, 32, 4, 32000
ALIGNMENT = 32
FLOAT32 = (0, 1, 4, [])
# The number of the type; elements and bytes of a block, and where float16 are in it.
TYPES = {
    "IQ2_XS": (17, 256, 74, [0]),
    "IQ2_XXS": (16, 256, 66, [0]),
    "IQ3_XXS": (18, 256, 98, [0]),
    "Q1_0": (41, 128, 18, [0]),
    "Q2_0": (42, 64, 18, [0]),
    "Q2_K": (10, 256, 84, [80, 82]),
    "Q3_K": (11, 256, 110, [108]),
    "Q4_0": (2, 32, 18, [0]),
    "Q4_K": (12, 256, 144, [0, 2]),
    "Q6_K": (14, 256, 210, [208]),
    "Q8_0": (8, 32, 34, [0]),
    "TQ2_0": (35, 256, 66, [64]),
}


def text(value):
    return struct.pack("<Q", len(value)) + value


def key(name, kind, code, value):
    return text(name.encode()) + struct.pack("<I", kind) + struct.pack(code, value)


def array(name, kind, items):
    return text(name.encode()) + struct.pack("<IIQ", 9, kind, len(items)) + b"".join(items)


def keys():
    """Key values of a llama with a vocabulary of bytes and of words that no text has."""
    tokens = [b"<unk>", b"<s>", b"</s>", *(b"<0x%02X>" % i for i in range(256))]
    tokens += [b"word%d" % i for i in range(VOCABULARY - len(tokens))]
    types = [2, 3, 3] + [6] * 256 + [1] * (VOCABULARY - 259)
    whole = {"block_count": BLOCKS, "context_length": 4096, "embedding_length": WIDTH,
             "feed_forward_length": INNER, "attention.head_count": HEADS,
             "attention.head_count_kv": KV_HEADS, "rope.dimension_count": WIDTH // HEADS,
             "vocab_size": VOCABULARY}
    return [
        text(b"general.architecture") + struct.pack("<I", 8) + text(b"llama"),
        *(key(f"llama.{name}", 4, "<I", value) for name, value in whole.items()),
        key("llama.attention.layer_norm_rms_epsilon", 6, "<f", 1e-5),
        text(b"tokenizer.ggml.model") + struct.pack("<I", 8) + text(b"llama"),
        array("tokenizer.ggml.tokens", 8, [text(token) for token in tokens]),
        array("tokenizer.ggml.scores", 6, [struct.pack("<f", 0)] * VOCABULARY),
        array("tokenizer.ggml.token_type", 5, [struct.pack("<i", kind) for kind in types]),
        key("tokenizer.ggml.bos_token_id", 4, "<I", 1),
        key("tokenizer.ggml.eos_token_id", 4, "<I", 2),
    ]


def tensors():
    """Names and extents, [rows, columns] or [n]."""
    kv = WIDTH // HEADS * KV_HEADS
    yield "token_embd.weight", [VOCABULARY, WIDTH]
    for i in range(BLOCKS):
        yield f"blk.{i}.attn_norm.weight", [WIDTH]
        yield f"blk.{i}.ffn_norm.weight", [WIDTH]
        for name, rows, cols in (("attn_q", WIDTH, WIDTH), ("attn_k", kv, WIDTH),
                                 ("attn_v", kv, WIDTH), ("attn_output", WIDTH, WIDTH),
                                 ("ffn_gate", INNER, WIDTH), ("ffn_up", INNER, WIDTH),
                                 ("ffn_down", WIDTH, INNER)):
            yield f"blk.{i}.{name}.weight", [rows, cols]
    yield "output_norm.weight", [WIDTH]
    yield "output.weight", [VOCABULARY, WIDTH]


def contents(extents, kind, random):
    """Random blocks; a vector is ones."""
    import numpy as np
    if len(extents) == 1:
        return np.ones(extents, dtype="<f4").tobytes()
    _, elements, size, halves = kind
    count = extents[0] * extents[1] // elements
    blocks = random.integers(0, 256, (count, size), dtype=np.uint8)
    for place in halves:
        scales = random.uniform(0.001, 0.002, count).astype("<f2")
        blocks[:, place:place + 2] = scales.view(np.uint8).reshape(count, 2)
    return blocks.tobytes()


def write_model(path, type_name):
    import numpy as np
    random = np.random.default_rng(1)
    all_tensors = [(name, extents, FLOAT32 if len(extents) == 1 else TYPES[type_name])
                   for name, extents in tensors()]
    infos, offset = [], 0
    for name, extents, (number, elements, size, _) in all_tensors:
        infos.append(text(name.encode()) + struct.pack(f"<I{len(extents)}Q", len(extents),
                                                       *reversed(extents)) +
                     struct.pack("<IQ", number, offset))
        count = extents[0] * (extents[1] if len(extents) > 1 else 1)
        offset += -(-count // elements * size // ALIGNMENT) * ALIGNMENT
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(infos), len(keys()))
    unfinished = path.with_suffix(".part")
    with open(unfinished, "wb") as file:
        file.write(head + b"".join(keys()) + b"".join(infos))
        for _, extents, kind in all_tensors:
            file.write(bytes(-file.tell() % ALIGNMENT))
            file.write(contents(extents, kind, random))
        file.write(bytes(-file.tell() % ALIGNMENT))
    unfinished.rename(path)


def run_peer(options):
    """Prints tokens/s of a prompt and of generation, as llama.cpp computes them."""
    import llama_cpp as lib
    silent = lib.llama_log_callback(lambda level, message, data: None)
    lib.llama_log_set(silent, None)
    lib.llama_backend_init()
    parameters = lib.llama_model_default_params()
    parameters.use_extra_bufts = options.peer == "repacked"
    model = lib.llama_model_load_from_file(options.program.encode(), parameters)
    settings = lib.llama_context_default_params()
    settings.n_ctx = options.prompt + options.generate + 64
    settings.n_batch = settings.n_ubatch = options.prompt
    settings.n_threads = settings.n_threads_batch = options.threads
    context = lib.llama_init_from_model(model, settings)

    def decode(tokens):
        ids = (lib.llama_token * len(tokens))(*tokens)
        if lib.llama_decode(context, lib.llama_batch_get_one(ids, len(tokens))) != 0:
            sys.exit("llama.cpp: cannot decode")
        lib.llama_get_logits_ith(context, -1)

    def seconds(runs):
        begin = time.perf_counter()
        for tokens in runs:
            decode(tokens)
        return time.perf_counter() - begin

    prompt = [300 + i % 1000 for i in range(options.prompt)]
    decode(prompt[:1])  # memory is taken at the first run
    read, written = [], []
    for _ in range(3):
        lib.llama_memory_clear(lib.llama_get_memory(context), True)
        read.append(options.prompt / seconds([prompt]))
        lib.llama_memory_clear(lib.llama_get_memory(context), True)
        written.append(options.generate / seconds([[300]] * options.generate))
    print(json.dumps({"prompt": statistics.median(read), "generate": statistics.median(written)}))


def measure_peer(file, options, way):
    done = subprocess.run(
        [sys.executable, __file__, file, options.folder, "--peer", way, "--threads",
         str(options.threads), "--prompt", str(options.prompt), "--generate",
         str(options.generate)], check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def measure_us(file, options):
    command = [options.program, "bench", file, "--json", "--threads", str(options.threads),
               "--prompt", str(options.prompt), "--generate", str(options.generate)]
    if options.simd:
        command += ["--simd", options.simd]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    speed = json.loads(done.stdout)["depths"][0]
    return {"prompt": speed["prompt_tokens_per_second"], "generate": speed["tokens_per_second"],
            "share": speed["bandwidth_share"]}


def compare(name, options):
    file = pathlib.Path(options.folder) / f"{name}.gguf"
    if not file.exists():
        write_model(file, name)
    us, repacked, plain = [], [], []
    for _ in range(options.rounds):
        us.append(measure_us(options.own or file, options))
        repacked.append(measure_peer(file, options, "repacked"))
        plain.append(measure_peer(file, options, "plain"))

    def median(runs, what):
        return statistics.median(run[what] for run in runs)

    line = f"{name:7}"
    for what in ("prompt", "generate"):
        ours, peers = median(us, what), [median(runs, what) for runs in (repacked, plain)]
        line += f"  {ours:8.1f} {peers[0]:8.1f} {peers[1]:8.1f} {ours / max(peers):6.2f}"
    print(f"{line}  {100 * median(us, 'share'):5.1f} %", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the program halftone")
    parser.add_argument("folder", help="where the models are")
    parser.add_argument("--types", nargs="+", choices=TYPES, default=list(TYPES))
    parser.add_argument("--own", help="a file of ours to measure instead of that of the type")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--prompt", type=int, default=256)
    parser.add_argument("--generate", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--simd", help="as halftone --simd")
    parser.add_argument("--peer", choices=["repacked", "plain"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        return run_peer(options)
    pathlib.Path(options.folder).mkdir(parents=True, exist_ok=True)
    print(f"threads: {options.threads}; tokens/s: ours, llama.cpp repacked, llama.cpp plain, ratio")
    print(f"        {options.prompt} read{'':28}{options.generate} written{'':22}memory speed")
    for name in options.types:
        compare(name, options)


if __name__ == "__main__":
    main()
