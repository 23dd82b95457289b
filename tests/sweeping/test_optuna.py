"""The Optuna snippet of docs/sweeping.md runs unchanged, except for fewer trials."""

import re
from pathlib import Path

import pytest

DOCUMENT = Path(__file__).parents[2] / "docs" / "sweeping.md"
JOB = "[mixed]\nrw=randrw\nbs=4k\niodepth=8\nnumber_ios=2000\nnorandommap\n"


def test_the_snippet_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    [snippet] = re.findall(r"```python\n(import nandram\nimport optuna\n.*?)```", DOCUMENT.read_text(), re.DOTALL)
    assert "n_trials=100" in snippet
    monkeypatch.chdir(tmp_path)
    Path("job.fio").write_text(JOB)
    found: dict[str, object] = {}
    exec(compile(snippet.replace("n_trials=100", "n_trials=3"), str(DOCUMENT), "exec"), found)
    study = found["study"]
    assert len(study.trials) == 3  # type: ignore[attr-defined]
    for trial in study.trials:  # type: ignore[attr-defined]
        latency_ns, write_amplification = trial.values
        assert latency_ns > 0
        assert write_amplification > 0
    assert "over_provisioning" in capsys.readouterr().out
