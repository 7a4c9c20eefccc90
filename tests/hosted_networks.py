# SPDX-License-Identifier: Apache-2.0
"""What the tests of Halftone's operators inside other runtimes share: networks in few bits."""

import functools

_RECIPES = {
    "basis 3/3": "weight_bits = 3\nactivation_bits = 3\n",
    "basis 1/2": "weight_bits = 1\nactivation_bits = 2\n",
    "basis 2/8": "weight_bits = 2\nactivation_bits = 8\n",
    "affine 4 in groups of 32, floats": 'weight_bits = 4\nactivation_bits = "none"\n'
                                        'weight_scheme = "affine"\ngroup_size = 32\n',
    "2x6": 'weight_scheme = "2x6"\nactivation_bits = 8\n',
    "nvfp4": 'scheme = "nvfp4"\n',
}
# Networks that take long try one recipe.
_SLOW = {"ultraface_rfb_320.onnx", "super_resolution.onnx", "vww_mobilenet.tflite",
        "resnet32_cifar10.onnx", "dtln_1.onnx", "dtln_2.onnx", "dtln_1.tflite", "dtln_2.tflite"}
_FIT = "[fit]\nerror_feedback = false\nrefine = false\nbias_correction = false\n"


def variants_of(model):
    """Names and texts of the recipes that a network is tried with."""
    return list(_RECIPES.items())[:1 if model.name in _SLOW else None]


def network_checks(networks, check):
    """Names and checks of the networks of floats in each recipe. @param check: (model, recipe, text,
    folder)"""
    for model in networks:
        if model.stem.endswith("_int8"):
            continue
        for recipe, text in variants_of(model):
            yield f"{model.name}, {recipe}", functools.partial(check, model, recipe, text)


def few_bits(program, model, output, text):
    """Writes a network in the bits of a recipe, fitted to data.npz beside it."""
    folder = output.parent
    (folder / "recipe.toml").write_text("[default]\n" + text + _FIT)
    program("quantize", model, "-o", output, "--data", folder / "data.npz", "--recipe",
            folder / "recipe.toml", "-q")


def is_known(refusal):
    """Whether few_bits() may refuse so: states with scales of run time, random samples."""
    return "computed at run time" in str(refusal) or "same nearest level" in str(refusal)


def same_bits(found, expected):
    return len(found) == len(expected) and all(
        x.shape == y.shape and x.tobytes() == y.tobytes() for x, y in zip(found, expected))


def raised(call):
    try:
        call()
    except Exception as error:  # ONNX Runtime has classes of its own
        return str(error)
    return "no error"
