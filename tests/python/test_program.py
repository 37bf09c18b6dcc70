"""Compiling, decoding, verifying, probabilities, and what is said about bad input."""
import contextlib
import gc
import os
import pickle
import resource
import subprocess
import sys
import tempfile
import textwrap
import unittest
import warnings

import as2
import torch
from support import SOURCE, command_line, needs_gringo, random_beliefs

COLOURS = """
{ colour(N,C) : C=1..3 } = 1 :- N=1..3.
:- colour(1,C), colour(2,C).  % neighbours
same :- colour(2,C), colour(3,C).
"""


class Program(unittest.TestCase):
    def test_positions_families_and_how_they_print(self):
        program = as2.compile("sudoku.lp", b=2)
        self.assertEqual([p.name for p in program.positions[:2]], ["cell(1,1,_)", "cell(1,2,_)"])
        self.assertEqual(program.positions[0].symbols, ("1", "2", "3", "4"))
        self.assertEqual([(f.name, f.kind, f.groups, f.terms) for f in program.families],
                         [("rows", "exclusive", 4, 64), ("columns", "exclusive", 4, 64), ("boxes", "exclusive", 4, 64)])
        self.assertEqual(program.groups[0].positions, tuple(f"cell(1,{c},_)" for c in range(1, 5)))
        self.assertRegex(str(program), r"positions +16\n(.*\n)*rows +\S*sudoku.lp:9 +exclusive +4 +64")
        self.assertIn("<td>rows</td>", program._repr_html_())
        self.assertIn("16 positions", repr(program))
        again = pickle.loads(pickle.dumps(program))
        self.assertEqual(again.hash, program.hash)
        with self.assertWarnsRegex(UserWarning, "program.lp:2: atom does not occur") as heard:
            warned = as2.compile(text="{ a }.\n:- a, nothing.  % typo")
        self.assertEqual((len(heard.warnings), heard.filename), (len(warned.warnings), __file__))
        self.assertEqual(warned.warnings[0].line, 2)
        self.assertIn("warning: program.lp:2", str(warned))

    def test_decoding_one_many_and_by_name(self):
        program = as2.compile(text=COLOURS, name="colours.lp")
        given = {"colour(1,_)": {"1": 0.9, "2": 0.1}, "colour(2,_)": {1: 0.8, 3: 0.2}}
        one = program.decode(given, models=3)
        self.assertEqual(one.status, "optimal")
        self.assertEqual((one.assignment["colour(1,_)"], one.assignment["colour(2,_)"]), ("1", "3"))
        self.assertEqual(len(one.models), 3)
        self.assertEqual([c.position for c in one.changed], ["colour(2,_)"])
        self.assertEqual((one.conflicts[0].family, one.conflicts[0].file, one.conflicts[0].line),
                         ("neighbours", "colours.lp", 3))
        self.assertIn("changed: colour(2,_) read 1", str(one))
        pinned = program.decode(given, pins={"colour(2,_)": 1})
        self.assertEqual(pinned.assignment["colour(1,_)"], "2")
        stuck = program.decode(given, pins={"colour(2,_)": "1", "colour(1,_)": "1"})
        self.assertEqual((stuck.status, stuck.assignment, stuck.conflicting_pins),
                         ("unsatisfiable", None, {"colour(1,_)": "1", "colour(2,_)": "1"}))
        batch = program.decode([given, {}])
        self.assertEqual((len(batch), batch.symbols.shape, batch.log_probability.shape), (2, (2, 1, 3), (2, 1)))
        self.assertEqual(batch[0].assignment, one.assignment)
        self.assertEqual(batch.status, ["optimal", "optimal"])
        greedy = program.decode(given, method="greedy", evidence=["colour(2,_)"])
        self.assertEqual(greedy.assignment["colour(2,_)"], "1")
        self.assertEqual(program.decode(given, method="greedy", evidence="colour(2*").assignment, greedy.assignment)
        single = program.decode(random_beliefs(program, 1).float())
        self.assertIsInstance(single, as2.Decoded)

    def test_objectives_are_counted_as_check_does(self):
        program = as2.compile(text="{ a; b; c }. :~ a. [1@2] :~ b. [1@2] #minimize { 1,c : c }.")
        self.assertRegex(str(program), r"objectives +3\n")
        self.assertEqual(program.objectives, (2, 0))

    def test_arrays_of_numpy_are_beliefs(self):
        program = as2.compile(text=COLOURS)
        p = random_beliefs(program, batch=2)
        self.assertEqual(program.decode(p.numpy()).assignment, program.decode(p).assignment)
        self.assertIsInstance(program.decode(p.float().numpy()[0]), as2.Decoded)
        torch.testing.assert_close(program.probability(p.numpy(), "same"), program.probability(p, "same"))
        self.refused(r"beliefs are \[1, 3\], expected", program.decode, p.numpy()[0, :1])
        self.refused("beliefs are an array that PyTorch cannot take: .*negative", program.decode, p.numpy()[::-1])
        self.refused("beliefs are a list, expected a tensor, an array, a dict", program.decode, p.tolist())

    def test_the_reading_that_leaves_one_completion(self):
        program = as2.compile("sudoku.lp", b=2)
        clues = {"cell(1,1,_)": {"1": 1.0}, "cell(1,2,_)": {"2": 1.0}, "cell(2,3,_)": {"1": 0.6, "2": 0.4},
                 "cell(3,1,_)": {"2": 1.0}, "cell(4,3,_)": {"3": 1.0}}
        found = program.decode(clues, unique=True)
        self.assertIsNotNone(found.unique)
        best = program.decode(clues, models=2, unique=True)  # the two most probable readings of that kind
        self.assertEqual(best.models[0].assignment, found.assignment)
        as_told = program.decode(clues, unique=True, evidence=list(clues))
        self.assertEqual(found.assignment, as_told.assignment)
        with_objective = as2.compile(text="{ a(V) : V=1..2 } = 1. { b(V) : V=1..2 } = 1. :- a(V), b(V). :~ a(V). [V]")
        self.assertTrue(with_objective.decode({"a(_)": {"2": 0.9, "1": 0.1}}, unique=True).unique.found)
        self.refused("in row 1 every position is uniform", program.decode, [clues, {}], unique=True)
        if found.unique.found:
            pins = {name: found.assignment[name] for name in clues}
            self.assertEqual(len(program.decode({}, pins=pins, models=2).models), 1)

    def test_clingo_has_the_last_word(self):
        program = as2.compile(text=COLOURS, name="colours.lp")
        good = program.decode({"colour(1,_)": {"1": 1.0}}, models=2)
        verdict = program.verify(good)
        if verdict.valid is None:
            self.skipTest(verdict.message)
        self.assertTrue(verdict.valid and bool(verdict))
        wrong = {"colour(1,_)": "1", "colour(2,_)": "1", "colour(3,_)": "2"}
        verdict = program.verify(wrong)
        self.assertIs(verdict.valid, False)
        self.assertEqual((verdict.violated[0].family, verdict.violated[0].file, verdict.violated[0].line),
                         ("neighbours", "colours.lp", 3))
        self.assertEqual([v.valid for v in program.verify([good.assignment, wrong])], [True, False])
        batch = program.verify(program.decode(random_beliefs(program, batch=3)))
        self.assertEqual((len(batch), batch.valid, [v.valid for v in batch]), (3, True, [True] * 3))
        mixed = program.verify([good, program.decode({})])
        self.assertTrue(mixed.valid and bool(mixed) and isinstance(mixed, as2.Verdicts))
        self.assertIs(program.verify([good.assignment, wrong]).valid, False)
        self.assertIsNone(as2.Verdicts([verdict, as2.Verdict(None, [], "late")][1:]).valid)
        self.assertEqual((len(program.verify(program.decode([]))), program.verify([]).valid), (0, True))
        self.assertEqual(program.violated(wrong)[0].family, "neighbours")
        self.assertEqual(program.violated(good), [])
        self.assertEqual(program.violated(program.decode(random_beliefs(program, batch=3))), [[], [], []])
        self.assertEqual(program.atoms_of(good.assignment), good.atoms)

    def test_probabilities_by_hand(self):
        program = as2.compile(text=COLOURS)
        given = {"colour(1,_)": {"1": 1.0}, "colour(2,_)": {"1": 0.5, "2": 0.25, "3": 0.25}, "colour(3,_)": {"2": 1.0}}
        self.assertAlmostEqual(float(program.log_probability(given).exp()), 0.5)
        self.assertAlmostEqual(float(program.probability(given, "same")), 0.5)
        self.assertEqual([round(float(p), 6) for p in program.probability(given, ["not same", "colour(2,_)=3"])], [0.5, 0.5])
        self.assertEqual({k: float(v) for k, v in program.distribution(given, "colour(2,_)").items()},
                         {"colour(2,1)": 0.0, "colour(2,2)": 0.5, "colour(2,3)": 0.5})
        self.assertEqual(program.count(), 18)
        self.assertEqual(program.marginals(given)[1].tolist(), [0.0, 0.5, 0.5])
        drawn = program.sample(given, 200, seed=7)
        twos = sum(answer["colour(2,_)"] == "2" for answer in drawn)
        self.assertTrue(60 < twos < 140, twos)
        self.assertEqual(program.sample(None, 2, seed=3), program.sample(None, 2, seed=3))
        torch.manual_seed(3)
        first, second = program.sample(None, 20), program.sample(None, 20)
        self.assertNotEqual(first, second)
        torch.manual_seed(3)
        self.assertEqual(first, program.sample(None, 20))
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            self.assertEqual(float(program.probability(given, "colour(9,9)")), 0)
        self.assertIn("can never hold", str(heard[0].message))

    def test_approximations_bound_their_error(self):
        program = as2.compile(text=COLOURS)
        p = random_beliefs(program, 6)
        exact = float(program.probability(p, "same"))
        everything = program.approximate(p, "same")
        self.assertEqual(everything.bound, 0)
        self.assertAlmostEqual(everything.queries["same"], exact, 9)
        for found in (program.approximate(p, "same", size=5), program.approximate(p, "same", method="sample", size=4000, seed=1)):
            self.assertGreater(found.bound, 0)
            self.assertLessEqual(abs(found.queries["same"] - exact), found.bound)
        theirs = command_line("prob", SOURCE / "programs" / "sudoku.lp", "--approx", "top-k", "--approx-size", 20,
                              "--query", "cell(1,1,5)", beliefs={"cell(1,1,_)": {"5": 0.75, "6": 0.25}})
        ours = as2.compile("sudoku.lp").approximate({"cell(1,1,_)": {"5": 0.75, "6": 0.25}}, "cell(1,1,5)", size=20)
        self.assertAlmostEqual(ours.queries["cell(1,1,5)"], theirs["queries"][0]["p"], 6)
        self.refused("expected 'top-k' or 'sample'", program.approximate, p, "same", method="best")
        self.refused("seed has no effect", program.approximate, p, "same", seed=1)

    def test_each_row_has_an_observation_of_its_own(self):
        program = as2.compile(text=COLOURS)
        module = as2.Module(program, "colour(*", "same")
        p = random_beliefs(program, 2, batch=3)
        texts = ["same", "not same, colour(1,_)=2", "colour(1,3), same"]
        ours = module.log_probability(p, texts)
        for row, text in enumerate(texts):
            self.assertAlmostEqual(float(ours[row].exp()), float(program.probability(p[row], text)), 9)
        every = as2.Module(program, "colour(*", ["same", "colour(3,_)"])
        labels = torch.tensor([1, 0, 3])
        expected = every.log_probability(p).gather(1, labels.unsqueeze(1)).squeeze(1)
        for given in (labels, labels.int(), labels.tolist(), list(labels), labels.numpy(), tuple(every.atoms[k] for k in labels)):
            torch.testing.assert_close(every.log_probability(p, given), expected)
        self.refused("label of row 2 is 4, expected 0 … 3\nnote: it is an index into .atoms", every.log_probability, p, [0, 1, 4])
        self.refused("label of row 0 is -1", every.log_probability, p, torch.tensor([-1, 0, 0]))
        self.refused("observed is int64 \\[3, 1\\], expected integers \\[batch\\]", every.log_probability, p, labels.unsqueeze(1))
        self.refused("observed is float64 \\[3\\]", every.log_probability, p, labels.double())
        self.refused("2 observations for 3 rows", every.log_probability, p, labels[:2])
        self.refused("2 observations for 3 rows", module.log_probability, p, texts[:2])
        self.refused("observed is 'same', expected a list", module.log_probability, p, "same")
        self.refused("the label of row 1 is 0.5, expected a text or an index", every.log_probability, p, [1, 0.5, 2])
        self.refused("observed in row 1, can never hold: .*'sam'", module.log_probability, p, ["same", "sam", "same"])
        self.refused("observed in row 2, holds in no answer set", module.log_probability, p,
                     ["same", "same", "colour(1,1), colour(2,1)"])
        self.refused("need beliefs with values", module.log_probability, p.to("meta"), texts)
        positions = as2.Module(program, "colour(*", "colour(3,_)")
        self.refused("name them in `output`", positions.log_probability, p, texts)

    def test_what_max_gives_for_nothing_has_no_column(self):
        text = "{ rank(I,R) : R=1..3 } = 1 :- I=1..2. top(M) :- M = #max{ R : rank(_,R) }."
        module = as2.Module(as2.compile(text=text), "rank(*", "top(_)")
        self.assertEqual(module.atoms, ["top(1)", "top(2)", "top(3)"])
        self.assertAlmostEqual(float(module(torch.full((1, 2, 3), 1 / 3, dtype=torch.float64))[0, 2]), 5 / 9)
        maybe = as2.compile(text="{ r(1..2) }. top(M) :- M = #max{ R : r(R) }.")
        self.assertAlmostEqual(float(maybe.distribution(None, "top(_)")["top(#inf)"]), 0.25)

    def refused(self, expected, function, *arguments, **keywords):
        with self.assertRaisesRegex(as2.InputError, expected) as caught:
            function(*arguments, **keywords)
        return caught.exception

    def test_names_are_compared_as_clingo_prints_them(self):
        program = as2.compile(text='{ p(a,b); p(a,c); p(a,"x  y") } = 1. { q(1,"a b") }. r(X) :- p(a,X). '
                                   '#external e(1,2). s :- e(1,2).',
                              assume=["e( 1, 2 )"])
        self.assertEqual(program.decode({" p(a, _)": {' "x  y" ': 1}, 'q(1, "a b")': {"true ": 1}}).assignment,
                         {"p(a,_)": '"x  y"', 'q(1,"a b")': "true", "e(1,2)": "false"})
        self.assertEqual(program.decode(program.uniform, pins={"p( a,_ )": " b "}).assignment["p(a,_)"], "b")
        symbols = program.symbols_of({"p(a, _)": "c", 'q( 1,"a b")': True, "e(1, 2)": False})
        self.assertEqual(program.assignment(symbols)["p(a,_)"], "c")
        for query, p in (("p( a, b )", 1 / 3), ('p(a, "x  y")', 1 / 3), ('p(a, _) = "x  y"', 1 / 3), ("not\tr( b )", 2 / 3)):
            self.assertAlmostEqual(float(program.probability(program.uniform, query)), p)
        module = as2.Module(program, ["p(a, *", 'q(*, "a b")'], 'r( "x  y" )')
        self.assertEqual((module.input_names, module.atoms), (["p(a,_)", 'q(1,"a b")'], ['r("x  y")']))
        for text in ('q(1,"ab")', 'q(1,"a  b")', "p(a a,_)"):  # blanks count in strings, and between words
            self.refused("the program has no position", program.decode, {text: {"true": 1}})
        self.refused("'r\\(b b\\)' is no atom\nnote: .*commas between", program.probability, None, "r(b b)")
        self.refused("'r\\(\\*' is no atom\nnote: .*`_` for any", as2.Module, program, "p(*", "r(*")
        self.refused("no position matches 'q\\(1,\"ab", as2.Module, program, 'q(1,"ab")', "r(_)")
        self.refused("beliefs of 'p\\(a, _\\)' are given twice", program.decode, {"p(a,_)": {"b": 1}, "p(a, _)": {"c": 1}})
        self.refused("the belief of 'p\\(a,_\\)' in ' b' is given twice", program.decode, {"p(a,_)": {"b": 1, " b": 1}})
        self.refused("'p\\(a, _\\)' is pinned twice", program.decode, program.uniform, pins={"p(a,_)": "b", "p(a, _)": "c"})

    def test_bad_input_is_told_clearly(self):
        error = self.refused("syntax error", as2.compile, text="{ a }.\n:- a, b(.", name="x.lp")
        self.assertEqual((error.file, error.line), ("x.lp", 2))
        error = self.refused("reserved", as2.compile, text="__as2_a.")
        self.refused("the constant `n` is tensor\\(3.5", as2.compile, text="{ a(1..n) }.", n=torch.tensor(3.5))
        self.assertEqual(len(as2.compile(text="{ a(1..n) }.", n=torch.tensor(3)).positions), 3)
        self.refused("'1x' is not the name of a constant", as2.compile, text="{a}.", constants={"1x": 2})
        self.assertTrue(error.message)
        with self.assertRaises((as2.InputError, as2.EnvironmentError)):
            as2.compile("no-such-file.lp")
        self.refused("either files or text", as2.compile)
        self.refused("there is no file 'sodoku.lp' here, and no program of that name ships\nnote: the nearest name is 'sudoku.lp'",
                     as2.compile, "sodoku.lp")
        self.refused("there is no file '0'.*\nnote: what ships stands in ", as2.compile, "0")
        error = self.refused("there is no file '{ colour", as2.Module, COLOURS, "colour(*", "same")
        self.assertRegex(error.remedy, r"as2\.compile\(text=…\)")
        self.assertLess(len(str(error)), 200)
        self.refused("no constant `m`\nnote: its constants are .*n", as2.Module, "addition.lp", "digit(*", "total(_)", m=4)
        self.refused("no constant `box`\nnote: its constants are b", as2.compile, "sudoku.lp", box=2)
        self.refused("together more than 100", as2.compile, "sudoku.lp", grounding_size=100)
        program = as2.compile(text=COLOURS)
        tp = program.soft_tp()
        good = random_beliefs(program, batch=2)
        nan = good.clone()
        nan[1, 2, 0] = float("nan")
        for function in (tp.loss, tp.image, tp.refine, program.decode, program.marginals):
            self.refused(r"\[2, 3\], expected", function, good[..., 0])
            self.refused(r"Long|Int", function, good.long())
            error = self.refused("beliefs of 'colour\\(3,_\\)' in row 1: '1' is nan", function, nan)
            self.assertTrue(error.remedy)
            self.refused("expected a tensor", function, 7)
        self.refused("'meta' have no values", program.decode, good.to("meta"))
        self.refused("is -", program.decode, -good)
        module = as2.Module(program, "colour(*", "same")
        for function in (module, module.log_probability, lambda p: module.log_probability(p, ["same"] * len(p))):
            self.refused("beliefs of 'colour\\(3,_\\)' in row 1: '1' is nan", function, nan)
            self.refused("'1' is inf", function, torch.full((1, 3, 3), float("inf")))
            self.refused("beliefs are Long, expected probabilities", function, good.long())
            self.refused(r"\[2, 3\], expected", function, good[..., 0])
        logits = 5 * good - 1
        for function in (tp.loss, as2.Module(program, "colour(*", "same"), program.decode, program.marginals):
            self.refused("expected a probability, from 0 to 1\nnote: logits become probabilities with .softmax", function, logits)
        for function in (tp.loss, as2.Module(program, "colour(*", "same")):
            self.refused("logits become probabilities", function, good + 4)
        with self.assertWarnsRegex(UserWarning, "normalised \\(logits become probabilities"):
            program.decode(good + 4)
        self.refused("no position 'color\\(1,_\\)'\nnote: the nearest position is 'colour\\(1,_\\)'", program.decode,
                     {"color(1,_)": {"1": 1.0}})
        self.refused("no symbol '9'\nnote: its symbols are 1, 2, 3", program.decode, {"colour(1,_)": {"9": 1.0}})
        self.refused('found 3, expected a dict of symbols\nnote: write {"3": 1}$', program.decode, {"colour(1,_)": 3})
        self.refused('note: write {"1": 0.5, "2": 0.5}$', program.decode, {"colour(1,_)": [0.1, 0.2, 0.7]})
        self.refused('note: write {"true": 0.8}$', as2.compile(text="{ on }.").decode, {"on": 0.8})
        self.refused("all zero", program.decode, {"colour(1,_)": {"1": 0.0}})
        self.refused("no position 'same'\nnote: it is an atom that the program derives", program.decode, {"same": {"true": 1}})
        self.refused("note: the atom says that position 'colour\\(1,_\\)' has the symbol '2'", program.decode, good,
                     pins={"colour(1,2)": True})
        self.refused("no position 'x'\nnote: positions are named like colour\\(1,_\\)$", program.decode, good, pins={"x": 1})
        self.refused("no effect", program.decode, good, method="greedy", models=2)
        self.refused("only with", program.decode, good, evidence=["colour(1,_)"])
        self.refused("no effect with unique", program.decode, good, unique=True, objective_first=True)
        self.refused("no symbol for position", program.verify, {"colour(1,_)": "1"})
        self.refused("no symbol of index", program.verify, torch.tensor([0, 1, 5]))
        self.refused("no atom of the program matches", program.distribution, good, "nothing(_)")
        self.refused("no position matches 'nothing\\(\\*'\nnote: .* positions are named like colour\\(1,_\\)$", as2.Module,
                     program, "nothing(*", "same")
        self.refused("no effect on a compiled program", as2.Module, program, "colour(*", "same", n=3)
        self.refused("zeros in the beliefs of colour\\(1,_\\), colour\\(2,_\\)", program.probability,
                     {"colour(1,_)": {"1": 1.0}, "colour(2,_)": {"1": 1.0}}, "same")
        self.refused("no answer set at all\nnote: these constraints cannot hold together: constraint@1 \\(.*:1:6-11\\), ",
                     as2.compile(text="{a}. :- a. :- not a.").log_probability)
        self.refused("'colour\\(1,_\\)' is not one atom", program.probability, good, "colour(1,_)")
        module = as2.Module(program, "colour(*", "same")
        clash = torch.eye(3)[[0, 0, 1]].expand(2, 3, 3).clone()
        clash[0] = torch.eye(3)[[0, 1, 2]]
        nothing = good.clone()
        nothing[1, 2] = 0
        for function in (module, module.log_probability):
            self.refused("row 1: no answer set agrees with the zeros in the beliefs of colour\\(1,_\\), colour\\(2,_\\)\n"
                         "note: this set is minimal: .*\nnote: decode\\(\\) says", function, clash)
            self.refused("beliefs of 'colour\\(3,_\\)' in row 1: all zero\nnote: give at least one", function, nothing)
            self.assertTrue(bool(function(clash[:1]).isfinite().any()), "zeros that leave an answer set are no fault")
        self.refused("no answer set at all", as2.Module, as2.compile(text="{a}. :- a. :- not a. b :- a."), "a", "b")
        self.refused("hidden by #show", as2.compile(text="{a}. b :- a. #show a/0.").probability, None, "b")
        burglary = as2.compile(text="{burglary}. alarm :- burglary.")
        self.assertAlmostEqual(burglary.probability({"burglary": {"true": 0.2}}, "alarm"), 0.2)
        with self.assertWarnsRegex(UserWarning, "sum to 2; normalised"):
            program.decode({"colour(1,_)": {"1": 1.0, "2": 1.0}})
        with self.assertWarnsRegex(UserWarning, "no answer set"):
            nothing_chosen = as2.compile(text="a. :- a.")
        self.refused("is violated, and nothing is chosen", nothing_chosen.soft_tp)
        self.refused("expected", as2.Module("addition.lp", "digit(*", "total(_)"), torch.rand(4, 3, 10))

    def test_numbers_are_checked_before_they_are_cut(self):
        program = as2.compile(text=COLOURS)
        p = random_beliefs(program, batch=2)
        inf, nan = float("inf"), float("nan")
        for name in ("time_budget", "unique_margin"):
            for value in (inf, nan, -1, "3"):
                self.refused(f"{name} is '?{value}'?, expected", program.decode, p, **{name: value})
        for name, values in (("models", (0, 2.5, "2")), ("threads", (-3, 1.5, 2 ** 32)), ("node_budget", (-1, 0.5)),
                             ("unique_readings", (0, 2 ** 40))):
            for value in values:
                self.refused(f"{name} is '?{value}'?, expected", program.decode, p, **{name: value})
        self.refused("weight of level", as2.compile(text="{a}. :~ a. [1@2]").decode, {}, objective_weights={2: inf})
        for function in (program.log_probability, program.marginals, program.sample, lambda p, **given: program.count(**given)):
            self.refused("time_budget is inf, expected a finite number", function, p, time_budget=inf)
            self.refused("memory_budget is -1, expected at least 0", function, p, memory_budget=-1)
        for name in ("grounding_seconds", "grounding_mib", "grounding_size"):
            for value in (inf, 0, -1, "x"):
                self.refused(f"{name} is '?{value}'?, expected", as2.compile, text="{a}.", **{name: value})
        self.refused("time_limit is nan", program.verify, program.decode(p), time_limit=nan)
        for count in (0, 1.5, 2 ** 31):
            self.refused(f"count is {count}, expected", program.sample, p, count)
        self.refused("seed is -1", program.sample, p, seed=-1)
        self.refused("size is 0.5", program.approximate, p, size=0.5)
        tp = program.soft_tp()
        for steps in (-1, 1.5, 2 ** 32 + 1):
            self.refused(f"steps is {steps}, expected", tp.refine, p, steps)
        with self.assertRaisesRegex(RuntimeError, "steps is 4294967297, expected"):
            torch.ops.as2.soft_tp_refine(p, tp._number, 2 ** 32 + 1)
        self.assertEqual(tp.refine(p, torch.tensor(2)).shape, p.shape)  # whole numbers of any kind

    def test_what_is_of_the_wrong_type_is_told_clearly(self):
        program = as2.compile(text=COLOURS)
        p = random_beliefs(program, batch=2)
        self.refused("pins are a list, expected a dict", program.decode, p, pins=["colour(1,_)"])
        self.refused("given as 7, expected the path", as2.compile, 7)
        self.refused("text is a int", as2.compile, text=5)
        self.refused("constants are a list, expected a dict", as2.compile, "sudoku.lp", constants=["b=2"])
        self.refused("constant `b` is given twice", as2.compile, "sudoku.lp", constants={"b": 2}, b=3)
        self.refused("assume is ", as2.compile, text="{a}.", assume=[3])
        self.refused("inputs is 3, expected a text", as2.Module, program, 3, "same")
        self.refused("output is \\[3\\], expected a text", as2.Module, program, "colour(*", [3])
        self.refused("inputs is empty", as2.Module, program, [], "same")
        self.refused("output is empty", as2.Module, program, "colour(*", [])
        self.assertEqual(program.decode(p, unique=1, models=1).status, program.decode(p, unique=True).status)
        self.refused("about other positions", program.verify, as2.compile(text="{a; b} = 1.").decode({}))
        self.refused("no symbol of index 9", program.assignment, torch.tensor([0, 9, 0]))
        self.refused("made of a tensor", program.assignment, {"colour(1,_)": "1"})
        self.refused("query is 3, expected a text", program.probability, p, 3)
        self.refused("pattern is None", program.distribution, p, None)
        self.refused("belief of 'colour\\(1,_\\)' in '1': found 'x'", program.decode, {"colour(1,_)": {"1": "x"}})
        self.refused("weights are given as 3", as2.load, 3)
        self.refused("pictures are a int", as2.load("digits-best"), 3)
        self.refused(r"pictures are Byte \[1, 28, 28\], expected floating-point numbers \[batch, 1, 28, 28\]",
                     as2.load("digits-best"), torch.zeros(1, 28, 28, dtype=torch.uint8))
        module = as2.Module(program, "colour(*", "same")
        for function in (program.soft_tp().loss, module, program.decode, program.marginals):
            self.refused("sparse tensor, expected a dense one\nnote: .to_dense()", function, p.to_sparse())
        self.refused("the label of row 0 is 1.0, expected a text or an index", module.log_probability, p, [1.0, 2.0])
        with self.assertRaisesRegex(TypeError, "log_probability.*timebudget"):
            program.log_probability(p, timebudget=3)

    def test_no_gringo_is_the_environments_fault(self):
        before = os.environ.get("AS2_GRINGO")
        os.environ["AS2_GRINGO"] = "/no/such/gringo"
        try:
            with self.assertRaises(as2.EnvironmentError):
                as2.compile(text="{a}.")
            as2.compile(SOURCE / "programs" / "sudoku.as2c")  # needs none
        finally:
            os.environ.pop("AS2_GRINGO")
            if before is not None:
                os.environ["AS2_GRINGO"] = before

    @needs_gringo
    def test_too_little_memory_is_an_exception(self):
        script = textwrap.dedent("""
            import resource
            import as2
            as2.compile(text="{a}.")
            with open("/proc/self/statm") as file:
                taken = int(file.read().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (taken + (64 << 20),) * 2)
            try:
                as2.compile(text="{a(1..400000)}.")
            except (MemoryError, as2.EnvironmentError):
                print("refused")
            print(len(as2.compile(text="{a}.").positions))
            """)
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
        self.assertEqual((done.returncode, done.stdout), (0, "refused\n1\n"), done.stderr)

    def test_nothing_prints(self):
        with tempfile.TemporaryFile() as heard:
            saved = [os.dup(1), os.dup(2)]
            sys.stdout.flush()
            sys.stderr.flush()
            os.dup2(heard.fileno(), 1)
            os.dup2(heard.fileno(), 2)
            try:
                with warnings.catch_warnings():  # which Python shows or not, as the user likes
                    warnings.simplefilter("ignore")
                    program = as2.compile(text=COLOURS + ":- a_typo.")
                program.verify(program.decode(random_beliefs(program)))
                program.marginals()
                program.sample({}, 3)
                for method in ("top-k", "sample"):
                    program.approximate({}, "same", method=method)
                module = as2.Module(program, "colour(*", "same")
                p = random_beliefs(program, batch=2).requires_grad_()
                module(p).sum().backward()
                module.log_probability(p, ["same", "not same"])
                program.soft_tp().loss(p).backward()
                model = as2.load("digits-best")
                model(torch.rand(1, len(model.pictured), 28, 28))
                as2.solve(SOURCE / "examples" / "board.png")
                with contextlib.suppress(as2.InputError):
                    as2.compile(text=":- a(.")
            finally:
                for number, old in enumerate(saved, 1):
                    os.dup2(old, number)
                    os.close(old)
            heard.seek(0)
            self.assertEqual(heard.read(), b"")

    def test_a_thousand_rounds_take_no_more_memory(self):
        text = "{ c(I,V) : V=1..3 } = 1 :- I=1..4. :- c(I,V), c(I+1,V). d :- c(1,1)."

        def rounds(count):
            for k in range(count):
                program = as2.compile(SOURCE / "programs" / "sudoku-b2.as2c") if k % 10 else as2.compile(text=text)
                program.decode(program.uniform)
                if k % 10 == 0:
                    program.probability(None, "d")
                    program.soft_tp().loss(program.uniform.unsqueeze(0))
            gc.collect()
            with open("/proc/self/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * resource.getpagesize()

        before = rounds(200)
        after = rounds(1000)
        self.assertLess(after - before, 8 << 20, f"{(after - before) / 1e6:.1f} MB more after 1,000 rounds")
