"""``[[price]]`` and ``[[multiplier]]`` in a file: what is read, and what is refused with which line."""

from __future__ import annotations

import os
from datetime import UTC, datetime, time
from decimal import Decimal
from pathlib import Path

import pytest

from service.configfile import read_config
from service.configfile.document import Document
from service.configfile.prices import PriceFile, provider_ids, read_prices
from service.domain.errors import InvalidConfig
from service.domain.prices import Multiplier, PriceRow, Tier, Window
from service.domain.resolution import Host
from service.pricebook.toml import toml_of

HOSTS = [
    Host("acme", prefixes=("acme/",), names=("acme-ai",)),
    Host("cloud", prefixes=("cloud/", "cloud/models/"), names=("aws",), vendors=("*",), price_provider="aws"),
    Host("shop"),
]
PRICE = '\n[[price]]\nprovider = "acme"\nmodel = "large"\n'


def read(folder: Path, text: str, *, sourced: bool = False) -> PriceFile:
    path = folder / "prices.toml"
    path.write_text(text, encoding="utf-8")
    document = Document(path, ("price", "multiplier", "model"))
    return read_prices(document, provider_ids(HOSTS, ["mine"]), hosts=HOSTS, sourced=sourced)


def row(folder: Path, text: str) -> PriceRow:
    (found,) = read(folder, PRICE + text).rows
    return found


def multiplier(folder: Path, text: str) -> Multiplier:
    (found,) = read(folder, f'[[multiplier]]\nprovider = "acme"\n{text}\n').multipliers
    return found


def test_a_row_is_read_with_every_key(tmp_path: Path) -> None:
    found = row(
        tmp_path,
        """
        from = 2026-08-17
        to = 2026-09-10T06:00:00+02:00
        service_tier = "batch"
        input_mtok = "0.15"
        output_mtok = "0.6"
        web_searches_kcount = "10"
        tiers = [{above_input = 32000, input_mtok = "0.3"}, {above_input = 128000, inclusive = true, input_mtok = "1"}]
        windows = [{days = [1, 5], utc = "01:00-04:00"}, {utc = "22:00-24:00"}]
        source = "a price page"
        checked = 2026-11-29
        """,
    )
    assert (found.provider, found.model, found.service_tier, found.free) == ("acme", "large", "batch", False)
    assert (found.start, found.end) == (datetime(2026, 8, 17, tzinfo=UTC), datetime(2026, 9, 10, 4, tzinfo=UTC))
    assert {key: str(rate.base) for key, rate in found.rates.items()} == {
        "input_mtok": "0.15",
        "output_mtok": "0.6",
        "web_searches_kcount": "10",
    }
    assert found.rates["input_mtok"].tiers == (
        Tier(32000, Decimal("0.3")),
        Tier(128000, Decimal(1), inclusive=True),
    )
    assert found.rates["output_mtok"].tiers == ()
    assert found.windows == (
        Window(frozenset({0, 4}), time(1), time(4)),
        Window(frozenset(range(7)), time(22), time()),
    )
    assert (found.source, found.checked) == ("a price page", "2026-11-29")


def test_a_row_can_say_that_a_model_is_free_or_that_its_price_is_not_known(tmp_path: Path) -> None:
    assert row(tmp_path, "free = true\n").free
    unknown = row(tmp_path, "unknown = true\n")
    assert (unknown.free, dict(unknown.rates)) == (False, {})


def test_numbers_are_exact_however_they_are_written(tmp_path: Path) -> None:
    assert row(tmp_path, 'input_mtok = "0.1"\n').rates["input_mtok"].base == Decimal("0.1")
    assert row(tmp_path, "input_mtok = 0.1\n").rates["input_mtok"].base == Decimal("0.1")
    assert row(tmp_path, "input_mtok = 3\n").rates["input_mtok"].base == Decimal(3)


