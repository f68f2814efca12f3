"""Keys and addresses from the settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from service.providers.options import vendor_counter
from service.settings import InvalidSetting, Settings

NOBODY = lambda _provider, _outcome, _seconds: None  # noqa: E731


def made(tmp_path: Path, **env: str) -> object:
    names = {f"WEIGHBRIDGE_{name}": value for name, value in env.items()}
    return vendor_counter(Settings.from_env(names | {"WEIGHBRIDGE_DATA_DIR": str(tmp_path)}), NOBODY)


def test_without_a_key_there_is_nothing_to_ask(tmp_path):
    assert made(tmp_path) is None


def test_a_key_opens_its_vendor_and_no_other(tmp_path):
    counter = made(tmp_path, GEMINI_API_KEY="k", REMOTE="always")
    assert [counter.serves(name) for name in ("google", "openai", "anthropic", "mistral")] == [
        True,
        False,
        False,
        False,
    ]


def test_a_key_may_stand_in_a_file(tmp_path):
    (tmp_path / "key").write_text("  sk-in-a-file\n")
    counter = made(tmp_path, OPENAI_API_KEY_FILE=str(tmp_path / "key"), OPENAI_URL="http://127.0.0.1:9/v")
    assert (counter._endpoints["openai"].key, counter._endpoints["openai"].url) == (
        "sk-in-a-file",
        "http://127.0.0.1:9/v",
    )


@pytest.mark.parametrize(
    ("env", "says"),
    [
        ({"REMOTE": "always"}, "REMOTE=always needs the key of a vendor: one of WEIGHBRIDGE_ANTHROPIC_API_KEY"),
        ({"REMOTE": "sometimes"}, "never, when_inexact, always"),
        ({"OPENAI_API_KEY": "a", "OPENAI_API_KEY_FILE": "/x"}, "not both"),
        ({"OPENAI_API_KEY_FILE": "/absent/key"}, "OPENAI_API_KEY_FILE cannot be read: No such file"),
        ({"OPENAI_API_KEY": "two words"}, "OPENAI_API_KEY holds no key"),
        ({"OPENAI_API_KEY": "schlüssel"}, "OPENAI_API_KEY holds no key"),
        ({"OPENAI_API_KEY": "k" * 5000}, "OPENAI_API_KEY holds no key"),
        ({"OPENAI_URL": "http://example.com"}, "OPENAI_URL must be an address such as https://"),
        ({"OPENAI_URL": "ftp://127.0.0.1"}, "OPENAI_URL must be"),
        ({"OPENAI_URL": "https://user:pass@example.com"}, "OPENAI_URL must be"),
        ({"OPENAI_URL": "https://"}, "OPENAI_URL must be"),
        ({"OPENAI_URL": "https://example.com?key=1"}, "OPENAI_URL must be"),
        ({"OPENAI_URL": "https://[::1"}, "OPENAI_URL must be"),
        ({"OPENAI_URL": "https://h:99999"}, "OPENAI_URL must be"),
        ({"REMOTE_TIMEOUT_SECONDS": "0"}, "a number from 0.01"),
        ({"REMOTE_CONCURRENCY": "0"}, "a whole number from 1"),
    ],
)
def test_a_setting_that_cannot_be_used_is_refused_without_its_value(tmp_path, env, says):
    with pytest.raises(InvalidSetting, match=says) as refusal:
        made(tmp_path, **env)
    assert not any(value in str(refusal.value) for value in env.values() if len(value) > 10)


@pytest.mark.parametrize("content", [b"", b" \n", b"\xff\xfe", b"one\ntwo", b"k" * 5000])
def test_a_file_without_a_key_is_refused(tmp_path, content):
    (tmp_path / "key").write_bytes(content)
    with pytest.raises(InvalidSetting, match="ANTHROPIC_API_KEY_FILE"):
        made(tmp_path, ANTHROPIC_API_KEY_FILE=str(tmp_path / "key"))


@pytest.mark.parametrize("url", ["https://proxy.example/v", "http://localhost:1", "http://[::1]:1", "http://127.0.0.2"])
def test_an_address_is_of_https_or_on_this_machine(tmp_path, url):
    assert made(tmp_path, OPENAI_API_KEY="k", OPENAI_URL=url)._endpoints["openai"].url == url


def test_no_key_is_in_the_settings_own_words(tmp_path):
    settings = Settings(data_dir=tmp_path, openai_api_key="sk-never-shown")
    assert "sk-never-shown" not in repr(settings)
    assert "sk-never-shown" not in repr(vendor_counter(settings, NOBODY)._endpoints)
