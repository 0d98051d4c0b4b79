"""Two of the tools on the official Python SDK's server, as its documentation writes one: what `cargo xtask bench mcp` compares with.

    mcp_peer.py ROOT
"""

import re
import sys
from pathlib import Path
from typing import Annotated

from mcp.server import MCPServer
from pydantic import BaseModel, Field

ROOT = Path(sys.argv[1]).resolve()
LOG = ROOT / "app/logs/app.log"
NOTES = ROOT / "app/data/notes"
WINDOW_BYTES = 262_144
NOTE_BYTES = 65_536
LEVEL = re.compile(r"\b(DEBUG|INFO|WARNING|ERROR)\b")

server = MCPServer("peer")


class Line(BaseModel):
    n: int
    level: str | None
    text: str
    cut: bool


class Tail(BaseModel):
    lines: list[Line]
    truncated: bool
    size: int


class Note(BaseModel):
    name: str
    size: int
    text: str
    truncated: bool


@server.tool()
def log_tail(lines: Annotated[int, Field(ge=1, le=200)] = 50) -> Tail:
    with LOG.open("rb") as file:
        size = file.seek(0, 2)
        start = max(0, size - WINDOW_BYTES)
        file.seek(start)
        text = file.read(size - start).decode(errors="replace")
    last = list(enumerate(text.splitlines(), 1))[-lines:]
    return Tail(
        lines=[
            Line(n=n, level=level[0] if (level := LEVEL.search(line[:80])) else None, text=line[:500], cut=len(line) > 500)
            for n, line in last
        ],
        truncated=start > 0,
        size=size,
    )


@server.tool()
def note_read(name: Annotated[str, Field(min_length=1, max_length=200)]) -> Note:
    path = (NOTES / name).resolve()
    if not path.is_relative_to(NOTES):
        raise ValueError("outside_notes")
    data = path.read_bytes()
    text = data[:NOTE_BYTES].decode(errors="replace")
    return Note(name=name, size=len(data), text=text, truncated=len(data) > NOTE_BYTES)


if __name__ == "__main__":
    server.run("stdio")