def test_defaults_stand_in_for_what_a_row_leaves_out(tmp_path: Path) -> None:
    head = '[defaults]\nprovider = "acme"\nsource = "a page"\nchecked = 2026-11-29\n'
    found = read(tmp_path, head + '[[price]]\nmodel = "x"\nfree = true\n', sourced=True).rows[0]
    assert (found.provider, found.source, found.checked) == ("acme", "a page", "2026-11-29")


def test_names_are_read_as_they_are_looked_up_and_providers_by_any_of_their_names(tmp_path: Path) -> None:
    names = {"acme": "acme", "Acme-AI": "acme", "aws": "cloud", "cloud": "cloud", "mine": "mine"}
    for written, expected in names.items():
        text = f'[[price]]\nprovider = "{written}"\nmodel = " Large  2 "\nfree = true\n'
        assert [(r.provider, r.model) for r in read(tmp_path, text).rows] == [(expected, "large-2")]


def test_the_users_rows_have_the_files_name_and_day_where_they_say_nothing(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    text = PRICE + "free = true\n"
    first = read(tmp_path, text)
    os.utime(path, (1_795_910_400, 1_795_910_400))  # 2026-11-29T00:00:00Z
    again = read_prices(Document(path, ("price",)), provider_ids(HOSTS))
    assert (again.rows[0].source, again.rows[0].checked) == ("prices.toml", "2026-11-29")
    assert first.revision == again.revision == again.rows[0].revision
    assert len(first.revision) == 12
    assert read(tmp_path, text + "\n").revision != first.revision


def test_a_multiplier_is_read_with_every_key(tmp_path: Path) -> None:
    found = multiplier(tmp_path, 'match = {region = "us"}\nfactor = "1.1"\nmodels = ["Large"]\nfrom = 2026-08-01\n')
    assert (found.provider, dict(found.match), found.factor) == ("acme", {"region": "us"}, Decimal("1.1"))
    assert (found.models, found.start) == (frozenset({"large"}), datetime(2026, 8, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('input_mtok = "1"\nprice = "2"\n', 6, "Unknown key 'price'"),
        ('input_mtok = "-0.1"\n', 5, "at least 0"),
        ('input_mtok = "NaN"\n', 5, "at least 0"),
        ('output_mtok = "1"\ninput_mtok = "Infinity"\n', 6, "at least 0"),
        ('input_mtok = "one"\n', 5, "at least 0"),
        ("input_mtok = true\n", 5, "at least 0"),
        ('input_mtok = "1000.01"\n', 5, "beyond reason"),
        ('input_mtok = "15000"\n', 5, "beyond reason"),
        ('output_video_seconds = "101"\n', 5, "beyond reason"),
        ('input_mtok = "0"\noutput_mtok = "0"\n', 5, "free = true"),
        ("", 2, "one of them"),
        ("free = false\n", 2, "one of them"),
        ('free = true\ninput_mtok = "1"\n', 2, "one of them"),
        ("free = true\nunknown = true\n", 2, "one of them"),
        ('free = "yes"\n', 5, "true or false"),
        ('from = "2026-08-17"\nfree = true\n', 5, "without quotation marks"),
        ("from = 2026-08-17T00:00:00\nfree = true\n", 5, "offset"),
        ("from = 2026-08-17\nto = 2026-08-17\nfree = true\n", 6, "before"),
        ('service_tier = "turbo"\nfree = true\n', 5, "must be one of"),
        ('input_mtok = "1"\ntiers = [{input_mtok = "2"}]\n', 6, "above_input"),
        ('input_mtok = "1"\ntiers = [{above_input = 0, input_mtok = "2"}]\n', 6, "above_input"),
        ('input_mtok = "1"\ntiers = [{above_input = 5, inclusive = 1, input_mtok = "2"}]\n', 6, "inclusive"),
        ('input_mtok = "1"\ntiers = [{above_input = 5, output_mtok = "2"}]\n', 6, "units that the row itself"),
        (
            'input_mtok = "1"\ntiers = [{above_input = 5, up_to = 9, input_mtok = "2"}]\n',
            6,
            "units that the row itself",
        ),
        ('input_mtok = "1"\ntiers = [{above_input = 5}]\n', 6, "units that the row itself"),
        ('input_mtok = "1"\ntiers = [{above_input = 5, input_mtok = "-2"}]\n', 6, "at least 0"),
        (
            'input_mtok = "1"\ntiers = [{above_input = 9, input_mtok = "2"}, {above_input = 9, input_mtok = "3"}]\n',
            6,
            "rising order",
        ),
        ('free = true\nwindows = [{days = [0], utc = "01:00-04:00"}]\n', 6, "from 1"),
        ('free = true\nwindows = [{days = [1, 1], utc = "01:00-04:00"}]\n', 6, "from 1"),
        ('free = true\nwindows = [{days = [], utc = "01:00-04:00"}]\n', 6, "from 1"),
        ('free = true\nwindows = [{day = [1], utc = "01:00-04:00"}]\n', 6, "from 1"),
        ('free = true\nwindows = [{utc = "1-4"}]\n', 6, "its hours"),
        ('free = true\nwindows = [{utc = "01:00-24:30"}]\n', 6, "its hours"),
        ("free = true\nwindows = 3\n", 6, "list of tables"),
    ],
)
def test_a_wrong_row_is_refused_with_its_line(tmp_path: Path, text: str, line: int, words: str) -> None:
    with pytest.raises(InvalidConfig, match=words) as refused:
        read(tmp_path, PRICE + text)
    assert refused.value.line == line


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('[[price]]\nprovider = "acmee"\nmodel = "x"\nfree = true\n', 2, "Nearest: acme"),
        ('[[price]]\nprovider = "acme"\nfree = true\n', 1, "needs 'model'"),
        (f'[[price]]\nprovider = "acme"\nmodel = "{"x" * 600}"\nfree = true\n', 3, "too long"),
    ],
)
def test_a_provider_nobody_knows_and_a_row_for_no_model_are_refused(
    tmp_path: Path, text: str, line: int, words: str
) -> None:
    with pytest.raises(InvalidConfig, match=words) as refused:
        read(tmp_path, text)
    assert refused.value.line == line


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("", ""),
        ("", "from = 2026-01-01\n"),
        ("to = 2026-01-02\n", "from = 2026-01-01\n"),
        ("to = 2026-01-01T00:00:01Z\n", "from = 2026-01-01\n"),
        ("from = 2026-01-01\nto = 2026-03-01\n", "from = 2026-02-01\nto = 2026-02-02\n"),
        ('windows = [{utc = "01:00-04:00"}]\n', 'windows = [{utc = "03:00-05:00"}]\n'),
        ('windows = [{days = [7], utc = "22:00-02:00"}]\n', 'windows = [{days = [1], utc = "01:00-03:00"}]\n'),
    ],
)
def test_two_rows_in_force_at_once_are_refused_with_both_lines(tmp_path: Path, one: str, other: str) -> None:
    text = PRICE + one + "free = true\n" + PRICE + other + "free = true\n"
    with pytest.raises(InvalidConfig, match="in line 2: end one where the other starts") as refused:
        read(tmp_path, text)
    assert refused.value.line == text[: text.rindex("[[price]]")].count("\n") + 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("to = 2026-01-01\n", "from = 2026-01-01\n"),
        ("", 'service_tier = "batch"\n'),
        ("", 'windows = [{utc = "01:00-04:00"}]\n'),
        ('windows = [{utc = "01:00-04:00"}]\n', 'windows = [{utc = "04:00-06:00"}]\n'),
        (
            'windows = [{days = [1], utc = "01:00-04:00"}]\n',
            'windows = [{days = [2], utc = "01:00-04:00"}]\n',
        ),
    ],
)
def test_rows_that_follow_each_other_or_differ_in_tier_or_hours_are_taken(tmp_path: Path, one: str, other: str) -> None:
    assert len(read(tmp_path, PRICE + one + "free = true\n" + PRICE + other + "free = true\n").rows) == 2


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('match = {}\nfactor = "1.1"\n', 3, "when the factor holds"),
        ('factor = "1.1"\n', 1, "when the factor holds"),
        ('match = {zone = "us"}\nfactor = "1.1"\n', 3, "when the factor holds"),
        ('match = {region = ""}\nfactor = "1.1"\n', 3, "when the factor holds"),
        ('match = {service_tier = "turbo"}\nfactor = "1.1"\n', 3, "is one of"),
        ('match = {region = "us"}\nfactor = "0"\n', 4, "above 0"),
        ('match = {region = "us"}\nfactor = "-1"\n', 4, "at least 0"),
        ('match = {region = "us"}\nfactor = "NaN"\n', 4, "at least 0"),
        ('match = {region = "us"}\nfactor = "10.1"\n', 4, "at most 10"),
        ('match = {region = "us"}\n', 1, "needs 'factor'"),
        ('match = {region = "us"}\nfactor = "1.1"\nto = 2026-01-01\n', 5, "Unknown key 'to'"),
    ],
)
def test_a_wrong_multiplier_is_refused_with_its_line(tmp_path: Path, text: str, line: int, words: str) -> None:
    with pytest.raises(InvalidConfig, match=words) as refused:
        multiplier(tmp_path, text)
    assert refused.value.line == line


