"""`as2.compile` and what a compiled program can do."""
from __future__ import annotations

import difflib
import hashlib
import html
import json
import math
import os
import pathlib
import re
import tempfile
from operator import index
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union, overload

import torch

from ._beliefs import (Beliefs, GivenAssignments, GivenBeliefs, read_assignments, read_beliefs, read_positions, require_position,
                       require_symbol)
from ._library import call, interruptible, operator, ops
from ._options import Texts, is_several, mebibytes, real, seconds, texts, whole
from ._results import (Approximation, Assignment, Decoded, DecodedBatch, Family, Group, Message, Position, Verdict, Verdicts,
                       Violation, _decoded)
from .errors import EnvironmentError, InputError, input_error, warn  # noqa: A004

if TYPE_CHECKING:
    from ._tensor import SoftTp

Path = Union[str, "os.PathLike[str]"]
FLOOR = 1e-30  # what a belief is raised by, so that one of 0 has a gradient
_log_weights, _marginals = operator("log_weights"), operator("marginals")


def _located(path: Path) -> str:
    """The file, or the shipped program of that name where there is no such file here."""
    if not isinstance(path, (str, os.PathLike)):
        raise input_error(f"a program is given as {path!r}, expected the path of a file", "text=… takes the program itself")
    text = os.fspath(path)
    if os.path.exists(text):
        return text
    if re.search(r"[\n{}]|:-|\.\s*$", text):
        shown = text.strip().split("\n")[0][:40]
        raise input_error(f"there is no file '{shown}{'' if shown == text else '…'}'",
                          "a program's own text is compiled by as2.compile(text=…); as2.Module takes the result")
    if text == "-" or os.path.basename(text) != text:
        return text
    try:
        shipped = pathlib.Path(call(ops.shipped_file, "programs"))
    except EnvironmentError:
        return text  # nothing ships with this installation: the compiler says that there is no such file
    if (shipped / text).is_file():
        return str(shipped / text)
    known = {path.name for folder in (pathlib.Path(), shipped) for path in folder.glob("*.lp")}
    near = difflib.get_close_matches(text, known, 1)
    raise input_error(f"there is no file '{text}' here, and no program of that name ships",
                      f"the nearest name is '{near[0]}'" if near else f"what ships stands in {shipped}")


def _seed(given: Optional[int]) -> int:
    """A number of PyTorch's own generator where none is given."""
    return int(torch.randint(1 << 62, ())) if given is None else whole("seed", given, most=2 ** 63 - 1)


