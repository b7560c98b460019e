"""The teacher's commands: `classroom release measuring --class autumn`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from classroom import ClassroomError
from classroom.goals import assignment_names, read_goals

Command = Callable[[argparse.Namespace], None]


def release(arguments: argparse.Namespace) -> None:
    """Write the sheets for the students, and keep the rest for the teacher."""
    from classroom.release import release

    released = release(arguments.name, arguments.folder, arguments.key)
    said = check_release(arguments.name, arguments.folder)
    print(f"Give to the students: {released}, with a folder for each sheet.")
    print("A student takes the sheet that has the last digit of the student number.")
    kept = arguments.folder / "teacher" / arguments.name
    print(f"Keep to yourself: {kept} and {arguments.folder / 'secret'}")
    print(f"Set as the maximum on your platform: {read_goals(arguments.name).points:g} points")
    print(said)


def check_release(name: str, folder: Path) -> str:
    """Let the grader grade the solution of each sheet, and say what it found.

    Raises:
        ClassroomError: It does not give one of them all points.
    """
    from classroom.bubblewrap import NotGraded
    from classroom.grade import checked_sheets
    from classroom.sandbox import check_sandbox
    from classroom.variants import SHEETS

    try:
        check_sandbox()
    except NotGraded as error:
        return f"Not checked, since nothing can be graded here. {error} Release again where it can."
    sheets = checked_sheets(folder, name, SHEETS, jobs=os.cpu_count() or 1, stub=False)
    if wrong := {sheet: one.problem for sheet, one in sheets.items() if one.problem}:
        raise ClassroomError(
            f"Do not hand out sheet {', '.join(wrong)} of {name}: take a new folder, for a new "
            f"secret. {next(iter(wrong.values()))}"
        )
    return f"Checked: the grader gives the solution of each of the {len(sheets)} sheets all points."


def rehearse(arguments: argparse.Namespace) -> None:
    """Write what three made-up students hand in, to try the commands below."""
    from classroom.rehearsal import rehearse

    print("Three made-up students have handed in:", *rehearse(arguments.folder, arguments.name))


def collect(arguments: argparse.Namespace) -> None:
    """Take the exports of a platform, folders or zips, and say what became of each file."""
    from classroom.collect import collect, matches_of

    rows = collect(arguments.folder, arguments.name, arguments.exports, arguments.plain)
    for row in rows:
        file = PurePosixPath(row.file).name if row.student else row.file
        # What a student named a file must not steer the terminal.
        line = f"{row.student or '?'} {file}: {row.status}"
        print("".join(sign if sign.isprintable() else "?" for sign in line))
    taken = sum(row.status.startswith("taken") for row in rows)
    table = arguments.folder / "collected" / arguments.name / "collected.csv"
    print(f"{taken} of {len(rows)} files taken; {table} lists them all")
    for same, people in matches_of(arguments.folder, arguments.name):
        print(f"The same code, names aside, in {same}: {people}")


def grade(arguments: argparse.Namespace) -> None:
    """Grade what is left, each submission in a sandbox of its own."""
    from classroom.grade import grade_class

    grade_class(arguments.folder, arguments.name, jobs=arguments.jobs)


def regrade(arguments: argparse.Namespace) -> None:
    """Grade anew, all or the students that are named."""
    from classroom.grade import grade_class

    again = arguments.students
    grade_class(arguments.folder, arguments.name, jobs=arguments.jobs, again=again)


def feedback(arguments: argparse.Namespace) -> None:
    """Write a page for each student."""
    from classroom.feedback import write_feedback

    write_feedback(arguments.folder, arguments.name)


def mark(arguments: argparse.Namespace) -> None:
    """Open a page in your browser on which to mark written answers."""
    from classroom.marking import mark

    mark(arguments.folder, arguments.name)


def cards(arguments: argparse.Namespace) -> None:
    """Draw up to five questions for a conversation with each student about their own work."""
    from classroom.cards import write_cards

    print(f"Print, a page for each student: {write_cards(arguments.folder, arguments.name)}")


def exam(arguments: argparse.Namespace) -> None:
    """Write a mid-term of fifteen questions with numbers of this class, and its key."""
    from classroom.exam import write_exam

    questions, key = write_exam(arguments.folder, arguments.version)
    print(f"Print for the students: {questions}")
    print(f"Keep to yourself: {key}")


def scores(arguments: argparse.Namespace) -> None:
    """Write the table of all points, those given by hand included."""
    from classroom.scores import write_scores

    write_scores(arguments.folder)


def give_back(arguments: argparse.Namespace) -> None:
    """Write the feedback and the points as the platform takes them."""
    from classroom.give_back import give_back

    files = give_back(arguments.folder, arguments.name, arguments.table, arguments.column)
    print(*files, sep="\n")


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="classroom", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Command, assignment: bool = True) -> argparse.ArgumentParser:
        text = (run.__doc__ or "").strip()
        found = commands.add_parser(name, help=text, description=text)
        found.set_defaults(run=run)
        if assignment:
            names = assignment_names()
            found.add_argument("name", metavar="NAME", choices=names, help=", ".join(names))
        found.add_argument(
            "--class",
            dest="folder",
            type=Path,
            default=Path("class"),
            metavar="FOLDER",
            help="the folder of the class (default: class)",
        )
        return found

    releases = command("release", release)
    releases.add_argument(
        "--key", metavar="VALUE", help="the secret of the class; drawn at random without"
    )
    command("rehearse", rehearse)
    collects = command("collect", collect)
    collects.add_argument(
        "exports", nargs="+", type=Path, metavar="EXPORT", help="a folder or zip of the platform"
    )
    collects.add_argument(
        "--plain", action="store_true", help="folders or files are named after the students"
    )
    for name, run in {"grade": grade, "regrade": regrade}.items():
        jobs = command(name, run)
        jobs.add_argument(
            "--jobs",
            type=int,
            default=os.cpu_count() or 1,
            metavar="N",
            help="submissions at a time (default: one for each core)",
        )
        if run is regrade:
            jobs.add_argument(
                "students", nargs="*", metavar="STUDENT", help="such as moodle-1234567; or all"
            )
    command("mark", mark)
    command("cards", cards)
    exams = command("exam", exam, assignment=False)
    exams.add_argument(
        "--version", default="A", choices=tuple("ABCD"), help="with numbers of its own (default: A)"
    )
    command("feedback", feedback)
    command("scores", scores, assignment=False)
    returns = command("return", give_back)
    returns.add_argument(
        "--table", type=Path, metavar="FILE", help="the platform's own table of points, to fill in"
    )
    returns.add_argument(
        "--column", default="", metavar="NAME", help="its column for the points, if it is not found"
    )
    return parser


def main(words: list[str] | None = None) -> int:
    arguments = parser().parse_args(words)
    try:
        arguments.run(arguments)
    except ClassroomError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stopped; start it again to go on", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
