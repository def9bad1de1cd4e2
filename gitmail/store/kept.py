"""Keeping what was read, as long as there is room."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class Kept(Generic[T]):
    """The objects that were used last; what has an id never changes."""

    def __init__(self, limit: int) -> None:
        self._items: OrderedDict[Hashable, T] = OrderedDict()
        self._limit = limit

    def get(self, key: Hashable) -> T | None:
        """Return what was kept under an id."""
        item = self._items.get(key)
        if item is not None:
            self._items.move_to_end(key)
        return item

    def put(self, key: Hashable, item: T) -> None:
        """Keep an object, and let go of the one that was unused for longest."""
        self._items[key] = item
        if len(self._items) > self._limit:
            self._items.popitem(last=False)
