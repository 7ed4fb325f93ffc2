"""Which samples of the batch it takes."""

from collections.abc import Generator
from typing import Any

from premortem.changes import Change
from premortem.replay.case import Case, Outcome, Trials, not_tried, role_of
from premortem.replay.trial import Result, Trial

_MOST_GUILTY = (
    3  # bad samples that are looked for one after the other; where there are more, it is not a sample
)
_MOST_SUSPECTS = 8  # that are left out at once
Search = Generator[Trial, Result, "list[int] | None"]


class Samples:
    """The batch with only some of its samples, halved until the smallest set that still fails is left."""

    def __init__(self, cls: type[Change], case: Case) -> None:
        self._cls, self._role = cls, role_of(cls)
        self._spent = 0
        self._error: Result | None = None

    def run(self, case: Case) -> Trials:
        everything = list(range(case.samples))
        guilty: list[int] = []
        healthy: Result | None = None
        while len(guilty) < min(_MOST_GUILTY, len(everything) - 1):
            found = yield from self._smallest(case, [i for i in everything if i not in guilty])
            if not found or len(found) > len(everything) // 2:
                break
            guilty += found
            rest = [i for i in everything if i not in guilty]
            if not rest:
                break
            result = yield from self._try(case, rest)
            if result is not None and not result.failed:
                healthy = result
                break
        return self._outcome(case, sorted(guilty), healthy, len(everything))

    def without_suspects(self, case: Case) -> Trials:
        """One trial: the step without the samples that the microscope saw. None where that are not a few."""
        suspects = suspected(case)
        rest = [i for i in range(case.samples) if i not in suspects]
        if not suspects or len(suspects) > min(_MOST_SUSPECTS, len(rest)):
            return None
        result = yield from self._try(case, rest)
        healthy = result if result is not None and not result.failed else None
        return self._outcome(case, suspects, healthy, case.samples) if healthy is not None else None

    def _try(self, case: Case, samples: list[int]) -> Generator[Trial, Result, Result | None]:
        """None when it could not be tried, or enough was tried."""
        if self._spent >= case.patience or self._error is not None:
            return None
        self._spent += 1
        rank = None if case.everywhere else case.rank
        result = yield case.trial(self._cls, settings={"kept": samples}, rank=rank)
        if not result.decided:
            self._error = result
            return None
        return result

    def _smallest(self, case: Case, among: list[int]) -> Search:
        """Halve while one half still fails alone; else leave out parts that are not needed."""
        hint = [i for i in suspected(case) if i in among]
        if hint and len(hint) < len(among):  # what the microscope saw is tried first
            result = yield from self._try(case, hint)
            if result is not None and result.failed:
                among = hint
        while len(among) > 1:
            half = len(among) // 2
            for part in (among[:half], among[half:]):
                result = yield from self._try(case, part)
                if result is None:
                    return None
                if result.failed:
                    among = part
                    break
            else:
                return among  # only together
        return among

    def _outcome(self, case: Case, guilty: list[int], healthy: Result | None, total: int) -> Outcome:
        shown = ", ".join(map(str, guilty))
        which = f"sample {shown}" if len(guilty) == 1 else f"samples {shown}"
        whose, on = (f" of {case.whose}", f" on {case.whose}") if case.together else ("", "")
        if healthy is not None:
            verb = "is" if len(guilty) == 1 else "are"
            tells = f"{which[0].upper()}{which[1:]} of {total}{on} {verb} enough to make it fail; without, it is finite."
            gone: bool | None = True
        elif self._error is not None:
            return not_tried(self._role, self._error)
        else:
            gone = False
            reach = (
                "" if case.manifest["draws"] else " (as far as the data could be reached without a loader)"
            )
            tells = f"The rest of the batch fails without single samples too{reach}."
        title = f"without {which}{whose}" if healthy is not None else self._role.title
        loss = healthy.loss if healthy is not None else case.plain.loss
        source = numbers_of(case, guilty) if healthy is not None else None
        evidence = {
            "samples": guilty,
            "of": total,
            **({"source": source} if source is not None else {}),
            **({"rank": case.rank} if case.together and not case.everywhere else {}),
        }
        return Outcome(title, gone, tells, self._role.size, loss, self._spent, evidence)


def suspected(case: Case) -> list[int]:
    """The rows in which the microscope saw it begin, counted over all batches of the step."""
    seen = case.certificate or {}
    source, numbers = seen.get("source"), _numbers(case)
    if source and numbers:
        wanted = set(source["indices"])
        return [row for row, index in enumerate(numbers) if index in wanted]
    single = len(case.manifest["draws"]) <= 1
    return list(seen.get("rows", ())) if single and seen.get("samples", 0) == case.samples else []


def numbers_of(case: Case, rows: list[int]) -> dict[str, Any] | None:
    """What these rows are in the dataset that the step's batches were drawn from."""
    numbers = _numbers(case)
    if not numbers or any(row >= len(numbers) for row in rows):
        return None
    first = case.manifest["draws"][0]["samples"]
    indices = sorted({numbers[row] for row in rows})
    return {"dataset": first["dataset"], "length": first["length"], "indices": indices}


def _numbers(case: Case) -> list[int]:
    """Of all samples of the step; empty where they have none, come from several datasets, or are of several ranks."""
    found = [draw.get("samples") for draw in case.manifest["draws"]]
    if case.together or not found or not all(found):
        return []
    if len({(each["dataset"], each["length"]) for each in found}) > 1:
        return []
    numbers = [index for each in found for index in each["indices"]]
    return numbers if len(numbers) == case.samples else []
