"""A page as a browser would understand it: elements with attributes and text."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "input", "link", "img", "br", "hr"}


@dataclass(slots=True)
class Node:
    tag: str
    attributes: dict[str, str]
    children: list[Node | str] = field(default_factory=list)

    def all(self, tag: str | None = None, *, within: str | None = None, **attributes: str) -> list[Node]:
        """Return the elements below, in order; `within` is one of their classes."""
        found: list[Node] = []
        for child in self.children:
            if isinstance(child, Node):
                fits = tag in {None, child.tag} and all(child.attributes.get(k) == v for k, v in attributes.items())
                if fits and (within is None or within in child.attributes.get("class", "").split()):
                    found.append(child)
                found += child.all(tag, within=within, **attributes)
        return found

    def one(self, tag: str | None = None, *, within: str | None = None, **attributes: str) -> Node:
        found = self.all(tag, within=within, **attributes)
        assert found, f"no <{tag}> {within} {attributes}"
        return found[0]

    @property
    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    def rows(self) -> list[list[str]]:
        """Return the cells of a table's body."""
        return [[cell.text for cell in row.children if isinstance(cell, Node)] for row in self.one("tbody").all("tr")]


class _Tree(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Node("", {})
        self.open = [self.root]

    def handle_starttag(self, tag, attrs):
        node = Node(tag, {name: value or "" for name, value in attrs})
        assert len(node.attributes) == len(attrs), f"<{tag}> repeats an attribute"
        self.open[-1].children.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_endtag(self, tag):
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data):
        self.open[-1].children.append(data)


def read(page: str) -> Node:
    """Return a page's elements; every one that opens must close in its place."""
    tree = _Tree()
    tree.feed(page)
    tree.close()
    assert tree.open == [tree.root], f"<{tree.open[-1].tag}> is never closed"
    return tree.root
