#!/usr/bin/env python3
"""Renders the templates of templates.py with Python's jinja2, set up as HuggingFace transformers does, and writes expected.json
beside this. Ran with jinja2 3.1.6 and transformers 5.24.0 on Python 3.11.7.

    TZ=UTC tests/golden/chat_templates/make.py
"""
import datetime
import json
import pathlib

import transformers.utils.chat_template_utils as hub

import templates

# 2024-07-26 09:05:07.089 UTC, which strftime_now formats.
NOW = 1721984707.089


class Clock(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return datetime.datetime.fromtimestamp(NOW, datetime.timezone.utc).replace(tzinfo=None)


hub.datetime = Clock


def rendered(source, variables):
    """The text, or the text of raise_exception, or the name of any other error."""
    try:
        return {"text": hub._compile_jinja_template(source).render(**variables)}
    except Exception as error:
        if type(error).__name__ == "TemplateError":
            return {"raised": str(error)}
        return {"error": type(error).__name__}


def case(name, source, variables):
    return {"name": name, "source": source, "variables": variables, **rendered(source, variables)}


cases = [case(name, source, templates.VARIABLES) for name, source in templates.CONSTRUCTS]
cases += [case(f"expression {i}", "{{ " + text + " }}", templates.VARIABLES) for i, text in enumerate(templates.EXPRESSIONS)]
cases += [case(f"error {i}", text, templates.VARIABLES) for i, text in enumerate(templates.ERRORS)]
for style, source in templates.STYLES:
    for name, variables in templates.conversations():
        cases.append(case(f"{style}, {name}", source, variables))

# A source and a set of variables is written once.
sources, variables, rows = [], [], []
for entry in cases:
    if entry["source"] not in sources:
        sources.append(entry["source"])
    if entry["variables"] not in variables:
        variables.append(entry["variables"])
    result = {key: entry[key] for key in ("text", "raised", "error") if key in entry}
    rows.append({"name": entry["name"], "source": sources.index(entry["source"]), "variables": variables.index(entry["variables"]), **result})
for i in range(len(templates.ERRORS)):
    assert next("text" not in row for row in rows if row["name"] == f"error {i}"), templates.ERRORS[i]
for row in rows:
    assert "error" not in row or row["name"].startswith("error"), row

expected = {"now": NOW, "sources": sources, "variables": variables, "cases": rows}
path = pathlib.Path(__file__).with_name("expected.json")
path.write_text(json.dumps(expected, ensure_ascii=False, indent=0) + "\n")
print(f"{len(rows)} cases, {path.stat().st_size} bytes")
