"""Made-up models with made-up prices, in a data directory of the test's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from adapters.unicode.scripts import script_of
from service.api.pool import CountPool
from service.api.services import Services
from service.cli import cli
from service.cli.environment import Environment
from service.domain.counting import Weigher
from service.metrics import Metrics
from service.settings import Settings
from tests.service.kept import kept

CONFIG = """
[[model]]
provider = "acme"
id = "large"
aliases = ["large-latest"]
tokenizer = "o200k_base"
context_window = 1000
max_output_tokens = 200

[[model]]
provider = "acme"
id = "small"
tokenizer = "cl100k_base"
context_window = 1000
max_output_tokens = 100

[[model]]
provider = "acme"
id = "endless"
tokenizer = "qwen"

[[model]]
provider = "acme"
id = "gift"
tokenizer = "qwen"
context_window = 1000

[[model]]
provider = "acme"
id = "secret"
tokenizer = "qwen"
context_window = 1000

[[price]]
provider = "acme"
model = "large"
input_mtok = "2.5"
output_mtok = "10"
cache_read_mtok = "0.25"
cache_write_mtok = "3"
cache_write_1h_mtok = "5"
web_searches_kcount = "10"
tiers = [{above_input = 2000, input_mtok = "5", output_mtok = "15"}]
to = 2027-01-01
source = "price page"
checked = 2026-11-20

[[price]]
provider = "acme"
model = "large"
from = 2027-01-01
input_mtok = "7"
output_mtok = "70"
source = "price page"
checked = 2026-11-20

[[price]]
provider = "acme"
model = "large"
service_tier = "batch"
input_mtok = "1.25"
output_mtok = "5"
windows = [{days = [1, 2, 3, 4, 5], utc = "01:00-04:00"}]
source = "price page"
checked = 2026-11-20

[[price]]
provider = "acme"
model = "small"
input_mtok = "0.000001"
output_mtok = "0.5"
source = "price page"
checked = 2026-11-20

[[price]]
provider = "acme"
model = "endless"
input_mtok = "1"
output_mtok = "2"
source = "price page"
checked = 2026-11-20

[[price]]
provider = "acme"
model = "gift"
free = true
source = "price page"
checked = 2026-11-20

[[multiplier]]
provider = "acme"
match = {region = "us"}
factor = "1.1"
source = "price page"
checked = 2026-11-20
"""

Run = Callable[..., Result]


@pytest.fixture
def priced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data directory that the commands use, with ``CONFIG`` in it."""
    (tmp_path / "weighbridge.toml").write_text(CONFIG)
    monkeypatch.setenv("WEIGHBRIDGE_DATA_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def run(priced: Path) -> Run:
    """Run a command with ``text`` on standard input."""

    def invoke(*arguments: str, text: str | bytes = "") -> Result:
        return CliRunner().invoke(cli, list(arguments), input=text)

    return invoke


@pytest.fixture
def answered(priced: Path) -> Callable[..., bytes]:
    """What the work of an HTTP route answers, with the vocabularies and prices that the commands use."""

    def ask(work: Callable[[Services], bytes], *vocabularies: str) -> bytes:
        here = Environment(Settings.from_env())
        services = Services(
            settings=here.settings,
            weigher=Weigher(here.priced, {name: here.load(name) for name in vocabularies}, frozenset()),
            metrics=Metrics(),
            pool=CountPool(workers=1, queue_limit=0, deadline_seconds=1),
            specs=here.installed,
            pricer=here.pricer,
            **kept(here.settings.data_dir),
            framings=here.framings,
            compared=here.compared,
            script_of=script_of,
            rules=here.rules,
        )
        return work(services)

    return ask
