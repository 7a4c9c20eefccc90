#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Texts that JSON schemas allow a model are valid, as the package jsonschema says.

Usage: json_schemas_test.py SCHEMA_TEXTS

SCHEMA_TEXTS is the program of schema_texts.cc. Schemas as people write them, and 200 made of random
parts. Skips with exit code 77 if the package is absent: pip install jsonschema rfc3339-validator
"""

import json
import random
import subprocess
import sys

from python_test import skip

try:
    import jsonschema
    import rfc3339_validator  # noqa: F401: jsonschema looks for it
except ImportError as error:
    skip(f"{error}; pip install jsonschema rfc3339-validator")

TEXTS_OF_EACH = 20
NUM_RANDOM = 200

WRITTEN = [
    {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
     "required": ["name", "age"], "additionalProperties": False},
    {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A step",
     "$defs": {"Step": {"type": "object", "title": "Step", "properties": {
         "explanation": {"type": "string", "description": "why"},
         "output": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}},
         "required": ["explanation"]}},
     "type": "object", "properties": {
         "steps": {"type": "array", "items": {"$ref": "#/$defs/Step"}, "maxItems": 4},
         "answer": {"type": "number"}}, "required": ["steps", "answer"]},
    {"type": "object", "properties": {
        "kind": {"enum": ["cat", "dog"]}, "weight": {"type": "number", "exclusiveMinimum": 0,
                                                     "maximum": 80.5},
        "born": {"type": "string", "format": "date"}, "id": {"type": "string", "format": "uuid"},
        "mail": {"type": "string", "format": "email"}, "at": {"type": "string",
                                                              "format": "date-time"},
        "code": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{3,5}$"}},
     "required": ["kind", "weight", "born", "id"]},
    {"definitions": {"node": {"type": "object", "properties": {
        "value": {"type": "integer", "minimum": -5, "maximum": 5},
        "children": {"type": "array", "items": {"$ref": "#/definitions/node"}, "maxItems": 2}},
        "required": ["value"], "additionalProperties": False}}, "$ref": "#/definitions/node"},
    {"oneOf": [
        {"type": "object", "properties": {"type": {"const": "circle"}, "r": {"type": "number"}},
         "required": ["type", "r"]},
        {"type": "object", "properties": {"type": {"const": "square"}, "a": {"type": "number"}},
         "required": ["type", "a"]}]},
    {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "boolean"},
                                                "minItems": 1}},
    {"allOf": [{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
               {"properties": {"a": {"minimum": 10}, "b": {"type": "string", "maxLength": 5}}}]},
    {"type": ["array", "null"], "prefixItems": [{"type": "string"}, {"type": "integer"}],
     "items": False, "minItems": 1},
    {"const": {"a": [1, 2.5, "é\n\"", None, True]}},
    {},
    True,
]


def random_schema(rng: random.Random, depth: int) -> dict | bool:
    """A schema of random parts."""
    kinds = [string, number, values] if depth == 0 else [string, number, values, obj, obj, array,
                                                         branches]
    return rng.choice(kinds)(rng, depth)


def string(rng: random.Random, _depth: int) -> dict:
    schema = {"type": "string"}
    kind = rng.randrange(4)
    if kind == 1:
        schema["minLength"] = rng.randrange(4)
        schema["maxLength"] = schema["minLength"] + rng.randrange(9)
    elif kind == 2:
        schema["format"] = rng.choice(
            ["date", "time", "date-time", "uuid", "email", "ipv4", "hostname", "uri", "color"])
    elif kind == 3:
        schema["pattern"] = rng.choice(
            [r"^\d+(\.\d+)?$", "^[a-zà-ü]{1,4}$", r"^(foo|ba[rz]){2}$", "x", "^a", "z$", r"^\S+\s?$",
             r"^[^\d\"\\]{2}$", r"^\W\w\D$", ".", r"^\+?[1-9][0-9 -]{3,6}$", "^(?:a|b|)c*$"])
    return schema


def number(rng: random.Random, _depth: int) -> dict:
    schema = {"type": rng.choice(["integer", "number"])}
    low = round(rng.uniform(-1000, 1000), rng.randrange(4))
    high = low + round(rng.uniform(1.5, 2000), rng.randrange(4))
    if rng.random() < 0.6:
        schema[rng.choice(["minimum", "exclusiveMinimum"])] = low
    if rng.random() < 0.6:
        schema[rng.choice(["maximum", "exclusiveMaximum"])] = high
    return schema


def values(rng: random.Random, _depth: int) -> dict:
    some = [1, -2, 2.5, "a", "b c", "\"", "\u20ac", True, False, None, [], {"x": 1}, [1, "y"]]
    if rng.random() < 0.3:
        return {"const": rng.choice(some)}
    return {"enum": rng.sample(some, rng.randint(1, 5))}


def obj(rng: random.Random, depth: int) -> dict:
    names = rng.sample(["a", "ab", "b", "name", "é", "with space", "\"q\"", "x\\y"],
                       rng.randrange(5))
    schema = {"type": "object",
              "properties": {name: random_schema(rng, depth - 1) for name in names}}
    schema["required"] = [name for name in names if rng.random() < 0.5]
    if rng.random() < 0.3:
        schema["additionalProperties"] = rng.choice([False, True, random_schema(rng, depth - 1)])
    return schema


def array(rng: random.Random, depth: int) -> dict:
    schema = {"type": "array"}
    if rng.random() < 0.4:
        schema["prefixItems"] = [random_schema(rng, depth - 1) for _ in range(rng.randint(1, 3))]
    if rng.random() < 0.8:
        schema["items"] = rng.choice([random_schema(rng, depth - 1), random_schema(rng, 0), False])
    if schema.get("items") is not False:
        schema["minItems"] = rng.randrange(4)
        schema["maxItems"] = schema["minItems"] + rng.randrange(3)
    return schema


def branches(rng: random.Random, depth: int) -> dict:
    schemas = [random_schema(rng, depth - 1) for _ in range(rng.randint(1, 3))]
    if rng.random() < 0.5:
        return {"anyOf": schemas}
    first = obj(rng, depth)
    second = {"properties": {"extra": random_schema(rng, depth - 1)}, "required": ["extra"]}
    first.pop("additionalProperties", None)
    return {"allOf": [first, second]}


def main() -> None:
    schemas = WRITTEN + [random_schema(random.Random(seed), 3) for seed in range(NUM_RANDOM)]
    found = subprocess.run([sys.argv[1], str(TEXTS_OF_EACH)], check=True, text=True,
                           input="".join(json.dumps(each) + "\n" for each in schemas),
                           stdout=subprocess.PIPE).stdout.split("\n")[:-1]
    assert len(found) == len(schemas)
    num_texts = 0
    wrong = []
    checker = jsonschema.Draft202012Validator.FORMAT_CHECKER
    for schema, line in zip(schemas, found, strict=True):
        texts = json.loads(line)
        if isinstance(texts, str):
            wrong.append((schema, texts))
            continue
        validator = jsonschema.Draft202012Validator(schema, format_checker=checker)
        ended = [text for text in texts if text]  # others grew too long
        num_texts += len(ended)
        for text in ended:
            errors = [error.message for error in validator.iter_errors(json.loads(text))]
            if errors:
                wrong.append((schema, text, errors))
    for each in wrong[:20]:
        print(*each, sep="\n  ")
    print(f"{len(schemas)} schemas, {num_texts} texts, {len(wrong)} wrong")
    assert not wrong
    assert num_texts > 0.8 * TEXTS_OF_EACH * len(schemas), num_texts


main()
