"""How long a chapter takes."""

from __future__ import annotations

from tools.sources.reading_time import exercise_times, reading_time


def test_reading_time_counts_words_and_the_code_that_is_shown() -> None:
    code = "```{{code-cell}} python\n{}\n" + "x = 1\n" * 30 + "```\n"
    words = "word " * 750
    assert reading_time(words) == 5
    assert reading_time(words + "\n\n" + code.format("")) == 10
    assert reading_time(words + "\n\n" + code.format(":tags: [hide-input]")) == 5


def test_exercise_times_are_those_of_the_titles() -> None:
    exercise = ":::{{exercise}} {}\n:label: ex-one\n\n" + "why " * 500 + "\n:::\n"
    titles = "● Two bins · 10 min", "●●● A proof · 45 min", "Without a time"
    page = "word " * 700 + "\n\n" + "\n".join(map(exercise.format, titles))
    assert exercise_times(page) == [10, 45]
    assert reading_time(page) == 5
