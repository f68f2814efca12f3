"""The ``[[webhook]]`` rows of the configuration file."""

from __future__ import annotations

from pathlib import Path

import pytest

from service.configfile import read_config
from service.domain.errors import InvalidConfig
from service.domain.spending.alerts import AlertKind, Target

SECRET = "not-to-be-shown-anywhere"


def read(folder: Path, text: str, env: dict[str, str] | None = None) -> tuple[Target, ...]:
    path = folder / "weighbridge.toml"
    path.write_text(text)
    return read_config(path, {}, env={"HOOK": SECRET} if env is None else env).webhooks


def test_a_row_with_every_key(tmp_path):
    [target] = read(
        tmp_path,
        '[[webhook]]\nurl = "http://10.0.0.7:8080/x"\nsecret_env = "HOOK"\nevents = ["price.unknown"]\n'
        "allow_private = true\n",
    )
    events = frozenset({AlertKind.PRICE_UNKNOWN})
    assert target == Target("http://10.0.0.7:8080/x", SECRET.encode(), events, allow_private=True)
    assert SECRET not in repr(target)
    assert "10.0.0.7" not in repr(target)


def test_without_events_all_are_sent_and_a_file_may_hold_the_secret(tmp_path):
    (tmp_path / "hook").write_text("whsec_MDEyMzQ1Njc4OWFiY2RlZg==\n")
    [target] = read(tmp_path, '[[webhook]]\nurl = "https://hook.example/"\nsecret_file = "hook"\n')
    assert target == Target("https://hook.example/", b"0123456789abcdef")
    assert target.events == set(AlertKind)


def test_who_does_not_send_needs_no_secret(tmp_path):
    path = tmp_path / "weighbridge.toml"
    path.write_text('[[webhook]]\nurl = "https://hook.example/"\nsecret_env = "NOT_SET"\n')
    [target] = read_config(path, {}).webhooks
    assert target.secret == b""


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ('url = "http://hook.example/"', "https"),
        ('url = "ftp://hook.example/"', "https"),
        ('url = "https://user:pass@hook.example/"', "https"),
        ('url = "https://"', "https"),
        ('url = "https://[::1/"', "https"),
        ('url = "https://hook.example/#part"', "https"),
        ('secret_env = "NOT_SET"', "not set"),
        ('secret_env = "SHORT"', "16"),
        ('secret_env = "BROKEN"', "base64"),
        ('secret_file = "nowhere"', "not both"),
        ('events = ["budget.warning", "budget.happy"]', "budget.exceeded"),
        ("allow_private = 1", "true or false"),
        ('secret = "x"', "secret"),
    ],
)
def test_a_wrong_row_is_refused_with_its_line(tmp_path, line, text):
    key = line.partition(" ")[0]
    rows = {"url": 'url = "https://hook.example/"', "secret_env": 'secret_env = "HOOK"', key: line}
    env = {"HOOK": SECRET, "SHORT": "x" * 15, "BROKEN": "whsec_!!!"}
    with pytest.raises(InvalidConfig) as caught:
        read(tmp_path, "[[webhook]]\n" + "\n".join(rows.values()), env)
    assert text in str(caught.value)
    assert SECRET not in str(caught.value)


def test_a_file_that_is_not_there_and_a_url_that_is_there_twice(tmp_path):
    row = '[[webhook]]\nurl = "https://hook.example/"\n'
    with pytest.raises(InvalidConfig, match="cannot be read"):
        read(tmp_path, row + 'secret_file = "nowhere"\n')
    with pytest.raises(InvalidConfig, match="twice"):
        read(tmp_path, (row + 'secret_env = "HOOK"\n') * 2)
