"""Parts of text files that a command rewrites, between two markers."""

from __future__ import annotations

import re

from planaris.errors import FileFormatError


def insert_between(text: str, begin: str, end: str, body: str) -> str:
    r"""Return a text with ``body`` put on the lines between its two marks.

    >>> insert_between("a\n<!-- x -->\nold\n<!-- y -->\nb", "<!-- x -->", "<!-- y -->", "new")
    'a\n<!-- x -->\nnew\n<!-- y -->\nb'
    """
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    if len(pattern.findall(text)) != 1:
        msg = f"the file must have one pair of lines '{begin}' and '{end}'"
        raise FileFormatError(msg, line=None)
    return pattern.sub(lambda _: f"{begin}\n{body}\n{end}", text)