def _with_gradient_of(function: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Exactly `values`, with the gradient of `function` added to their own."""
    return values + (function - function.detach())


def _share(lifted: torch.Tensor, exact: torch.Tensor) -> torch.Tensor:
    """exp(lifted − exact), both logarithms, without a gradient: what a gradient at lifted weights has to be multiplied by
    to be that at the exact ones. At most 1e6, so that float32 holds the product."""
    return (lifted - exact).detach().clamp(max=math.log(1e6)).exp()


def compile(*paths: Path, text: Optional[str] = None, name: str = "program.lp",  # noqa: A001
            constants: Optional[Mapping[str, Any]] = None, assume: Iterable[str] = (), grounding_seconds: float = 60,
            grounding_mib: float = 4096, grounding_size: int = 10_000_000, **more_constants: Any) -> "Program":
    """Compiles answer set programs: `as2.compile("sudoku.lp", b=3)`.

    paths: ASP files, together one program; or one compiled `.as2c` file. A name that is no file here is looked
      for among the programs that ship.
    text: the program itself instead of files; `name` stands for the file in messages.
    constants, and further keywords: replace constants of the program (#const); one it does not have is refused.
    assume: external atoms to leave open; they become Boolean positions.
    grounding_seconds, grounding_mib, grounding_size: what gringo may take, and how many atoms and literals of rules
      the ground program may have.

    Raises as2.InputError with file, line and remedy where the program is at fault, as2.EnvironmentError where
    gringo is missing. What the command line warns of is a Python warning, and in `program.warnings`.
    """
    if (text is None) == (not paths):
        raise input_error("give either files or text=", 'as2.compile("sudoku.lp") or as2.compile(text="{a}.")')
    if not isinstance(text, (str, type(None))):
        raise input_error(f"text is a {type(text).__name__}, expected the program as a string")
    limits = (seconds("grounding_seconds", grounding_seconds, 0.001), mebibytes("grounding_mib", grounding_mib, 1),
              whole("grounding_size", grounding_size, 1, 10 ** 9))
    if not isinstance(constants, (Mapping, type(None))):
        raise input_error(f"constants are a {type(constants).__name__}, expected a dict", 'write {"b": 3}, or b=3')
    twice = sorted(set(constants or {}) & set(more_constants))
    if twice:
        raise input_error(f"the constant `{twice[0]}` is given twice")
    every = {**(constants or {}), **more_constants}
    for constant in every:
        if not re.fullmatch(r"[_']*[a-z][A-Za-z0-9_']*", constant):
            raise input_error(f"'{constant}' is not the name of a constant", "names begin with a small letter: b=3")
    program = Program([_located(path) for path in paths], text or "", name, {k: _term(k, v) for k, v in every.items()},
                      tuple(texts("assume", assume if isinstance(assume, str) else list(assume))), limits)
    for message in program.warnings:
        warn(str(message))
    return program


def _term(constant: str, value: Any) -> str:
    """A constant's value as a term: a whole number, also of NumPy or PyTorch, or text."""
    if isinstance(value, str):
        return value
    try:
        if isinstance(value, bool):
            raise TypeError
        return str(index(value))
    except TypeError:
        raise input_error(f"the constant `{constant}` is {value!r}, expected a whole number, or a term as text") from None


def _absolute(files: Sequence[str]) -> List[str]:
    return [file if file == "-" else os.path.abspath(file) for file in files]


def _content(file: str) -> str:
    """What stands in the file, as a digest; empty where there is none, or what can be read but once."""
    try:
        return hashlib.sha256(pathlib.Path(file).read_bytes()).hexdigest() if os.path.isfile(file) else ""
    except OSError:
        return ""


def _compiled_again(made_from: Tuple[Any, ...], meaning: str) -> "Program":
    program = Program(*made_from)
    if program.hash != meaning:
        files, _, name, *_ = made_from
        warn(f"{' '.join(files) or name}, or what it includes, has changed since this program was pickled; what it says now is compiled")
    return program


class Program:
    """A compiled program. Immutable; may be used from several threads at once; copied and pickled.

    A pickle has a program's text, but only the paths of its files, which must be there where it is loaded, and are
    compiled again; where they mean something else by then, there is a warning. verify() reads the files, too.

    positions: tuple of `Position`, in the order of every tensor's rows.
    families: tuple of `Family`, one per statement, in source order.
    symbols: the width of every tensor, that of the largest domain; what is past a position's own domain is
      padding: ignored, and 0 in results.
    objectives: tuple of the levels that #minimize, #maximize and weak constraints have, highest priority first.
    index: {name of a position: its index}. domains: how many symbols each has, [positions]; mask: bool [positions,
      symbols], False in the padding; uniform: beliefs that know nothing, [positions, symbols].
    hash: of what the program means, the same for texts that mean the same.
    warnings, notes: lists of `Message`, the compiler's.
    """

    def __init__(self, files: Sequence[str], text: str, name: str, constants: Dict[str, str],
                 assume: Tuple[str, ...] = (), limits: Tuple[float, float, int] = (60, 4096, 10_000_000),
                 source: Sequence[str] = ()) -> None:
        files, source = _absolute(files), _absolute(source)  # source, constants: what clingo reads where `files` is compiled
        self._made_from = (files, text, name, dict(constants), tuple(assume), limits, source)
        options = {"constants": {} if source else constants, "assume": assume, "grounding_seconds": limits[0],
                   "grounding_mib": limits[1], "grounding_size": limits[2]}
        self._native = interruptible(ops.compile, files, text, name, json.dumps(options))
        about = json.loads(self._native.describe())
        self._contents = {file: _content(file) for file in {*source, *about["files"]} if file != "-"}
        self._groups: List[dict] = json.loads(self._native.groups())
        self.positions = tuple(Position(i, p["name"], tuple(p["symbols"]), p["guess"], p["file"], p["line"])
                               for i, p in enumerate(about["positions"]))
        self.families = tuple(Family(**family) for family in about["families"])
        self.symbols: int = about["symbols"]
        self.atoms: int = about["atoms"]
        self.definitions: int = about["definitions"]
        self.residual_terms: int = about["residual_terms"]
        self.objectives: Tuple[int, ...] = tuple(about["objectives"])
        self._objective_statements: int = about["objective_statements"]
        self.hash: str = about["hash"]
        self.warnings = [Message(**message) for message in about["warnings"]]
        self.notes = [Message(**message) for message in about["notes"]]
        self.index = {position.name: position.index for position in self.positions}
        with torch.inference_mode(False):  # training uses them, too
            self.domains = torch.tensor([len(p.symbols) for p in self.positions], dtype=torch.int64)
            self.mask = torch.arange(self.symbols) < self.domains.unsqueeze(-1)
            self.uniform = self.mask.double() / self.domains.clamp_min(1).unsqueeze(-1)
            self.believable = torch.tensor([not p.guess for p in self.positions], dtype=torch.bool)
        self.has_guesses = not bool(self.believable.all())

    # What it is.

    @property
    def groups(self) -> List[Group]:
        """What each family says about each set of positions."""
        return [Group(self.families[g["family"]].name, g["kind"], tuple(self.positions[i].name for i in g["positions"]))
                for g in self._groups]

    def _summary(self) -> Tuple[List[Tuple[str, int]], List[Tuple[str, ...]]]:
        counts = [("positions", len(self.positions)), ("atoms", self.atoms), ("groups", len(self._groups)),
                  ("residual terms", self.residual_terms), ("definitions", self.definitions),
                  ("objectives", self._objective_statements), ("guesses", len(self.positions) - int(self.believable.sum()))]
        rows = [("family", "line", "kind", "groups", "terms")]
        rows += [(f.name, f"{f.file}:{f.line}", f.kind, str(f.groups), str(f.terms)) for f in self.families]
        return counts, rows

    def __str__(self) -> str:
        counts, rows = self._summary()
        lines = [f"{what:<14}  {count:>6}" for what, count in counts]
        if len(rows) > 1:
            widths = [max(len(row[k]) for row in rows) for k in range(5)]
            lines.append("")
            lines += ["  ".join(cell.rjust(w) if k > 2 else cell.ljust(w)
                                for k, (cell, w) in enumerate(zip(row, widths))).rstrip() for row in rows]
        lines += [f"warning: {warning}" for warning in self.warnings]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return (f"<as2.Program {self._made_from[2] if not self._made_from[0] else ' '.join(self._made_from[0])}: "
                f"{len(self.positions)} positions, {len(self.families)} families, {len(self._groups)} groups>")

    def _repr_html_(self) -> str:
        counts, rows = self._summary()
        text = ", ".join(f"{count} {what}" for what, count in counts)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows[1:])
        head = "".join(f"<th>{cell}</th>" for cell in rows[0])
        return f"<p>{html.escape(text)}</p><table><tr>{head}</tr>{body}</table>"

    def __reduce__(self) -> Any:
        return _compiled_again, (self._made_from, self.hash)

    def __copy__(self) -> "Program":
        return self

    def __deepcopy__(self, memo: Any) -> "Program":
        return self

    def assignment(self, symbols: torch.Tensor) -> Assignment:
        """{position: symbol} of indices [positions]."""
        if not isinstance(symbols, torch.Tensor) or symbols.dim() != 1:
            raise input_error("an assignment is made of a tensor [positions]", "symbols_of() is the inverse")
        return self._named(read_assignments(self, symbols)[0][0].tolist())

    def _named(self, symbols: Sequence[int]) -> Assignment:
        return {p.name: p.symbols[s] for p, s in zip(self.positions, symbols)}

    def symbols_of(self, assignments: GivenAssignments) -> torch.Tensor:
        """The inverse, indices [positions] of a dict, [batch, positions] of a list of dicts."""
        symbols, single = read_assignments(self, assignments)
        return symbols[0] if single else symbols

    def one_hot(self, assignments: GivenAssignments) -> torch.Tensor:
        """Beliefs [positions, symbols] (of one) or [batch, positions, symbols] that are sure of an assignment."""
        return torch.nn.functional.one_hot(self.symbols_of(assignments), self.symbols).double()

    def atoms_of(self, assignment: GivenAssignments) -> Union[List[str], List[List[str]]]:
        """The atoms clingo would show for an assignment; of a batch a list of such lists."""
        symbols, single = read_assignments(self, assignment)
        rows = call(ops.shown_atoms, self._native, symbols)
        return rows[0] if single else rows

    # Constraints.

    def soft_tp(self) -> "SoftTp":
        """Soft T_P as a module: as2.SoftTp."""
        from ._tensor import SoftTp
        if not self.positions and self._groups:
            family = self.families[self._groups[0]["family"]]
            raise InputError(f"{family.file}:{family.line}: error: `{family.name}` is violated, and nothing is chosen that "
                             "a residual could stand at\nnote: a choice, such as `{ a; b } = 1.`, gives the program "
                             "positions", family.file, family.line)
        return SoftTp(self)

    def violated(self, assignments: Union[Decoded, DecodedBatch, Sequence[Decoded], GivenAssignments]) -> Union[List[Group], List[List[Group]]]:
        """The groups that an assignment violates, by our own evaluation; empty: an answer set. Of a batch a list of such
        lists. Of an answer of decode() those that any of its models violates."""
        symbols, counts, single = self._answers(assignments)
        groups, found, rows = self.groups, iter(json.loads(call(ops.violated_groups, self._native, symbols))), []
        for count in counts:
            violated = {g for _ in range(count) for g in next(found)}
            rows.append([groups[g] for g in sorted(violated)])
        return rows[0] if single else rows

    # Decoding.

    def decode(self, p: GivenBeliefs, *, method: str = "map", models: int = 1, unique: bool = False,
               unique_margin: float = 30, unique_readings: int = 2000,
               evidence: Union[torch.Tensor, Texts, None] = None, pins: Optional[Mapping[str, Any]] = None,
               explain: bool = True, objective_weights: Optional[Mapping[int, float]] = None,
               objective_first: bool = False, node_budget: int = 0, time_budget: float = 0,
               threads: int = 0) -> Union[Decoded, DecodedBatch]:
        """The most probable assignment that satisfies the program, or a proof that there is none.

        p: beliefs, [positions, symbols] or a dict for one instance (the answer is a `Decoded`), [batch, positions,
          symbols] or a list of dicts for several (a `DecodedBatch`).
        method: "map", exact; or "greedy", the paper's procedure, `evidence` first.
        models: the K best, in order.
        unique: the most probable reading of the evidence that leaves exactly one completion. `evidence`: the
          positions that were read, by name (`*` for any text) or as bool [positions] or [batch, positions]; by default
          those whose beliefs are not uniform. unique_margin: how much less probable than the best reading it may be, in
          log p; unique_readings: how many are tested at most, per instance.
        pins: {position: symbol} to hold; all else is soft.
        explain: also what was changed and why; without it decoding a large batch is faster.
        objective_weights: {level: weight} against log p; objective_first: log p only breaks ties.
        node_budget, time_budget: stop after so many nodes or seconds per instance; 0: never.
        threads: 0: all cores.
        """
        options: Dict[str, Any] = {
            "method": method, "models": whole("models", models, 1), "unique": bool(unique),
            "unique_margin": real("unique_margin", unique_margin),
            "unique_readings": whole("unique_readings", unique_readings, 1), "explain": bool(explain),
            "objective_weights": self._weights(objective_weights), "objective_first": bool(objective_first),
            "node_budget": whole("node_budget", node_budget, most=2 ** 63 - 1),
            "time_budget": seconds("time_budget", time_budget, remedy="0: no limit"), "threads": whole("threads", threads)}
        self._refuse_idle(method, evidence, {
            "models": models != 1, "unique": unique, "unique_margin": unique_margin != 30,
            "unique_readings": unique_readings != 2000, "objective_weights": bool(objective_weights),
            "objective_first": objective_first, "node_budget": node_budget != 0, "time_budget": time_budget != 0})
        if unique:
            options["objective_weights"] = []
        beliefs = read_beliefs(self, p)
        # The search is on the CPU, in another thread, which would not wait for what a CUDA stream of this one still computes.
        beliefs, missing = self._with_open_guesses(beliefs._replace(p=beliefs.p.detach().cpu()))
        batch = beliefs.p.shape[0]
        read = [] if evidence is None else read_positions(self, evidence, batch)
        if evidence is None and (unique or method == "greedy"):
            uniform = self.uniform.to(beliefs.p)
            read = read_positions(self, ((beliefs.p - uniform).abs() > 1e-9).any(-1) & (self.domains > 1), batch)
        if unique and not all(read):
            raise input_error(f"unique=True needs evidence, and in row {read.index([])} every position is uniform",
                              "give beliefs about what was read, or name it: evidence=[\"cell(1,1,_)\"]")
        if not isinstance(pins, (Mapping, type(None))):
            raise input_error(f"pins are a {type(pins).__name__}, expected a dict", 'write {"cell(1,1,_)": "5"}')
        held = []
        for name, symbol in (pins or {}).items():
            position = require_position(self, name)
            if any(position == other for other, _ in held):
                raise input_error(f"'{name}' is pinned twice", "hold a position to one symbol")
            held.append((position, require_symbol(self, position, symbol)))
        options.update(evidence=read, pins=held)
        symbols, log_p, rest = interruptible(ops.decode, self._native, beliefs.p, json.dumps(options))
        log_p += missing.unsqueeze(-1)
        rows = json.loads(rest)
        if beliefs.single:
            return _decoded(self, symbols[0], log_p[0], rows[0])
        return DecodedBatch(self, symbols, log_p, rows)

    def _with_open_guesses(self, beliefs: Beliefs) -> Tuple[Beliefs, torch.Tensor]:
        """A guess that nobody has beliefs about weighs 1, as in probabilities. The search sees it as uniform; the second
        result [batch] is what log p is too low by."""
        if beliefs.believed is None or not self.has_guesses:
            return beliefs, torch.zeros(beliefs.p.shape[0], dtype=torch.float64)
        free = ~beliefs.believed.cpu() & ~self.believable
        p = torch.where(free.unsqueeze(-1), self.uniform.to(beliefs.p), beliefs.p)
        return beliefs._replace(p=p), (free * self.domains.double().log()).sum(-1)

    def _refuse_idle(self, method: str, evidence: Any, given: Mapping[str, bool]) -> None:
        """Refuses options that would have no effect. `given`: which differ from their defaults."""
        if method not in ("map", "greedy"):
            raise input_error(f"method is '{method}', expected 'map' or 'greedy'")
        if method == "greedy":
            for option, set_ in given.items():
                if set_:
                    raise input_error(f"{option} has no effect with method='greedy'")
        elif evidence is not None and not given["unique"]:
            raise input_error("evidence has an effect only with method='greedy' or unique=True")
        for option in ("unique_margin", "unique_readings"):
            if given[option] and not given["unique"]:
                raise input_error(f"{option} has no effect without unique=True")
        for option in ("objective_weights", "objective_first"):
            if given[option] and given["unique"]:
                raise input_error(f"{option} has no effect with unique=True", "decode twice")
            if given[option] and not self.objectives:
                raise input_error(f"{option} has no effect: the program has no objective")
        if given["objective_first"] and given["objective_weights"]:
            raise input_error("objective_weights has no effect with objective_first=True")

    def _weights(self, given: Optional[Mapping[int, float]]) -> List[float]:
        weights = dict.fromkeys(self.objectives, 1.0)
        for level, weight in (given or {}).items():
            if level not in weights:
                levels = ", ".join(map(str, self.objectives)) or "none"
                raise input_error(f"the program has no objective of level {level}", f"its levels are {levels}")
            weights[level] = real(f"the weight of level {level}", weight, -math.inf)
        return list(weights.values())

    # Verifying.

    @overload
    def verify(self, answer: Union[Decoded, Mapping[str, Any]], time_limit: float = 300) -> Verdict: ...

    @overload
    def verify(self, answer: Union[DecodedBatch, Sequence[Decoded], Sequence[Mapping[str, Any]]],
               time_limit: float = 300) -> Verdicts: ...

    @overload
    def verify(self, answer: torch.Tensor, time_limit: float = 300) -> Union[Verdict, Verdicts]: ...

    def verify(self, answer: Union[Decoded, DecodedBatch, Sequence[Decoded], GivenAssignments],
               time_limit: float = 300) -> Union[Verdict, Verdicts]:
        """clingo's word on an answer of `decode`, an assignment {position: symbol}, or symbols [positions]: a `Verdict`;
        on a batch of them `Verdicts`, a tuple of such that is `valid` where all are. All models of an answer are checked."""
        files, text, name, constants, assume, _, source = self._made_from
        symbols, counts, single = self._answers(answer)
        options = json.dumps({"constants": constants, "assume": assume, "time_limit": seconds("time_limit", time_limit)})
        if text and not files:
            with tempfile.TemporaryDirectory(prefix="as2-") as folder:
                path = str(pathlib.Path(folder) / "program.lp")
                pathlib.Path(path).write_text(text, encoding="utf-8")
                rows = json.loads(interruptible(ops.verify, self._native, [path], symbols, options))
            for row in rows:
                row["violated"] = [{**v, "file": name if v["file"] else ""} for v in row["violated"]]
        else:
            readable = source or files
            for file, content in self._contents.items():
                if _content(file) != content:
                    warn(f"{file} has changed since the program was compiled; clingo reads what it says now")
            if any(file.endswith(".as2c") for file in readable):
                raise InputError(f"{readable[0]}: error: a compiled program, which clingo cannot read\n"
                                 "note: compile the .lp file", readable[0])
            rows = json.loads(interruptible(ops.verify, self._native, readable, symbols, options))
        verdicts = [Verdict(row["valid"], [Violation(v["family"], v["file"] or None, v["line"] or None)
                                           for v in row["violated"]], row["message"]) for row in rows]
        joined, at = [], 0
        for count in counts:
            these = verdicts[at:at + count]
            at += count
            joined.append(next((verdict for verdict in these if not verdict), these[0]))
        return joined[0] if single else Verdicts(joined)

    def _answers(self, answer: Any) -> Tuple[torch.Tensor, List[int], bool]:
        """Symbols of all models of all instances, how many models each has, and whether it is one instance."""
        single = isinstance(answer, Decoded)
        answers = [answer] if single else list(answer) if is_several(answer) else []
        if isinstance(answer, DecodedBatch) or (answers and all(isinstance(one, Decoded) for one in answers)):
            for row, one in enumerate(answers):
                if not one.models:
                    where = "" if single else f" in row {row}"
                    raise input_error(f"there is no assignment to verify{where}: the answer is '{one.status}'")
                if list(one.assignment) != list(self.index):
                    raise input_error("the answer is about other positions than this program's", "verify it with the program it is of")
            none = torch.empty(0, len(self.positions), dtype=torch.int64)
            return torch.cat([none, *(one.symbols for one in answers)]), [len(one.models) for one in answers], single
        symbols, single = read_assignments(self, answer)
        return symbols, [1] * len(symbols), single

    # Probability.

    def _ask(self, queries: Sequence[str], patterns: Sequence[str], time_budget: float, memory_budget: float,
             inputs: Optional[Sequence[int]] = None, floor: float = 0) -> Any:
        """The circuit that answers these questions."""
        chosen = list(range(len(self.positions))) if inputs is None else list(inputs)
        questions = interruptible(ops.ask, self._native, list(queries), list(patterns), chosen, floor,
                                  seconds("time_budget", time_budget), mebibytes("memory_budget", memory_budget))
        self._warn_of_unknown(questions.unknown())
        return questions

    def _warn_of_unknown(self, atoms: Sequence[str]) -> None:
        for atom in atoms:
            warn(f"'{atom}' can never hold: the program has no such atom")

    def _weighed(self, p: Any) -> Tuple[torch.Tensor, bool]:
        """Weights [batch, positions, symbols]: beliefs, and 1 where there are none."""
        if p is None:
            return torch.ones_like(self.uniform).unsqueeze(0), True
        beliefs: Beliefs = read_beliefs(self, p)
        weights = beliefs.p
        if beliefs.believed is not None:
            weights = torch.where(beliefs.believed.unsqueeze(-1), weights, torch.ones((), dtype=weights.dtype,
                                                                                       device=weights.device))
        return weights, beliefs.single

    def _lifted(self, weights: torch.Tensor) -> Optional[torch.Tensor]:
        """The weights with a floor in place of each 0, and a gradient there alone: at 0 itself, whose logarithm is
        infinite, a circuit has none. None where no gradient is taken or no weight is 0."""
        if not (torch.is_grad_enabled() and weights.requires_grad):
            return None
        given = weights.to(torch.promote_types(weights.dtype, torch.float32))  # half precision has no such floor
        zero = (given.detach() <= 0) & self.mask.to(weights.device)
        return torch.where(zero, given + FLOOR, given.detach()) if bool(zero.any()) else None

    def _log_weights(self, questions: Any, weights: torch.Tensor) -> torch.Tensor:
        logs = _log_weights(weights, questions.number())
        lost = torch.isinf(logs[:, 0].detach())
        if bool(lost.any()):
            row = int(lost.nonzero()[0])
            call(questions.refuse, weights[row:row + 1].detach(), row)
        return logs

    def log_probability(self, p: Optional[GivenBeliefs] = None, *, time_budget: float = 60,
                        memory_budget: float = 2048) -> torch.Tensor:
        """log P(program), the weight of all answer sets, of each instance: [batch], or a scalar of one. (An answer of
        decode() has a log_probability of its own: that of its assignment.)

        Differentiable. `p`: beliefs as in decode(); None: every answer set weighs 1. time_budget (seconds) and
        memory_budget (MiB) are for compiling the circuit.
        """
        weights, single = self._weighed(p)
        questions = self._ask((), (), time_budget, memory_budget)
        logs = self._log_weights(questions, weights)[:, 0]
        lifted = self._lifted(weights)
        if lifted is not None:
            above = _log_weights(lifted, questions.number())[:, 0]
            logs = _with_gradient_of(_share(above, logs) * above, logs)
        return logs[0] if single else logs

    def _probabilities(self, questions: Any, weights: torch.Tensor) -> torch.Tensor:
        """P of every question, [batch, questions]."""
        logs = self._log_weights(questions, weights)
        total, asked = logs[:, :1], logs[:, 1:]
        never = torch.isinf(asked.detach())  # whatever its gradient, nothing here has a share in it
        result = (asked.masked_fill(never, 0) - total).exp().masked_fill(never, 0)
        lifted = self._lifted(weights)
        if lifted is None:
            return result
        above = _log_weights(lifted, questions.number())  # (Q / P)′ = Q′ / P − (Q / P) P′ / P
        rise = _share(above[:, 1:], total) * above[:, 1:] - result.detach() * _share(above[:, :1], total) * above[:, :1]
        return _with_gradient_of(rise.masked_fill(torch.isinf(above[:, 1:].detach()), 0), result)

    def probability(self, p: Optional[GivenBeliefs], query: Texts, *, time_budget: float = 60,
                    memory_budget: float = 2048) -> torch.Tensor:
        """P(query), exactly: "total(7), not carry(1,1), cell(1,1,_)=5".

        One query: a scalar, or [batch]; a list of queries: [queries], or [batch, queries]. Differentiable with
        respect to `p`, as log_probability().
        """
        one = isinstance(query, str)
        weights, single = self._weighed(p)
        result = self._probabilities(self._ask(texts("query", query), (), time_budget, memory_budget), weights)
        result = result[:, 0] if one else result
        return result[0] if single else result

    def distribution(self, p: Optional[GivenBeliefs], pattern: Texts, *, time_budget: float = 60,
                     memory_budget: float = 2048) -> Dict[str, torch.Tensor]:
        """{atom: P(atom)} of every atom that matches, `_` for any argument: "total(_)". Each value is a scalar, or
        [batch]. Differentiable; as2.Module gives the same as one tensor."""
        weights, single = self._weighed(p)
        questions = self._ask((), texts("pattern", pattern), time_budget, memory_budget)
        values = self._probabilities(questions, weights)
        return {atom: values[0, k] if single else values[:, k] for k, atom in enumerate(questions.names())}

    def marginals(self, p: Optional[GivenBeliefs] = None, *, time_budget: float = 60,
                  memory_budget: float = 2048) -> torch.Tensor:
        """P(position = symbol): [positions, symbols], or [batch, positions, symbols]; 0 in the padding. Differentiable,
        as log_probability()."""
        weights, single = self._weighed(p)
        questions = self._ask((), (), time_budget, memory_budget)
        self._log_weights(questions, weights.detach())
        result = _marginals(weights, questions.number())
        lifted = self._lifted(weights)
        if lifted is not None:
            result = _with_gradient_of(_marginals(lifted, questions.number()), result)
        return result[0] if single else result

    def sample(self, p: Optional[GivenBeliefs] = None, count: int = 1, seed: Optional[int] = None, *,
               time_budget: float = 60, memory_budget: float = 2048) -> Union[List[Assignment], List[List[Assignment]]]:
        """Answer sets drawn by their probability, each as {position: symbol}; of a batch a list of such lists. The
        same for the same seed everywhere; without one, torch.manual_seed governs the draws."""
        count = whole("count", count, 1)
        weights, single = self._weighed(p)
        questions = self._ask((), (), time_budget, memory_budget)
        self._log_weights(questions, weights.detach())
        drawn = interruptible(questions.sample, weights.detach().cpu(), count, _seed(seed))
        rows = [[self._named(one) for one in row] for row in drawn.tolist()]
        return rows[0] if single else rows

    def approximate(self, p: GivenBeliefs, query: Texts = (), *, method: str = "top-k", size: int = 0,
                    time_budget: Optional[float] = None, seed: Optional[int] = None) -> Union[Approximation, List[Approximation]]:
        """Probabilities without a circuit, where none fits; without gradient. `--approx` on the command line.

        method: "top-k" sums over the best answers (`size` of them, by default 1000), searched for `time_budget` seconds
          (60 by default, 0: no limit); "sample" draws assignments from the beliefs (`size`, by default 100000) and keeps
          the answer sets, with `seed` as in sample().
        """
        if method not in ("top-k", "sample"):
            raise input_error(f"method is '{method}', expected 'top-k' or 'sample'")
        size = whole("size", size)
        if seed is not None and method == "top-k":
            raise input_error("seed has no effect with method='top-k'")
        if time_budget is not None and method == "sample":
            raise input_error("time_budget has no effect with method='sample'", "size= says how many are drawn")
        limit = 60 if time_budget is None else seconds("time_budget", time_budget, remedy="0: no limit")
        queries = texts("query", query)
        self._warn_of_unknown(call(ops.unknown_atoms, self._native, queries))
        beliefs = read_beliefs(self, p)
        believed = beliefs.believed
        if believed is None:
            believed = self.believable.expand(beliefs.p.shape[0], -1)
        best = method == "top-k"
        rows = interruptible(ops.approximate, self._native, beliefs.p.detach().cpu(), believed.cpu(), queries, best,
                             size or (1000 if best else 100000), limit, 0 if best else _seed(seed)).tolist()
        for b, (log_p, bound, *_) in enumerate(rows):
            if math.isinf(log_p) and bound == 0:
                raise input_error(f"P(program) = 0 in row {b}: no answer set agrees with the beliefs",
                                  "decode() says what contradicts them")
            if math.isinf(log_p):
                raise input_error(f"no answer set was found for row {b} within the {limit:g} s of time_budget",
                                  "time_budget= allows more; 0: no limit")
        found = [Approximation(row[0], row[1], dict(zip(queries, row[2:]))) for row in rows]
        return found[0] if beliefs.single else found

    def count(self, *, time_budget: float = 60, memory_budget: float = 2048) -> int:
        """The number of answer sets."""
        return int(interruptible(self._ask((), (), time_budget, memory_budget).count))
