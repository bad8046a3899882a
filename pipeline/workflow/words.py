"""How values are written in the words of a command, key=value each."""

import json
import re

from pipeline.study.parameters import InvalidInput

# Keys whose values are texts, whatever signs they hold.
AS_TYPED = (
    "data.path",
    "data.items",
    "data.truth",
    "outputs",
    "results",
    "formats",
    "studies",
    "store.url",
    "save",
    "origin",
    "contributor",
    "protocol.url",
    "protocol.date",
    "cluster.directives",
    "cluster.ca",
    "cluster.cert",
    "cluster.key",
)
SECRET = re.compile("secret|passw|credential|access_?key|session_?token", re.I)


def refuse_secrets(word: str) -> None:
    """Raises InvalidInput, before it is shown anywhere, for a credential as a key, also within {…},
    or in a URL.
    """
    key, _, value = word.partition("=")
    names_within = re.findall(r"(?<![\w.'\"])[\w.'\"]+(?=\s*:)", value)
    names = " ".join([key, *names_within])
    if SECRET.search(names) or re.search("://.*@", value):
        raise InvalidInput(
            key.lstrip("+~"),
            "…",
            "must not hold credentials: export AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY instead",
        )


def as_text(value: object) -> str:
    """A value of a config in the syntax of an override.

    >>> print(as_text({"m": [1, 2.5], "model": "btl", "K": None}))
    {m:[1,2.5],model:'btl',K:null}
    """
    if isinstance(value, dict):
        entries = (f"{name}:{as_text(part)}" for name, part in value.items())
        return "{" + ",".join(entries) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(as_text, value)) + "]"
    if isinstance(value, str):
        return in_quotes(value)
    if isinstance(value, float):
        return str(value)
    return json.dumps(value, default=str)  # as a text what is of a kind that no key takes


def in_quotes(text: str) -> str:
    """A text as Hydra reads it back: quotes get a backslash, and backslashes before a quote another
    one each.

    >>> print(in_quotes("a'b"), in_quotes("a\\\\b"), in_quotes("a\\\\"))
    'a\\'b' 'a\\b' 'a\\\\'
    """
    escaped = re.sub(r"(\\*)('|\Z)", _escaped, text)
    return f"'{escaped}'"


def _escaped(before_a_quote: re.Match[str]) -> str:
    backslashes, quote = before_a_quote.groups()
    return backslashes * 2 + (f"\\{quote}" if quote else "")
