"""Settings from the environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from service.settings import InvalidSetting, Settings, default_data_dir, unknown_variables


def test_without_variables_the_data_directory_is_the_users():
    assert default_data_dir({"XDG_DATA_HOME": "/x"}) == Path("/x/weighbridge")
    assert default_data_dir({}) == Path.home() / ".local/share/weighbridge"


def test_each_variable_sets_its_field():
    settings = Settings.from_env(
        {
            "WEIGHBRIDGE_DATA_DIR": "/d",
            "WEIGHBRIDGE_CONFIG": "/c.toml",
            "WEIGHBRIDGE_LOG": "TEXT",
            "WEIGHBRIDGE_VOCABULARIES": "qwen, tekken,",
            "WEIGHBRIDGE_MAX_BODY_BYTES": "2048",
            "WEIGHBRIDGE_DEADLINE_SECONDS": "0.5",
            "WEIGHBRIDGE_REQUIRE_NATIVE": "1",
        }
    )
    assert (settings.data_dir, settings.config_file, settings.log) == (Path("/d"), Path("/c.toml"), "text")
    assert (settings.vocabularies, settings.max_body_bytes) == (("qwen", "tekken"), 2048)
    assert settings.deadline_seconds == 0.5
    assert settings.require_native


def test_an_empty_variable_is_as_good_as_none():
    assert Settings.from_env({"WEIGHBRIDGE_LOG": " ", "WEIGHBRIDGE_DATA_DIR": "/d"}).log == "json"


def test_the_configuration_file_lies_in_the_data_directory_by_default():
    assert Settings(data_dir=Path("/d")).config_file == Path("/d/weighbridge.toml")


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        ("WEIGHBRIDGE_LOG", "loud", "json, text, off"),
        ("WEIGHBRIDGE_ENGINE", "rust", "native, library, python"),
        ("WEIGHBRIDGE_REQUIRE_NATIVE", "yes", "0 or 1"),
        ("WEIGHBRIDGE_WORKERS", "0", "a whole number from 1"),
        ("WEIGHBRIDGE_WORKERS", "two", "a whole number from 1"),
        ("WEIGHBRIDGE_MAX_BODY_BYTES", "1e6", "a whole number from 1024"),
        ("WEIGHBRIDGE_DEADLINE_SECONDS", "nan", "a number from 0.01"),
        ("WEIGHBRIDGE_DEADLINE_SECONDS", "-1", "a number from 0.01"),
        ("WEIGHBRIDGE_RATE_LIMIT", "600 per minute", "600/minute"),
        ("WEIGHBRIDGE_REDIS_URL", "127.0.0.1:6379", "redis://"),
        ("WEIGHBRIDGE_REDIS_URL", "redis://:secret@host:x/0", "redis://"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_with_what_may_be(variable, value, says):
    with pytest.raises(InvalidSetting, match=says) as refusal:
        Settings.from_env({variable: value, "WEIGHBRIDGE_DATA_DIR": "/d"})
    assert variable in str(refusal.value)


def test_a_misspelt_variable_is_pointed_out():
    assert unknown_variables({"WEIGHBRIDGE_LOGS": "off", "PATH": "/", "WEIGHBRIDGE_TEST_CASES": "/c"}) == [
        "WEIGHBRIDGE_LOGS is not a setting and has no effect. Did you mean WEIGHBRIDGE_LOG?"
    ]
