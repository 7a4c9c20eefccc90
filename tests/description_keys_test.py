#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keys of language models are those of the packages transformers and gguf, and so are usual values.

Usage: description_keys_test.py DESCRIPTION_KEYS

DESCRIPTION_KEYS is the program of description_keys.cc. Skips with exit code 77 if a package is
absent: pip install transformers gguf
"""

import json
import subprocess
import sys

from python_test import skip

try:
    import gguf
    import transformers
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING
except ImportError as error:
    skip(f"{error}; pip install transformers gguf")

# Classes fill these in from others; where no list says it, they are as here.
FILLED = {"sliding_window", "head_dim", "mamba_d_head", "mamba_dt_rank"}
# Names of earlier versions, which published files have.
EARLIER = {
    "gemma4_text": {"global_head_dim", "num_global_key_value_heads"},
    "gemma3n_text": {"query_pre_attn_scalar"},
    "falcon_h1": {"head_dim"},
    "olmo": {"layer_norm_eps"},  # a number in the class of the norm
    "qwen3_5_moe_text": {"norm_topk_prob"},  # always
    "nemotron_h": {"mamba_d_conv", "mamba_conv_bias", "mamba_n_groups"},
}
PATTERN = "sliding_window_pattern"  # of earlier versions: classes have the list that it means


def usual(config: "transformers.PretrainedConfig", key: str) -> object:
    """What a class has for a key, of which some lie in the object about positions."""
    rope = getattr(config, "rope_parameters", None) or {}
    full, windowed = rope.get("full_attention", rope), rope.get("sliding_attention", {})
    if key == "rope_local_base_freq":
        return windowed["rope_theta"]
    if key == "rope_theta" or (key == "partial_rotary_factor" and not hasattr(config, key)):
        return full[key]
    return config.to_dict()[key] if key in config.to_dict() else getattr(config, key)


def agrees(ours: object, theirs: object) -> bool:
    if isinstance(ours, dict):
        return all(agrees(value, theirs[key]) for key, value in ours.items())
    if ours is None or ours == theirs:
        return True
    return isinstance(theirs, list) and all(value == ours for value in theirs)


def check_pattern(kind: str, config: "transformers.PretrainedConfig", period: int) -> None:
    expected = ["full_attention" if (block + 1) % period == 0 else "sliding_attention"
                for block in range(config.num_hidden_layers)]
    assert config.layer_types == expected, kind


def check_class(kind: str, keys: dict) -> None:
    config = CONFIG_MAPPING[kind]()
    for key, ours in keys.items():
        if key in EARLIER.get(kind, ()) or key in FILLED:
            continue
        if key == PATTERN:
            check_pattern(kind, config, ours)
            continue
        theirs = usual(config, key)
        assert agrees(ours, theirs), f"{kind}: {key} is {ours}, transformers has {theirs}"


def gguf_keys() -> set[str]:
    """All keys that follow the name of an architecture."""
    groups = [value for value in vars(gguf.Keys).values() if isinstance(value, type)]
    names = [name for group in groups for name in vars(group).values() if isinstance(name, str)]
    return {name.removeprefix("{arch}.") for name in names if name.startswith("{arch}.")}


def main(program: str) -> None:
    found = json.loads(subprocess.run([program], check=True, capture_output=True).stdout)
    unknown = set(found["gguf"]) - gguf_keys()
    assert not unknown, f"the package gguf has no keys {sorted(unknown)}"
    known = set(gguf.MODEL_ARCH_NAMES.values())
    named = {name for _, name, _ in found["architectures"]}
    assert named <= known, f"the package gguf has no architectures {sorted(named - known)}"
    transformers.logging.set_verbosity_error()
    read = set()
    for kind, _, keys in found["architectures"]:
        assert keys, f"{kind} has no usual values"
        check_class(kind, keys)
        read |= set(keys)
    read |= {"rope_theta", "head_dim", "beta_fast", "beta_slow"}  # of the object about positions
    assert set(found["config"]) <= read, sorted(set(found["config"]) - read)
    print(f"{len(found['architectures'])} architectures, {len(set(found['gguf']))} keys of GGUF "
          f"files, {len(set(found['config']))} of config.json")


if __name__ == "__main__":
    main(*sys.argv[1:])
