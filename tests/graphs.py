"""Circles in a graph of imports."""

from typing import TypeVar

Node = TypeVar("Node")


def circles(graph: dict[Node, set[Node]]) -> list[set[Node]]:
    """Return the strongly connected parts of more than one node."""

    def reached(start: Node) -> set[Node]:
        seen: set[Node] = set()
        left = [start]
        while left:
            for each in graph[left.pop()] - seen:
                seen.add(each)
                left.append(each)
        return seen

    reach = {node: reached(node) for node in graph}
    parts = {frozenset(each for each in reach[node] if node in reach[each]) for node in graph}
    return [set(part) for part in parts if len(part) > 1]
