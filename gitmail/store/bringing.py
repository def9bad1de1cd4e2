"""Bringing another history in, and telling what was wrong with what came."""

from dataclasses import replace
from datetime import datetime

from gitmail.records.names import CommitId
from gitmail.records.paths import Family, parse_path
from gitmail.store.merging import Note
from gitmail.store.store import Integrated, Step, Store

_MOST_NOTES = 100


def bring_in(
    store: Store, theirs: CommitId, by: str, moment: datetime, subject: str
) -> Integrated:
    """Integrate a history; its notes name files that are quarantined from then on.

    Args and errors are those of `Store.integrate`.
    """
    before = {each.path for each in store.read(lambda v: v.index.quarantined())}
    done = store.integrate(theirs, by, moment, subject)
    if done.step is Step.NOTHING:
        return done
    return replace(done, notes=(*done.notes, *_bad_since(store, before)))


def _bad_since(store: Store, before: set[str]) -> list[Note]:
    found = store.read(lambda view: view.index.quarantined())
    new = [each for each in found if each.path not in before]
    # What the merge itself has set aside was told with the reason.
    new = [each for each in new if parse_path(each.path).family is not Family.ASIDE]
    notes = [Note(each.path, f"quarantined: {each.reason}") for each in new]
    if len(notes) > _MOST_NOTES:
        more = f"{len(notes) - _MOST_NOTES:,} more are quarantined; see the status"
        notes[_MOST_NOTES:] = [Note("", more)]
    return notes
