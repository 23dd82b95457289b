"""The JSON Schema with which editors check system files agrees with the program."""

import json
import tomllib

import jsonschema
import pytest

import nandram
from conftest import TINY
from nandram import _core

SCHEMA = json.loads(_core.schema())


def mistakes(text: str) -> list[str]:
    validator = jsonschema.Draft202012Validator(SCHEMA)
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(tomllib.loads(text))]


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", sorted(nandram.systems()))
def test_presets(name: str) -> None:
    assert mistakes(_core.read_preset(name)) == []
    assert mistakes(nandram.load_system(name).toml) == []


def test_a_file_that_extends_another() -> None:
    assert mistakes('extends = "nvme-client-tlc"\nflash.read = ["40us", "50us", "60us"]\n') == []
    assert mistakes(nandram.load_system(TINY).toml) == []


@pytest.mark.parametrize(
    "text",
    [
        "[flash]\nchanels = 8\n",
        "[flash]\nchannels = 0\n",
        '[flash]\nchannels = "eight"\n',
        "[flash]\nread = 50\n",
        '[flash]\ncell = "tcl"\n',
        '[link]\ntype = "pci"\n',
        "flash = 8\n",
        '[basis]\n"flash.read" = { guessed = "a data sheet" }\n',
    ],
)
def test_mistakes(text: str) -> None:
    assert mistakes(text) != []
