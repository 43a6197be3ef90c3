# SPDX-License-Identifier: GPL-2.0-only
"""Follows the links of documents. It knows Markdown's links, and nothing of what installs the documents."""

import re

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def links(document):
    """Returns the files that a document's relative links name."""
    targets = [target.partition("#")[0] for target in LINK.findall(document.read_text())]
    return [target for target in targets if target and not re.match(r"[a-z]+:", target)]


def followed(root):
    """Follows all links of the *.md below a directory, which must not lead out of it.

    Returns how many there are, and the dead ones as "document: target".
    """
    root = root.resolve()
    nr, dead = 0, []
    for document in sorted(root.rglob("*.md")):
        for target in links(document):
            file = (document.parent / target).resolve()
            nr += 1
            if not (file.exists() and file.is_relative_to(root)):
                dead.append(f"{document.relative_to(root)}: {target}")
    return nr, dead
