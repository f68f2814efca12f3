"""Runs in an environment of the clients alone: ``python calls.py ADDRESS < cases.json``; every call, sync and async.

Writes one JSON object: the clients' versions, and what each call gave, a number of tokens or the error raised.
"""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import anthropic
import google.genai
import openai
from google.genai import errors, types

KEY = "sk-zebra7secret"


def said(error: Exception) -> dict[str, Any]:
    """What a program can read of an error."""
    if isinstance(error, errors.APIError):
        return {"error": type(error).__name__, "status": error.code, "word": error.status}
    assert isinstance(error, (openai.APIStatusError, anthropic.APIStatusError)), repr(error)
    word = error.code if isinstance(error, openai.APIStatusError) else error.body["error"]["type"]
    return {
        "error": type(error).__name__,
        "status": error.status_code,
        "word": word,
        "identified": bool(error.request_id),
    }


def sync(call: Callable[[], Any]) -> dict[str, Any]:
    try:
        return {"tokens": tokens(call())}
    except (openai.APIStatusError, anthropic.APIStatusError, errors.APIError) as error:
        return said(error)


async def awaited(call: Callable[[], Awaitable[Any]]) -> dict[str, Any]:
    try:
        return {"tokens": tokens(await call())}
    except (openai.APIStatusError, anthropic.APIStatusError, errors.APIError) as error:
        return said(error)


def tokens(answer: Any) -> int:
    return answer.input_tokens if hasattr(answer, "input_tokens") else answer.total_tokens


def contents(case: dict[str, Any]) -> Any:
    """Google's contents, pictures as bytes."""
    if isinstance(case["contents"], str):
        return case["contents"]
    parts = [
        types.Part.from_bytes(data=base64.b64decode(part["inlineData"]["data"]), mime_type="image/png")
        if "inlineData" in part
        else types.Part(text=part["text"])
        for part in case["contents"][0]["parts"]
    ]
    return [types.Content(role=case["contents"][0]["role"], parts=parts)]


def config(case: dict[str, Any]) -> types.CountTokensConfig | None:
    if "systemInstruction" not in case:
        return None
    declared = case["tools"][0]["functionDeclarations"][0]
    function = types.FunctionDeclaration(name=declared["name"], description=declared["description"])
    system = case["systemInstruction"]["parts"][0]["text"]
    return types.CountTokensConfig(system_instruction=system, tools=[types.Tool(function_declarations=[function])])


def clients(address: str) -> tuple[Any, ...]:
    options = types.HttpOptions(base_url=address)
    return (
        openai.OpenAI(base_url=f"{address}/v1", api_key=KEY),
        anthropic.Anthropic(base_url=address, api_key=KEY),
        google.genai.Client(api_key=KEY, http_options=options),
        google.genai.Client(vertexai=True, api_key=KEY, http_options=options),
    )


def of_vertex(address: str) -> dict[str, Any]:
    """What a client of Anthropic's models on Vertex AI is made with."""
    return {"base_url": f"{address}/v1", "project_id": "p-1", "region": "us-east5", "access_token": KEY}


def all_sync(address: str, cases: dict[str, Any]) -> dict[str, Any]:
    gpt, claude, gemini, vertex = clients(address)
    claude_vertex = anthropic.AnthropicVertex(**of_vertex(address))
    found = {}
    for name, case in cases["anthropic_vertex"].items():
        found[f"anthropic_vertex.{name}"] = sync(lambda case=case: claude_vertex.messages.count_tokens(**case))
    for name, case in cases["openai"].items():
        found[f"openai.{name}"] = sync(lambda case=case: gpt.responses.input_tokens.count(**case))
    for name, case in cases["anthropic"].items():
        found[f"anthropic.{name}"] = sync(lambda case=case: claude.messages.count_tokens(**case))
        found[f"anthropic_beta.{name}"] = sync(lambda case=case: claude.beta.messages.count_tokens(**case))
    for client, kind in ((gemini, "gemini"), (vertex, "vertex")):
        for name, case in cases[kind].items():
            asked = {"model": case["model"], "contents": contents(case), "config": config(case)}
            found[f"{kind}.{name}"] = sync(lambda asked=asked, client=client: client.models.count_tokens(**asked))
    return found


async def all_async(address: str, cases: dict[str, Any]) -> dict[str, Any]:
    _, _, gemini, vertex = clients(address)
    gpt = openai.AsyncOpenAI(base_url=f"{address}/v1", api_key=KEY)
    claude = anthropic.AsyncAnthropic(base_url=address, api_key=KEY)
    claude_vertex = anthropic.AsyncAnthropicVertex(**of_vertex(address))
    found = {}
    for name, case in cases["anthropic_vertex"].items():
        found[f"anthropic_vertex.{name}"] = await awaited(lambda case=case: claude_vertex.messages.count_tokens(**case))
    for name, case in cases["openai"].items():
        found[f"openai.{name}"] = await awaited(lambda case=case: gpt.responses.input_tokens.count(**case))
    for name, case in cases["anthropic"].items():
        found[f"anthropic.{name}"] = await awaited(lambda case=case: claude.messages.count_tokens(**case))
        found[f"anthropic_beta.{name}"] = await awaited(lambda case=case: claude.beta.messages.count_tokens(**case))
    for client, kind in ((gemini, "gemini"), (vertex, "vertex")):
        for name, case in cases[kind].items():
            asked = {"model": case["model"], "contents": contents(case), "config": config(case)}
            found[f"{kind}.{name}"] = await awaited(
                lambda asked=asked, client=client: client.aio.models.count_tokens(**asked)
            )
    return found


def main() -> None:
    address, cases = sys.argv[1], json.load(sys.stdin)
    versions = {"openai": openai.__version__, "anthropic": anthropic.__version__, "google": google.genai.__version__}
    answers = {"sync": all_sync(address, cases), "async": asyncio.run(all_async(address, cases))}
    json.dump({"versions": versions, "answers": answers}, sys.stdout)


if __name__ == "__main__":
    main()
