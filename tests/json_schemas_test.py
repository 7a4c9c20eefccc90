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
    # What zod, Pydantic and typify write.
    {"type": "object", "properties": {
        "mail": {"type": "string", "format": "email", "pattern":
                 r"^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+"
                 r"[A-Za-z]{2,}$"},
        "span": {"type": "string", "format": "duration", "pattern":
                 r"^P(?:(\d+W)|(?!.*W)(?=\d|T\d)(\d+Y)?(\d+M)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?"
                 r"(\d+([.,]\d+)?S)?)?)$"},
        "host": {"type": "string", "pattern":
                 r"^(?=.{1,253}\.?$)[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9]"
                 r"(?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*\.?$"},
        "base64": {"type": "string", "contentEncoding": "base64", "pattern":
                   r"^$|^(?:[0-9a-zA-Z+/]{4})*(?:(?:[0-9a-zA-Z+/]{2}==)|(?:[0-9a-zA-Z+/]{3}=))?$"},
        "word": {"type": "string", "allOf": [{"pattern": "^a.*"}, {"pattern": ".*z$"}]},
        "slug": {"type": "string", "pattern": "^[a-z0-9]+(?:-[a-z0-9]+)*$", "minLength": 3,
                 "maxLength": 20},
        "tags": {"type": "array", "items": {"enum": ["a", "b", "c"]}, "uniqueItems": True},
        "never": {"not": {}},
        "password": {"type": "string", "minLength": 8, "maxLength": 12,
                     "pattern": r"^(?=.*[a-z])(?=.*[A-Z])(?=.*\d)(?=.*[@$!%*?&])[A-Za-z\d@$!%*?&]+$"}},
     "required": ["mail", "span", "host", "base64", "word", "slug", "tags", "password"],
     "additionalProperties": False},
    {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id", "x-a"],
     "patternProperties": {"^x-": {"type": "boolean"}, "^.{5,}$": {"enum": [True, None]}},
     "additionalProperties": {"type": "string", "not": {"enum": ["", "a"]}}},
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
    kind = rng.randrange(6)
    if kind in (1, 5):
        schema["minLength"] = rng.randrange(4)
        schema["maxLength"] = schema["minLength"] + rng.randrange(9)
    elif kind == 2:
        schema["format"] = rng.choice(
            ["date", "time", "date-time", "uuid", "email", "ipv4", "hostname", "uri", "color"])
    if kind in (3, 5):
        schema["pattern"] = rng.choice(
            ["^(?!ab)[a-c]*$", "^(?=.*b)[a-c]*$", "^a*(?:b(?!c)[a-c])?$", "(^a)|(b$)",
             r"^\d+(\.\d+)?$", "^[a-zà-ü]{1,4}$", r"^(foo|ba[rz]){2}$", "x", "^a", "z$", r"^\S+\s?$",
             r"^[^\d\"\\]{2}$", r"^\W\w\D$", ".", r"^\+?[1-9][0-9 -]{3,6}$", "^(?:a|b|)c*$"])
    return schema


def number(rng: random.Random, _depth: int) -> dict:
    schema = {"type": rng.choice(["integer", "number"])}
    low = round(rng.uniform(-1000, 1000), rng.randrange(4))
    high = low + round(rng.uniform(1.5, 2000), rng.randrange(4))
    if rng.random() < 0.2:
        low, high = rng.choice([(-2**53 + 1, 2**53 - 1), (-2**63, 2**63 - 1), (0, 2**64 - 1),
                                (-3.4028234663852886e38, 3.4028234663852886e38)])
    if rng.random() < 0.2:
        schema["multipleOf"] = rng.choice([2, 5, 12, 100])
    if rng.random() < 0.6:
        schema[rng.choice(["minimum", "exclusiveMinimum"])] = low
    if rng.random() < 0.6:
        schema[rng.choice(["maximum", "exclusiveMaximum"])] = high
    return schema


def values(rng: random.Random, _depth: int) -> dict:
    some = [1, -2, 2.5, "a", "b c", "\"", "\u20ac", True, False, None, [], {"x": 1}, [1, "y"]]
    if rng.random() < 0.3:
        return {"const": rng.choice(some)}
    if rng.random() < 0.2:
        return {"enum": ["a", "bc", 4, *some], "minLength": 2, "maximum": 3}
    if rng.random() < 0.2:
        return {"enum": some, "not": {"enum": some[:4]}}
    return {"enum": rng.sample(some, rng.randint(1, 5))}


def obj(rng: random.Random, depth: int) -> dict:
    names = rng.sample(["a", "ab", "b", "name", "é", "with space", "\"q\"", "x\\y"],
                       rng.randrange(5))
    schema = {"type": "object",
              "properties": {name: random_schema(rng, depth - 1) for name in names}}
    if rng.random() < 0.3:
        schema["patternProperties"] = {
            pattern: rng.choice([True, {"type": "string"}, {"type": ["string", "null"]}])
            for pattern in rng.sample(["^a", "b", "^.$", "e$"], rng.randint(1, 3))}
        schema["properties"] = {}
        names = []
    if names and rng.random() < 0.2:
        schema["minProperties"] = 1
    if len(names) > 1 and rng.random() < 0.2:
        schema["dependentRequired"] = {names[0]: [names[1]]}
    elif len(names) > 1 and rng.random() < 0.2:
        schema["oneOf"] = [{"required": [name]} for name in names[:2]]
        names = names[2:]
    if not names and rng.random() < 0.3:
        schema["propertyNames"] = rng.choice([{"maxLength": 3}, {"pattern": "^[a-e]+$"}])
        schema["additionalProperties"] = True
    schema["required"] = [name for name in names if rng.random() < 0.5]
    if rng.random() < 0.3:
        schema["additionalProperties"] = rng.choice([False, True, random_schema(rng, depth - 1)])
    return schema


def array(rng: random.Random, depth: int) -> dict:
    schema = {"type": "array"}
    if rng.random() < 0.15:
        return {"items": {"enum": rng.sample([1, "a", None, True, [], "b"], 4)},
                "uniqueItems": True, "minItems": rng.randrange(3)}
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
    for key in ("additionalProperties", "propertyNames", "oneOf"):
        first.pop(key, None)
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
