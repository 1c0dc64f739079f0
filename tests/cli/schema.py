"""As much of JSON Schema as configs/*.schema.json use, with the standard library alone.

An unknown keyword is an error, so that no constraint of a schema goes unchecked.
"""

import re

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
ANNOTATIONS = {"$schema", "$defs", "title", "description"}


def has_type(value, name):
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def errors(value, schema, root=None, path="$"):
    """Yields a line for each violation."""
    root = root or schema
    number = has_type(value, "number")
    # Keywords say nothing of values of another type than theirs.
    members = value if isinstance(value, dict) else {}
    for keyword, rule in schema.items():
        if keyword in ANNOTATIONS:
            continue
        if keyword == "$ref":
            yield from errors(value, root["$defs"][rule.removeprefix("#/$defs/")], root, path)
        elif keyword == "type":
            names = rule if isinstance(rule, list) else [rule]
            if not any(has_type(value, name) for name in names):
                yield f"{path}: {value!r} is no {names}"
        elif keyword == "enum":
            if value not in rule:
                yield f"{path}: {value!r} is not among {rule}"
        elif keyword == "const":
            if value != rule:
                yield f"{path}: {value!r} is not {rule!r}"
        elif keyword == "required":
            if isinstance(value, dict):
                yield from (f"{path}: {key} is missing" for key in rule if key not in value)
        elif keyword == "properties":
            for key in members.keys() & rule.keys():
                yield from errors(value[key], rule[key], root, f"{path}.{key}")
        elif keyword == "additionalProperties":
            for key in members.keys() - schema.get("properties", {}).keys():
                if rule is False:
                    yield f"{path}: {key} is not known"
                else:
                    yield from errors(value[key], rule, root, f"{path}.{key}")
        elif keyword == "items":
            for i, entry in enumerate(value if isinstance(value, list) else []):
                yield from errors(entry, rule, root, f"{path}[{i}]")
        elif keyword in ("minItems", "minLength"):
            if isinstance(value, (list, str)) and len(value) < rule:
                yield f"{path}: shorter than {rule}"
        elif keyword == "maxItems":
            if isinstance(value, list) and len(value) > rule:
                yield f"{path}: longer than {rule}"
        elif keyword == "pattern":
            if isinstance(value, str) and not re.search(rule, value):
                yield f"{path}: {value!r} does not match {rule}"
        elif keyword == "minimum":
            if number and value < rule:
                yield f"{path}: {value} is below {rule}"
        elif keyword == "exclusiveMinimum":
            if number and value <= rule:
                yield f"{path}: {value} is not above {rule}"
        else:
            raise ValueError(f"{path}: this checker does not know {keyword}")