def test_a_multiplier_that_stands_twice_is_refused(tmp_path: Path) -> None:
    one = '[[multiplier]]\nprovider = "acme"\nmatch = {region = "us"}\nfactor = "1.1"\n'
    with pytest.raises(InvalidConfig, match="in line 1") as refused:
        read(tmp_path, one + one)
    assert refused.value.line == 5


@pytest.mark.parametrize("missing", ["source", "checked"])
def test_a_patch_of_the_package_needs_a_source_and_a_day(tmp_path: Path, missing: str) -> None:
    facts = {"source": 'source = "a page"\n', "checked": "checked = 2026-11-29\n"}
    text = PRICE + "free = true\n" + "".join(value for key, value in facts.items() if key != missing)
    with pytest.raises(InvalidConfig, match=f"needs '{missing}'"):
        read(tmp_path, text, sourced=True)


def test_a_patchs_defaults_have_nothing_else(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfig, match="Unknown key 'free'") as refused:
        read(tmp_path, "[defaults]\nfree = true\n" + PRICE + "free = true\n", sourced=True)
    assert refused.value.line == 2


def test_the_configuration_file_holds_prices_beside_models_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "weighbridge.toml"
    path.write_text(
        '[[model]]\nprovider = "mine"\nid = "own"\n\n[[price]]\nprovider = "mine"\nmodel = "own"\ninput_mtok = "1"\n'
        '\n[[price]]\nprovider = "gemini"\nmodel = "x"\nfree = true\n'
        '\n[[multiplier]]\nprovider = "mine"\nmatch = {region = "here"}\nfactor = "2"\n'
    )
    config = read_config(path, {})
    assert [(r.provider, r.model) for r in config.prices.rows] == [("mine", "own"), ("google", "x")]
    assert [m.factor for m in config.prices.multipliers] == [2]


