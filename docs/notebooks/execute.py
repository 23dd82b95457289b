"""Execute the notebooks of this folder in place, as in `make notebooks`; machine-dependent metadata is removed.

Each runs in its own temporary folder.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent


def execute(path: Path) -> None:
    """Execute a notebook; an error in a cell is raised."""
    notebook = nbformat.read(path, as_version=4)
    with TemporaryDirectory() as folder:
        NotebookClient(notebook, timeout=900, resources={"metadata": {"path": folder}}).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    notebook.metadata.pop("language_info", None)
    nbformat.write(notebook, path)


for path in [Path(each) for each in sys.argv[1:]] or sorted(HERE.glob("*.ipynb")):
    execute(path)
    print(path.name)
