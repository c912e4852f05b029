"""Live runs begun in the app: what can be looked at before anything is written is looked at."""

import pytest
from tui_runs import record

from meta_tui import store
from meta_tui.config import Settings
from meta_tui.errors import UsageError
from meta_tui.tui.start import Launcher

MISSING = Settings(model="script:nowhere.jsonl")


@pytest.fixture
async def own_run(own_home):
    path = store.home().runs / "20260101-000000-aaaa.jsonl"
    await record(path)
    return path


async def test_a_script_that_is_not_there_is_refused_before_a_run_is_written(own_run):
    make = Launcher()
    for begin in (lambda: make.solve("6 * 7?", MISSING), lambda: make.fork(own_run, 4, MISSING)):
        with pytest.raises(UsageError, match="cannot read the script nowhere"):
            begin()
    assert [path.name for path in own_run.parent.iterdir()] == [own_run.name]