def test_a_configuration_file_without_prices_has_none(tmp_path: Path) -> None:
    path = tmp_path / "weighbridge.toml"
    path.write_text("")
    assert read_config(path, {}).prices == PriceFile()


def test_rows_written_as_text_are_the_same_rows_when_they_are_read(tmp_path: Path) -> None:
    text = (
        PRICE
        + """
        from = 2026-08-16T16:00:00Z
        to = 2026-09-10
        input_mtok = "0.000001"
        output_mtok = "150"
        tiers = [{above_input = 5, inclusive = true, output_mtok = "2"}, {above_input = 9, input_mtok = "7"}]
        windows = [{days = [7], utc = "22:00-02:00"}]
        source = "a \\"page\\" – of theirs"
        checked = 2026-11-29
        """
        + PRICE.replace("large", "small")
        + 'service_tier = "fast"\nfree = true\n'
        + PRICE.replace("large", "tiny")
        + "unknown = true\n"
    )
    first = read(tmp_path, text)
    again = read(tmp_path, toml_of(first.rows))
    assert [dict_of(r) for r in again.rows] == [dict_of(r) for r in first.rows]


def dict_of(found: PriceRow) -> dict[str, object]:
    return {name: getattr(found, name) for name in PriceRow.__slots__ if name != "revision"}


