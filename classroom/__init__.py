"""Assignments: release them, collect what students hand in, grade it, give it back.

    python -m classroom release measuring --class autumn

`book/teach.md` is the teacher's guide to it.
"""


class ClassroomError(ValueError):
    """What a teacher can put right: the message says how."""
