"""Free text as a name: what counts as the same name, and what it is called on disk.

Pure, and the same for ever in every clone: Unicode is taken as version 3.2 knew it, so
that characters which later versions add change no name that exists.
"""

import re
import unicodedata
from hashlib import sha256
from itertools import groupby
from typing import Literal

from gitmail.records.names import is_component
from gitmail.records.text import check_length, check_line

NAME_LIMIT = 200
"""Characters of an entity, an attribute, a task or an aspect."""
TAG_LIMIT = 64
"""Characters of a tag."""
_UNICODE = unicodedata.ucd_3_2_0
_UNASSIGNED = "Cn"
_DIGEST_DIGITS = 12
_LONGEST = 40
# What `component_of` itself could have made of another name.
_HAS_DIGEST = re.compile(r"(?:^|-)[0-9a-f]{12}\Z", re.ASCII)
_SLUG_LIMIT = 40


def key_of(text: str) -> str:
    """Return the form in which names are compared.

    Case, Unicode form and the amount and kind of white space make no difference
    (canonical caseless matching, Unicode 3.13).
    """
    folded = "".join(map(_fold, _normalize("NFD", text)))
    return " ".join(_normalize("NFC", folded).split())


def check_name(field: str, text: object) -> str:
    """Return a name as it is to be shown: one line, single spaces.

    Raises:
        InvalidTextError: The text holds a control or line-breaking character.
        InvalidArgumentError: It is blank, too long, or no text at all.
    """
    line = check_line(field, text, NAME_LIMIT, may_be_empty=False)
    # Some characters become several, and what is read must fit as well.
    shown = " ".join(_normalize("NFC", line).split())
    return check_length(field, shown, NAME_LIMIT)


def check_tag(text: str) -> str:
    """Return a tag in the form in which tags are stored and compared.

    Raises:
        InvalidTextError: The text holds a control or line-breaking character.
        InvalidArgumentError: It is blank, too long, or no text at all.
    """
    line = check_line("tag", text, TAG_LIMIT, may_be_empty=False)
    return check_length("tag", key_of(line), TAG_LIMIT)


def component_of(key: str) -> str:
    """Return the file or folder name of a key (DESIGN 4).

    The key itself where that is a good name of at most 40 characters; otherwise what
    can be kept of it, and a digest, so that no two keys share a name.
    """
    is_name = is_component(key) and len(key) <= _LONGEST
    if is_name and not _HAS_DIGEST.search(key):
        return key
    digest = sha256(key.encode()).hexdigest()[:_DIGEST_DIGITS]
    slug = slugify(key)
    return f"{slug}-{digest}" if slug else digest


def slugify(text: str) -> str:
    """Return up to 40 characters of `[a-z0-9-]` that remind of the text."""
    plain = _UNICODE.normalize("NFKD", text).encode("ascii", "ignore").decode()
    slug = re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")
    return slug[:_SLUG_LIMIT].strip("-")


def _fold(character: str) -> str:
    # What this version of Unicode does not have may get upper and lower case later.
    return character.casefold() if _is_known(character) else character


def _normalize(form: Literal["NFC", "NFD"], text: str) -> str:
    # Nor may what it does not have be put in another order, as later versions do.
    runs = groupby(text, _is_known)
    return "".join(
        _UNICODE.normalize(form, "".join(run)) if is_known else "".join(run)
        for is_known, run in runs
    )


def _is_known(character: str) -> bool:
    return _UNICODE.category(character) != _UNASSIGNED
