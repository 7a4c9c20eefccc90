#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the overlays of `halftone report` with what Model Explorer knows of the same networks.

Usage: report_overlay_test.py HALFTONE

Skipped (exit code 77) without the packages ai-edge-model-explorer and model-explorer-onnx of PyPI.
"""

import dataclasses
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import many_layers

try:
    from model_explorer import node_data_builder
    from model_explorer.builtin_tflite_flatbuffer_adapter import BuiltinTfliteFlatbufferAdapter
    from model_explorer_onnx.main import ONNXAdapter
except ImportError as error:
    print("skipped:", error)
    sys.exit(77)

ROOT = Path(__file__).resolve().parent.parent
MNIST = ROOT / "examples" / "mnist"
FLOAT = MNIST / "mnist_mlp_700.onnx"
DATA = ["--data", MNIST, "--limit", "200"]


def run(program, *arguments):
    subprocess.run([program, *(str(each) for each in arguments)], check=True, timeout=120,
                   stdout=subprocess.DEVNULL)


def keys_of(node):
    """What may name a node in node data: its id, and the names of its output tensors."""
    yield node["id"]
    for output in node.get("outputsMetadata", []):
        for attribute in output["attrs"]:
            if attribute["key"] in ("tensor_name", "__tensor_tag"):
                yield attribute["value"]


def known_keys(path):
    """The keys of all nodes of a network, as Model Explorer reads it."""
    if path.suffix == ".onnx":
        graphs = [dataclasses.asdict(graph) for graph in ONNXAdapter().convert(str(path), {})["graphs"]]
    else:
        collections = BuiltinTfliteFlatbufferAdapter().convert(str(path), {})["graphCollections"]
        graphs = [graph for collection in collections for graph in collection.graphs]
    return {key for graph in graphs for node in graph["nodes"] for key in keys_of(node)}


def check(program, folder, path, measures, *options):
    """Every overlay of a network has keys that are known, and fields that the package has."""
    run(program, "report", path, *options, "-o", folder / "page.html", "--overlay",
        folder / f"{path.stem}.json")
    known = known_keys(path)
    fields = {field.name for field in dataclasses.fields(node_data_builder.GraphNodeData)}
    colours = {field.name for field in dataclasses.fields(node_data_builder.GradientItem)}
    for measure in measures:
        overlay = json.loads((folder / f"{path.stem}-{measure}.json").read_text())
        unknown = set(overlay["results"]) - known
        assert overlay["results"] and not unknown, (path, measure, unknown)
        assert set(overlay) <= fields, set(overlay) - fields
        assert all(set(item) <= colours for item in overlay["gradient"])
        assert [item["stop"] for item in overlay["gradient"]] == [0, 1]
        assert all(set(each) == {"value"} for each in overlay["results"].values())


def main(program):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        network = folder / "network.onnx"
        network.write_bytes(many_layers.network(12))
        check(program, folder, network, ("bits", "bytes"))
        for compressed in (folder / "mnist.tflite", folder / "codes.onnx"):
            run(program, "quantize", FLOAT, *DATA, "--weight-bits", 2, "--activation-bits", 2, "-q",
                "-o", compressed)
            check(program, folder, compressed, ("bits", "bytes", "sqnr", "sqnr-alone"),
                  "--reference", FLOAT, *DATA)


if __name__ == "__main__":
    main(*sys.argv[1:])
