"""Small XML files, read without document types and entities, and the parameters of their elements."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from nandram.errors import UserError
from nandram.language.grid import words
from nandram.language.tables import read_bytes
from nandram.options import nearest

DEPTH_MAX = 8
"""Maximum depth of elements; MQSim's files have four."""
WHOLE_MAX = (1 << 63) - 1


@dataclass
class Element:
    """An element of an XML file; its attributes are ignored, as by MQSim."""

    file: str
    name: str
    line: int
    text: str = ""
    children: "list[Element]" = field(default_factory=list)

    def error(self, message: str) -> UserError:
        """Return an error at this element."""
        return UserError(f"{self.file}:{self.line}: {self.name}: {message}")


def read(path: Path) -> Element:
    """Return the root element of a file.

    Raises `UserError` with the line for text that is no XML, a document type declaration (which could declare
    entities) and elements that are too deep.
    """
    content = read_bytes(path)
    parser = expat.ParserCreate()
    parser.buffer_text = True
    top = Element(str(path), "", 0)
    open_elements = [top]

    def start(name: str, _attributes: dict[str, str]) -> None:
        element = Element(top.file, name, parser.CurrentLineNumber)
        if len(open_elements) > DEPTH_MAX:
            raise element.error(f"found an element in {DEPTH_MAX} others, expected at most {DEPTH_MAX - 1}")
        open_elements[-1].children.append(element)
        open_elements.append(element)

    def end(_name: str) -> None:
        open_elements.pop()

    def text(data: str) -> None:
        open_elements[-1].text += data

    def document_type(*_: object) -> None:
        place = f"{top.file}:{parser.CurrentLineNumber}"
        raise UserError(f"{place}: found a document type declaration, expected none: nandram reads no entities")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = text
    parser.StartDoctypeDeclHandler = document_type
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise UserError(f"{top.file}:{error.lineno}: not XML: {expat.ErrorString(error.code)}") from None
    except UserError:
        raise
    except (LookupError, ValueError):
        # Expat asks Python for encodings that it does not know.
        raise UserError(f"{top.file}:1: not XML: found an unknown encoding, expected utf-8 or us-ascii") from None
    [root] = top.children
    return root


class Parameters:
    """The parameters of an element: children with a text each. Those that were read are known to be converted."""

    def __init__(self, element: Element, defaults: Mapping[str, str]) -> None:
        self.element = element
        self.defaults = defaults
        self.absent: list[str] = []
        """Parameters whose default was used."""
        self._found: dict[str, Element] = {}
        for child in element.children:
            if child.name in self._found:
                line = self._found[child.name].line
                raise child.error(f"found a second one (the first is in line {line}), expected one per element")
            self._found[child.name] = child
        self._read: set[str] = set()

    def has(self, name: str) -> bool:
        """Return whether the file has a parameter."""
        return name in self._found

    def child(self, name: str) -> Element | None:
        """Return the element of a name."""
        self._read.add(name)
        return self._found.get(name)

    def unread(self) -> list[str]:
        """Return the names of the parameters that were not asked for."""
        return [name for name in self._found if name not in self._read]

    def leftover(self) -> list[str]:
        """Return notes about the elements that were not asked for, and the parameters that the file lacks."""
        names = self.unread()
        more = f" and {len(names) - 20} more" if len(names) > 20 else ""
        notes = [f"{', '.join(names[:20])}{more}: unknown to MQSim, and ignored"] if names else []
        if self.absent:
            found = ", ".join(f"{name} {self.defaults[name]}" for name in dict.fromkeys(self.absent))
            notes.append(f"taken for what {self.element.name} lacks: {found}")
        return notes

    def shown(self, name: str) -> str:
        """Return a parameter's text, as notes show it."""
        text = self.text(name)
        return text if len(text) <= 40 else f"{text[:40]}..."

    def text(self, name: str) -> str:
        """Return a parameter's text. Raises `UserError` if it is missing and has no default."""
        found = self.child(name)
        if found is not None:
            if found.children:
                raise found.error(f"found the element {found.children[0].name}, expected a value")
            return found.text.strip()
        if name not in self.defaults:
            raise self.element.error(f"found no {name}, expected one: MQSim has no default for it")
        self.absent.append(name)
        return self.defaults[name]

    def error(self, name: str, expected: str) -> UserError:
        """Return the error for a parameter's value."""
        found = self._found.get(name, self.element)
        return found.error(f"found `{found.text.strip()}`, expected {expected}")

    def whole(self, name: str, least: int = 0, most: int = WHOLE_MAX) -> int:
        """Return a whole number. Raises `UserError`."""
        text = self.text(name)
        expected = f"a whole number from {least}" + ("" if most == WHOLE_MAX else f" to {most}")
        if not re.fullmatch(r"\+?[0-9]{1,19}", text) or not least <= int(text) <= most:
            raise self.error(name, expected)
        return int(text)

    def decimal(self, name: str, least: float, most: float) -> float:
        """Return a number. Raises `UserError`."""
        text = self.text(name)
        if not re.fullmatch(r"\+?([0-9]{1,40}(\.[0-9]{0,40})?|\.[0-9]{1,40})([eE][+-]?[0-9]{1,3})?", text):
            raise self.error(name, f"a number from {least:g} to {most:g}")
        if not least <= float(text) <= most:
            raise self.error(name, f"a number from {least:g} to {most:g}")
        return float(text)

    def flag(self, name: str) -> bool:
        """Return a truth value. Raises `UserError`."""
        return self.word(name, "TRUE", "FALSE") == "TRUE"

    def word(self, name: str, *known: str) -> str:
        """Return a word, which must be known, in capitals. Raises `UserError`."""
        found = self.text(name).upper()
        if found not in known:
            raise self.error(name, f"{words(known)}{nearest(found, known)}")
        return found

    def numbers(self, name: str, count: int) -> list[int]:
        """Return a list of different whole numbers below `count`, in their order. Raises `UserError`."""
        text = self.text(name)
        parts = [part.strip() for part in text.split(",")]
        if not all(re.fullmatch(r"[0-9]{1,9}", part) and int(part) < count for part in parts):
            raise self.error(name, f"whole numbers from 0 to {count - 1}, separated by commas")
        return sorted({int(part) for part in parts})
