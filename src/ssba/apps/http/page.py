"""The page that people use in a browser: plain files beside this package, sent as they are."""

from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from ssba.apps.http.settings import PAGE, PAGE_FILES

FOLDER = Path(__file__).parents[1] / "page"

_INDEX = "index.html"
_ICON = "icon.svg"
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}

# Nothing but the page's own files runs or styles it, and no text can become markup.
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' blob:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)


def page_files() -> dict[str, bytes]:
    """Return the files of the page by their names."""
    return {one.name: one.read_bytes() for one in sorted(FOLDER.iterdir()) if one.suffix in _TYPES}


def add_page(app: FastAPI) -> None:
    """Add the routes of the page; its files are read once."""
    files = page_files()

    def sent(name: str) -> Response:
        if name not in files:
            raise HTTPException(404)
        headers = {"Content-Security-Policy": POLICY, "Cross-Origin-Opener-Policy": "same-origin"}
        if name == _ICON:
            # Browsers ask for it whenever the address changes, which is at every movement.
            headers["Cache-Control"] = "max-age=86400"
        return Response(files[name], media_type=_TYPES[Path(name).suffix], headers=headers)

    @app.get(PAGE, include_in_schema=False)
    async def index() -> Response:
        return sent(_INDEX)

    @app.get(PAGE_FILES + "{name}", include_in_schema=False)
    async def file(request: Request) -> Response:
        return sent(request.path_params["name"])