def refused(folder: Path, text: str) -> tuple[int, str]:
    with pytest.raises(InvalidConfig) as caught:
        read(folder, text)
    return caught.value.line, str(caught.value)


@pytest.mark.parametrize("moment", ["from = 0001-01-01T00:00:00+14:00", "to = 9999-12-31T23:59:59-12:00"])
def test_a_time_that_has_no_instant_in_utc_is_refused_with_its_line(tmp_path: Path, moment: str) -> None:
    assert refused(tmp_path, f"{PRICE}{moment}\nfree = true\n")[0] == 5


NO_NUMBERS = [
    f'"0.{"1" * 108}"',
    f"0.{'1' * 108}",
    "1" * 31,
    '"1e-999999"',
    "1e-999999",
    "1e-99999999999999999999",
    '"1e4"',
    '"1e-21"',
    '"1_0"',
    '"\u0663"',
    '" 1"',
    '"-1"',
    '"nan"',
    "nan",
    "true",
]


@pytest.mark.parametrize("number", NO_NUMBERS)
def test_a_rate_or_factor_beyond_its_digits_is_refused_with_its_line(tmp_path: Path, number: str) -> None:
    line, text = refused(tmp_path, f"{PRICE}input_mtok = {number}\n")
    assert (line, "30 digits" in text) == (5, True)
    tiers = f'{PRICE}input_mtok = "1"\ntiers = [{{above_input = 5, input_mtok = {number}}}]\n'
    assert refused(tmp_path, tiers)[0] == 6
    factor = f'[[multiplier]]\nprovider = "acme"\nmatch = {{region = "us"}}\nfactor = {number}\n'
    assert refused(tmp_path, factor)[0] == 4


def test_thirty_digits_and_twenty_places_are_read(tmp_path: Path) -> None:
    for text in ("0." + "1" * 20, "1e-20", "1e2"):
        assert row(tmp_path, f'input_mtok = "{text}"\n').rates["input_mtok"].base == Decimal(text)


def test_a_whole_number_of_thousands_of_digits_is_refused(tmp_path: Path) -> None:
    assert "beyond all bounds" in refused(tmp_path, f"{PRICE}input_mtok = {'1' * 5000}\n")[1]


@pytest.mark.parametrize(
    ("provider", "name", "passes"),
    [
        ("acme", "acme/large", False),
        ("acme", "ACME/large", False),
        ("aws", "cloud/models/large", False),
        ("cloud", "cloud/large", True),
        ("cloud", "acme/large", True),
        ("shop", "acme/large", True),
    ],
)
def test_a_model_that_begins_with_its_providers_prefix_is_refused_with_its_line(
    tmp_path: Path, provider: str, name: str, *, passes: bool
) -> None:
    price = f'[[price]]\nprovider = "{provider}"\nmodel = "{name}"\nfree = true\n'
    factor = f'[[multiplier]]\nprovider = "{provider}"\nmatch = {{region = "us"}}\nmodels = ["{name}"]\nfactor = 2\n'
    if passes:
        assert len(read(tmp_path, price + factor).rows) == 1
    else:
        assert refused(tmp_path, price)[0] == 3
        assert refused(tmp_path, factor)[0] == 4


def test_a_region_is_kept_in_lower_case_without_outer_blanks(tmp_path: Path) -> None:
    assert multiplier(tmp_path, 'match = {region = " US "}\nfactor = 2').match == {"region": "us"}
    assert refused(tmp_path, '[[multiplier]]\nprovider = "acme"\nmatch = {region = " "}\nfactor = 2\n')[0] == 3
