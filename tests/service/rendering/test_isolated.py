"""A stranger's template runs in another process, and cannot keep or fill this one."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from adapters.port import DeadlineExceeded, Stop
from service.domain.errors import ChatNotRendered
from service.rendering.isolated import MAX_OUTPUT
from tests.service.rendering.conftest import AnyModel, model

Build = Callable[..., AnyModel]
HELLO = [{"role": "user", "content": "Hello <|im_end|>"}]


def own(renderer: Build, source: str, messages: Any = HELLO, **given: Any) -> Any:
    return renderer("qwen3", allow_own=True).render(model(), messages, template=source, **given)


def test_a_template_of_ones_own_is_rendered_with_the_same_rules(renderer: Build) -> None:
    source = (
        "{% for m in messages %}\n<|im_start|>{{ m.content }}\n{% endfor %}{{ strftime_now('%Y') }}{{ '<é>'|tojson }}"
    )
    here = renderer("own", source=source).render(model(), HELLO)
    there = own(renderer, source)
    assert there == here
    assert there.text == '<|im_start|>Hello <|im_end|>\n2026"<é>"'
    assert (there.template, there.literals) == ("own", 1)


def test_its_variables_tools_and_surrogates_arrive(renderer: Build) -> None:
    source = "{{ tools[0].name }}{{ mood }}{{ messages[0].content }}{{ add_generation_prompt }}{{ documents is none }}"
    done = own(renderer, source, [{"role": "user", "content": "\ud83d"}], tools=[{"name": "f"}], options={"mood": "!"})
    assert done.text == "f!\ud83dTrueTrue"


def test_parts_reach_a_template_that_loops_over_them(renderer: Build) -> None:
    source = "{% for m in messages %}{% for p in m['content'] %}{{ p.type }}{% endfor %}{% endfor %}"
    assert own(
        renderer, source, [{"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "image"}]}]
    ).text == ("textimage")


@pytest.mark.parametrize(
    "source",
    [
        "{{ 'a' * 10**9 }}",
        "{{ 'a'.ljust(10**9) }}",
        "{{ '%1000000000d' % 1 }}",
        "{{ 2 ** 999999999 }}",
        "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
        "{% for i in range(99999) %}{{ 'y' * 1000 }}{% endfor %}",
        "{{ range(10**9) }}",
        "{{ messages.__class__.__mro__[1].__subclasses__() }}",
        "{{ cycler.__init__.__globals__ }}",
        "{% include '/etc/passwd' %}",
        "{{ raise_exception('secret') }}",
        "{{ nothing.at.all }}",
        "{% if",
        "{{ 'x' | nofilter }}",
    ],
)  # fmt: skip
def test_work_without_end_and_ways_out_are_refused(renderer: Build, source: str) -> None:
    with pytest.raises(ChatNotRendered) as refused:
        own(renderer, source)
    assert "secret" not in str(refused.value)


def test_the_largest_output_fits_and_more_does_not(renderer: Build) -> None:
    assert len(own(renderer, f"{{{{ 'x' * {MAX_OUTPUT} }}}}").text) == MAX_OUTPUT
    with pytest.raises(ChatNotRendered, match="longer than"):
        own(renderer, f"{{{{ 'x' * {MAX_OUTPUT + 1} }}}}")


def test_a_syntax_error_is_named_by_its_line(renderer: Build) -> None:
    with pytest.raises(ChatNotRendered, match="syntax error in line 2"):
        own(renderer, "fine\n{% for %}")


def test_a_deadline_that_has_passed_is_kept(renderer: Build) -> None:
    with pytest.raises(DeadlineExceeded):
        own(renderer, "x", stop=Stop(0, clock=lambda: 1))


def test_the_environment_and_the_clock_are_the_services_own(renderer: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert own(renderer, "{{ strftime_now('%d %b %Y %H') }}").text == datetime(2026, 11, 30, 12, tzinfo=UTC).strftime(
        "%d %b %Y %H"
    )
