"""The versions of records: files of older and of later versions stay readable."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any

__all__ = ["SCHEMA", "fields_from", "stored_facts"]

# 1: no number in the file, as in four records of logits. 2: the seconds of an epoch have their own
# field.
SCHEMA = 2


def fields_from(kind: type, facts: dict[str, Any]) -> dict[str, Any]:
    """The arguments for the constructor of a record, from the facts of a file.

    Fields that the file lacks get their default. Facts for which ``kind`` has no field are kept in
    its field "further".

    Raises:
        ValueError: if a later version wrote the file without a field that this one needs.
        KeyError: if such a field is missing for a different reason.
    """
    known = {field.name: field for field in fields(kind)}
    schema = facts.get("schema", 1)
    for name, field in known.items():
        required = field.default is MISSING and field.default_factory is MISSING
        if required and name not in facts:
            if schema > SCHEMA:
                raise ValueError(
                    f"it has schema {schema}, this version reads up to {SCHEMA}; "
                    "upgrade calib_utils"
                )
            raise KeyError(name)
    further = {name: x for name, x in facts.items() if name not in known and name != "schema"}
    return {name: x for name, x in facts.items() if name in known} | {"further": further}


def stored_facts(record: Any, arrays: tuple[str, ...]) -> dict[str, Any]:
    """The facts of a record for a file: every field but the arrays, and the schema."""
    own = {
        field.name: getattr(record, field.name)
        for field in fields(record)
        if field.name not in (*arrays, "further")
    }
    return record.further | own | {"schema": SCHEMA}
