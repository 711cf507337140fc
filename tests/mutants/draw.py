"""Mutants, and which are drawn."""
import bisect
import collections
import dataclasses
import hashlib
import math

import cpp
import operators


@dataclasses.dataclass(frozen=True)
class Mutant:
    file: str
    operator: str    # or "plant NAME"
    line: int        # from 1
    old: str         # the line as it is, and as it would be
    new: str
    occurrence: int  # which of the file's lines of this text, from 0
    begin: int = dataclasses.field(compare=False)
    end: int = dataclasses.field(compare=False)
    text: str = dataclasses.field(compare=False)
    ops: str = dataclasses.field(default="", compare=False)  # of a plant: those that conformance runs; "": all

    @property
    def identity(self):
        """What stays the same while other lines of the file change."""
        return " | ".join((self.file, self.operator, str(self.occurrence), self.old.strip(), self.new.strip()))

    def diff(self):
        return f"{self.file}:{self.line}: {self.operator}\n  - {self.old.strip()}\n  + {self.new.strip()}"


def make_mutant(file, name, code, begin, end, text):
    number = code.line_of(begin)
    first = code.lines[number]
    last = code.text.find("\n", end)
    last = len(code.text) if last < 0 else last
    old = code.text[first:last]
    occurrence = code.text[:first].split("\n").count(old)
    return Mutant(file, name, number + 1, old, code.text[first:begin] + text + code.text[end:last], occurrence, begin, end, text)


def mutants_of(file, text):
    """The lines of code, and all that can be planted in them, each line once."""
    code, seen, result = cpp.Code(text), set(), []
    left_out = sorted(code.tokens[i].start for i in code.left_out if i < len(code.tokens))
    for name, function in operators.OPERATORS.items():
        for begin, end, new in function(code):
            at = bisect.bisect_left(left_out, begin)
            if "\n" in text[begin:end] or at < len(left_out) and left_out[at] < max(end, begin + 1):
                continue
            mutant = make_mutant(file, name, code, begin, end, new)
            if mutant.new != mutant.old and (mutant.line, mutant.new) not in seen:
                seen.add((mutant.line, mutant.new))
                result.append(mutant)
    return code.code_lines(), result


class Draw:
    """The order in which the mutants of each room come: operators in turn, and of one operator's mutants those of long files
    first, by luck. What is drawn depends on seed and mutants alone, so that an edit moves little of it."""

    def __init__(self, seed, files):
        """files: {room: {file: text}}"""
        self.seed, self.mutants, self.drawn = seed, {}, collections.Counter()
        for room, texts in files.items():
            kinds = collections.defaultdict(list)
            for file, text in texts.items():
                lines, found = mutants_of(file, text)
                counts = collections.Counter(mutant.operator for mutant in found)
                for mutant in found:
                    # Weighted sampling without replacement: Efraimidis and Spirakis 2006, with weight lines / count.
                    key = -math.log(self._luck(mutant.identity)) * counts[mutant.operator] / lines
                    kinds[mutant.operator].append((key, mutant.identity, mutant))
            self.mutants[room] = {name: [entry[2] for entry in sorted(found, key=lambda e: e[:2])] for name, found in kinds.items()}
        self.of_room = {room: collections.Counter() for room in files}

    def _luck(self, text):
        """In (0, 1)."""
        return (int.from_bytes(hashlib.sha256(f"{self.seed}|{text}".encode()).digest()[:7], "big") + 0.5) / 2**56

    def next(self, room, name=None):
        """Another mutant of the room, of this operator where it has one left; None if the room has none."""
        kinds = self.mutants[room]
        left = [kind for kind in kinds if kinds[kind]]
        if not left:
            return None
        if name not in left:
            name = min(left, key=lambda kind: (self.of_room[room][kind], self.drawn[kind], self._luck(f"{room}|{kind}")))
        self.of_room[room][name] += 1
        self.drawn[name] += 1
        return kinds[name].pop(0)

    def keep_part(self, first, count):
        """Leaves every count-th of the mutants not drawn yet, from the first (from 1): the parts draw none of each other's."""
        for kinds in self.mutants.values():
            for name in kinds:
                kinds[name] = kinds[name][first - 1::count]

    def replace(self, room, mutant):
        self.of_room[room][mutant.operator] -= 1
        self.drawn[mutant.operator] -= 1
        return self.next(room, mutant.operator)


def shares(rooms, count):
    """{room: mutants}, by the rooms' shares: largest remainders, and one at least as far as they go."""
    total = sum(room.share for room in rooms.values())
    result = {name: count * room.share // total for name, room in rooms.items()}
    by_rest = sorted(rooms, key=lambda name: (result[name] > 0, -(count * rooms[name].share % total)))
    for name in by_rest[:count - sum(result.values())]:
        result[name] += 1
    return result
