"""The service anyone would write first: FastAPI, pydantic and tiktoken. A peer, not a part of the product."""

from __future__ import annotations

import sys

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

from adapters.loader import LoaderOptions, Vocabularies
from adapters.manifest import read_manifest

app = FastAPI()
library = Vocabularies(read_manifest().vendored, LoaderOptions(engine="library"))
encoding = library.load("o200k_base")._encoding  # type: ignore[attr-defined]  # verified ranks


class Body(BaseModel):
    model: str
    text: str


@app.post("/v1/count")
async def count(body: Body) -> dict[str, int]:
    return {"tokens": len(encoding.encode_ordinary(body.text))}


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning", access_log=False)
