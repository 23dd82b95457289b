"""Reading of measurements: fio's JSON, CSV files, and folders of both."""

import os
from collections.abc import Sequence
from pathlib import Path

from nandram.errors import UserError
from nandram.fit.measurements.csv_table import read_csv
from nandram.fit.measurements.fio_json import read_fio_json
from nandram.fit.measurements.points import Measurements, joined


def read_measurements(paths: Sequence[str | os.PathLike[str]]) -> Measurements:
    """Read files of one drive: fio's JSON output (``.json``, or any other name) and CSV files (``.csv``).

    A folder stands for its ``.json`` and ``.csv`` files. Raises `UserError` for any mistake in them.
    """
    files = [file for path in paths for file in _files(Path(path))]
    if not files:
        raise UserError("data: found no files, expected fio's JSON output or CSV files")
    return joined([_read(file) for file in files])


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(each for each in path.iterdir() if each.suffix in (".json", ".csv"))
    if not found:
        raise UserError(f"{path}: found a folder without .json and .csv files, expected measurements")
    return found


def _read(path: Path) -> Measurements:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise UserError(f"{path}: found bytes that are not UTF-8, expected fio's JSON output or a CSV file") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    return read_csv(path, text) if path.suffix == ".csv" else read_fio_json(path, text)
