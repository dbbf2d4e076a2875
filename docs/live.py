"""Serve the site to this machine alone, build it anew at every change, and reload the open pages.

The parts are those of sphinx-autobuild, whose own command knows one language only. ``live.py [PORT]``.
"""

import subprocess
import sys
from pathlib import Path

import uvicorn
from sphinx_autobuild.filter import IgnoreFilter
from sphinx_autobuild.middleware import JavascriptInjectorMiddleware
from sphinx_autobuild.server import RebuildServer
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Mount, WebSocketRoute
from starlette.staticfiles import StaticFiles

DOCS = Path(__file__).parent.resolve()
SOURCES = [DOCS, *(DOCS.parent / name for name in ("examples", "src", "benchmarks"))]
GENERATED = r"/docs/(_build|gallery)(/|$)|/__pycache__(/|$)|\.(mo|pyc)$|/execution\.json"


def build(*, changed_paths: object = ()) -> None:
    """Build the site; where that fails, its message stands in the terminal and the old site stays."""
    subprocess.run([sys.executable, DOCS / "build.py"], check=False)


def main(port: int = 8000) -> None:
    """Build once, then serve until the process is ended."""
    build()
    html = DOCS / "_build" / "html"
    if not html.is_dir():
        sys.exit("live: expected a site to serve, got none; see the message above")
    existing = [path for path in SOURCES if path.is_dir()]
    watcher = RebuildServer(existing, IgnoreFilter([], [GENERATED]), change_callback=build)
    app = Starlette(
        routes=[
            WebSocketRoute("/websocket-reload", watcher),
            Mount("/", StaticFiles(directory=html, html=True)),
        ],
        middleware=[Middleware(JavascriptInjectorMiddleware, ws_url=f"127.0.0.1:{port}")],
        lifespan=watcher.lifespan,
    )
    print(f"Serving on http://127.0.0.1:{port}", flush=True)
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
