"""/tokenize, /detokenize and /decode answer as vLLM, TEI and llama.cpp do."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.api.services import Services
from service.configfile.shipped import wrappings
from tests.service.api.dialects.reading import png
from tests.service.conftest import Api

QWEN, BERT, MISTRAL = "qwen3-8b", "bge-small-en-v1.5", "open-mistral-7b"
END = 151645  # <|im_end|>


def ask(api: Api, path: str, **body: Any) -> Any:
    answer = api.post(path, body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_vllm_reads_special_tokens_in_a_prompt(api: Api) -> None:
    answer = ask(api, "/tokenize", model=QWEN, prompt="Hello<|im_end|>", return_token_strs=True)
    assert answer == {
        "count": 2,
        "max_model_len": answer["max_model_len"],
        "tokens": [9707, END],
        "token_strs": ["Hello", "<|im_end|>"],
    }
    assert ask(api, "/tokenize", model=QWEN, prompt="Hello")["token_strs"] is None


def test_vllm_adds_special_tokens_to_a_prompt_unless_told_not_to(api: Api) -> None:
    added = ask(api, "/tokenize", model=MISTRAL, prompt="Hello", return_token_strs=True)
    bare = ask(api, "/tokenize", model=MISTRAL, prompt="Hello", add_special_tokens=False)
    assert added["tokens"] == [1, *bare["tokens"]]
    assert added["token_strs"][0] == "<s>"
    assert added["count"] == bare["count"] + 1


def test_vllm_renders_messages_with_the_models_own_template(api: Api) -> None:
    messages = [{"role": "user", "content": "Hi"}]
    answer = ask(api, "/tokenize", model=QWEN, messages=messages)
    decoded = ask(api, "/detokenize", model=QWEN, tokens=answer["tokens"])["prompt"]
    assert decoded == "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    assert (
        answer["count"] == len(answer["tokens"]) == api.count(request={"model": QWEN, "messages": messages})["tokens"]
    )
    bare = ask(api, "/tokenize", model=QWEN, messages=messages, add_generation_prompt=False)
    assert answer["tokens"][: bare["count"]] == bare["tokens"]
    assert bare["count"] < answer["count"]
    tool = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}
    tooled = ask(api, "/tokenize", model=QWEN, messages=messages, tools=[tool])["tokens"]
    assert '"weather"' in ask(api, "/detokenize", model=QWEN, tokens=tooled)["prompt"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"model": QWEN, "messages": [{"role": "user", "content": "Hi"}], "chat_template": "{{ 1 }}"}, "template"),
        ({"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi"}]}, "/v1/count"),
        ({"model": QWEN, "messages": [], "prompt": "Hi"}, "exactly one"),
        ({"model": "claude-sonnet-4-5", "prompt": "Hi"}, ""),
        ({"model": QWEN, "messages": [{"role": "user", "content": "Hi"}], "inputs": "Hi"}, "one of them"),
        ({"model": QWEN}, "one of them"),
    ],
)
def test_what_vllm_cannot_be_asked_here_is_refused(api: Api, body: dict[str, Any], said: str) -> None:
    answer = api.post("/tokenize", body)
    assert answer.status_code == 400
    assert said in answer.json()["error"]["message"]


def test_ids_of_a_picture_are_refused_rather_than_left_out(api: Api) -> None:
    url = {"url": f"data:image/png;base64,{png(10, 10)}"}
    messages = [{"role": "user", "content": [{"type": "image_url", "image_url": url}]}]
    answer = api.post("/tokenize", {"model": QWEN, "messages": messages})
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "messages[0].content[0]")


def test_tei_marks_the_tokens_that_it_adds_and_gives_places_in_characters(api: Api) -> None:
    answer = ask(api, "/tokenize", model=BERT, inputs=["世界 Hi", ""])
    first, second = answer
    assert [token["text"] for token in first] == ["[CLS]", "世", "界", "Hi", "[SEP]"]
    assert [(token["start"], token["stop"]) for token in first[1:-1]] == [(0, 1), (1, 2), (3, 5)]
    assert [token["special"] for token in first] == [True, False, False, False, True]
    assert (first[0]["start"], first[-1]["stop"]) == (None, None)
    assert [token["id"] for token in second] == [101, 102]
    bare = ask(api, "/tokenize", model=BERT, inputs="世界 Hi", add_special_tokens=False)
    assert bare == [first[1:-1]]


def test_a_prompt_by_name_is_refused_rather_than_left_out(api: Api) -> None:
    answer = api.post("/tokenize", {"model": BERT, "inputs": "Hi", "prompt_name": "query"})
    assert (answer.status_code, answer.json()["error_type"]) == (422, "Validation")


def test_llama_cpp_gives_bytes_where_a_token_is_no_text_of_its_own(api: Api) -> None:
    answer = ask(api, "/tokenize", model=QWEN, content="𝒳", with_pieces=True)["tokens"]
    assert b"".join(t["piece"].encode() if isinstance(t["piece"], str) else bytes(t["piece"]) for t in answer) == (
        "𝒳".encode()
    )
    assert any(isinstance(token["piece"], list) for token in answer)
    assert ask(api, "/tokenize", model=QWEN, content="𝒳")["tokens"] == [token["id"] for token in answer]


def test_llama_cpp_reads_special_tokens_unless_told_not_to_and_adds_none_unless_asked(api: Api) -> None:
    assert ask(api, "/tokenize", model=QWEN, content="<|im_end|>")["tokens"] == [END]
    assert END not in ask(api, "/tokenize", model=QWEN, content="<|im_end|>", parse_special=False)["tokens"]
    bare = ask(api, "/tokenize", model=MISTRAL, content="Hello")["tokens"]
    assert ask(api, "/tokenize", model=MISTRAL, content="Hello", add_special=True)["tokens"] == [1, *bare]


def test_llama_cpp_takes_texts_and_ids_in_one_list(api: Api) -> None:
    answer = ask(api, "/tokenize", model=QWEN, content=["Hello", END, "Hello"], with_pieces=True)["tokens"]
    assert [token["id"] for token in answer] == [9707, END, 9707]
    assert answer[1]["piece"] == "<|im_end|>"


def test_tei_leaves_special_tokens_out_of_a_text_unless_told_not_to(api: Api) -> None:
    assert ask(api, "/decode", model=QWEN, ids=[9707, END]) == ["Hello"]
    assert ask(api, "/decode", model=QWEN, ids=[[9707, END], []], skip_special_tokens=False) == ["Hello<|im_end|>", ""]


@pytest.mark.parametrize(
    ("path", "body"),
    [("/decode", {"ids": [999_999_999]}), ("/decode", {"ids": [1, [2]]}), ("/decode", {"ids": [-1]})],
)
def test_ids_that_mean_nothing_are_refused_as_tei_does(api: Api, path: str, body: dict[str, Any]) -> None:
    answer = api.post(path, {"model": QWEN, **body})
    assert answer.status_code == 422
    assert answer.json()["error"]


def test_control_tokens_come_back_as_their_literals(api: Api) -> None:
    ids = ask(api, "/tokenize", model=MISTRAL, prompt="Hello")["tokens"]
    assert ask(api, "/detokenize", model=MISTRAL, tokens=ids) == {"prompt": "<s>Hello", "content": "<s>Hello"}


@given(st.text(max_size=60))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_form_gives_the_same_ids_and_they_lead_back(api: Api, text: str) -> None:
    ids = ask(api, "/tokenize", model=QWEN, prompt=text)["tokens"]
    assert ask(api, "/detokenize", model=QWEN, tokens=ids)["content"] == unicodedata.normalize("NFC", text)
    assert ids == ask(api, "/v1/tokenize", model=QWEN, text=text, special_tokens="parse")["ids"]
    assert ids == ask(api, "/tokenize", model=QWEN, content=text)["tokens"]
    assert ids == [token["id"] for token in ask(api, "/tokenize", model=QWEN, inputs=text)[0]]


def test_every_added_literal_is_a_special_token_of_its_vocabulary(services: Services) -> None:
    specs = {spec.name: spec for spec in services.absent} | dict(services.specs)
    for name, wrapping in wrappings().items():
        tokenizer = services.weigher.tokenizers.get(name)
        known = tokenizer.special_tokens if tokenizer is not None else specs[name].special
        if known:
            assert {*wrapping.before, *wrapping.after} <= set(known), name
    for name, tokenizer in services.weigher.tokenizers.items():
        wrapping = wrappings().get(name)
        if tokenizer.added_tokens:
            assert wrapping is not None, name
            assert len(wrapping.before) + len(wrapping.after) == tokenizer.added_tokens, name
