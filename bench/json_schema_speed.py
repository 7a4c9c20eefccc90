#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how much slower a model writes where it must follow a JSON schema.

Usage: json_schema_speed.py HALFTONE MODEL [TOKENS [PAIRS]]

Writes texts of TOKENS (150) with a schema and without in turn, PAIRS (9) times, on one thread and
without look-up, whose guesses depend on the text. Prints the median time of the processor for a
token of each, and their ratio. The time of a text of one token is left out: it has the opening of
the model and, with a schema, the table of its tokens.
"""
import json
import resource
import statistics
import subprocess
import sys

SCHEMA = {"type": "object", "required": ["name", "age", "tags", "notes"], "properties": {
    "name": {"type": "string"}, "age": {"type": "integer"},
    "tags": {"type": "array", "items": {"type": "string"}, "minItems": 3},
    "notes": {"type": "string", "minLength": 2000}}}


def seconds(program, model, tokens, *options):
    """Time of the processor for a text of so many tokens."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run([program, "generate", model, "-p", "Once upon a time there was", "-n",
                           str(tokens), "--temperature", "0", "--threads", "1", "--lookup", "0",
                           "--json", "--quiet", *options],
                          capture_output=True, text=True, check=True)
    found = len(json.loads(done.stdout)["tokens"])
    assert found == tokens, f"the text ended after {found} tokens; choose fewer"
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def main(program, model, tokens="150", pairs="9"):
    schema = ["--json-schema", json.dumps(SCHEMA)]
    times = {name: [] for name in ("free", "schema")}
    for _ in range(int(pairs)):
        for name, options in (("free", []), ("schema", schema)):
            first = seconds(program, model, 1, *options)
            times[name].append((seconds(program, model, int(tokens), *options) - first)
                               / (int(tokens) - 1))
    free, with_schema = (statistics.median(each) for each in times.values())
    print(f"free: {1e3 * free:.3f} ms per token\nschema: {1e3 * with_schema:.3f} ms per token\n"
          f"ratio: {with_schema / free:.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
