"""The environment variables of a captured program."""

from nandram.errors import UserError


def parse_environment(variables: list[str]) -> dict[str, str]:
    """Return ``NAME=VALUE``s by name. Raises `UserError`."""
    found = {}
    for variable in variables:
        name, equals, value = variable.partition("=")
        if not name or not equals:
            raise UserError(f"env: found `{variable}`, expected NAME=VALUE")
        found[name] = value
    return found
