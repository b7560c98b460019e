"""What a page may load and run: a Content-Security-Policy, which the reader's browser enforces.

Nothing from elsewhere and no request to elsewhere, and of the scripts in a page those that were
there when it was built. Styles in a page stay allowed, since KaTeX sets each sign with them.
"""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from html import escape
from pathlib import Path

from tools.finishing.pages import pages_of, replaced

CHARSET = re.compile(r'<meta charset="utf-8"[^>]*>')
# Scripts that run; data has a type.
INLINE = re.compile(r"<script(?![^>]*\b(?:src|type)=)[^>]*>(.*?)</script>", re.DOTALL)
# In a folder, a browser need not take another file for the page's own.
OWN = "'self' file:"


def guarded(text: str, where: object) -> str:
    """The page with its policy, before all that the policy is about."""
    hashes = (b64encode(sha256(code.encode()).digest()).decode() for code in INLINE.findall(text))
    scripts = "".join(f" 'sha256-{one}'" for one in dict.fromkeys(hashes))
    policy = "; ".join(
        [
            f"default-src {OWN}",
            f"script-src {OWN}{scripts}",
            f"style-src {OWN} 'unsafe-inline'",
            f"img-src {OWN} data:",
            f"form-action {OWN}",
            "base-uri 'none'",
            "object-src 'none'",
        ]
    )
    tag = f'<meta http-equiv="Content-Security-Policy" content="{escape(policy, quote=False)}">'
    return replaced(text, CHARSET, lambda found: f"{found[0]}\n{tag}", where)


def guard(site: Path) -> None:
    """Rewrite all pages of a finished site."""
    for path in (*pages_of(site), site / "index.html"):
        path.write_text(guarded(path.read_text("utf-8"), path), "utf-8")
