"""What the calls answer, how it prints, and which options and beliefs are refused."""
import pathlib
import tempfile
import types
import unittest
from collections import UserList

import as2
import torch
from support import SOURCE, command_line, random_beliefs
from test_examples import png_pixels

COLOURS = """
{ colour(N,C) : C=1..3 } = 1 :- N=1..3.
:- colour(1,C), colour(2,C).  % neighbours
same :- colour(2,C), colour(3,C).
"""
COSTLY = "{ a(V) : V=1..3 } = 1. :~ a(V). [V@2]"


def given(**beliefs):
    """Beliefs about colours 1 and 2, which clash."""
    return {"colour(1,_)": {"1": 0.9, "2": 0.1}, "colour(2,_)": {"1": 0.8, "3": 0.2}, **beliefs}


def small_board(puzzle, side=4):
    """A board with some of four digits, of 28 × 28 pixels each, cut from the one that ships."""
    gray, board = png_pixels(SOURCE / "examples" / "board.png"), torch.zeros(28 * side, 28 * side, dtype=torch.uint8)
    places = {"1": (4, 3), "2": (0, 5), "3": (0, 6), "4": (4, 4)}
    for k, symbol in enumerate(puzzle):
        if symbol != ".":
            top, left = (50 * at + 25 for at in places[symbol])
            board[k // side * 28:k // side * 28 + 28, k % side * 28:k % side * 28 + 28] = 240 - gray[top:top + 28, left:left + 28].clamp(max=240)
    return board


class Results(unittest.TestCase):
    def setUp(self):
        self.program = as2.compile(text=COLOURS, name="colours.lp")

    def refused(self, expected, function, *arguments, **keywords):
        with self.assertRaisesRegex(as2.InputError, expected):
            function(*arguments, **keywords)

    def test_one_answer_prints_short_long_and_in_notebooks(self):
        one = self.program.decode(given())
        self.assertRegex(repr(one), r"^<as2.Decoded optimal, log p = [-\d.]+: 3 positions, 1 models, 1 changed>$")
        self.assertRegex(one._repr_html_(), r"<b>optimal, log p = [-\d.]+</b>.*<div>changed: colour\(2,_\) read 1")
        costly = as2.compile(text=COSTLY).decode({}, objective_first=True)
        self.assertRegex(str(costly.models[0]), r"^log p = [-\d.]+, cost \[1\]: a\(_\) = 1$")
        stuck = self.program.decode({}, pins={"colour(1,_)": 1, "colour(2,_)": 1})
        self.assertEqual(repr(stuck), "<as2.Decoded unsatisfiable: 3 positions, 0 models, 0 changed>")
        odd = as2.Decoded(status="<&>", models=[], symbols=one.symbols, atoms=None, changed=[], conflicts=[], conflicting_pins={},
                          nodes=0, gap=0, dead_end_position=None, unique=None)
        self.assertIn("&lt;&amp;&gt;", odd._repr_html_())

    def test_a_batch_lists_what_each_answer_says(self):
        batch = self.program.decode([given(), {}, given()], unique=False)
        for name in ("assignment", "atoms", "changed", "conflicts", "unique", "status"):
            self.assertEqual(getattr(batch, name), [getattr(one, name) for one in batch], name)
        self.assertEqual([len(changed) for changed in batch.changed], [1, 0, 1])
        self.assertEqual(batch.log_probability[0, 0], batch[0].log_probability)
        self.assertEqual(self.program.atoms_of(batch.symbols[:, 0]), batch.atoms)
        self.assertEqual(self.program.atoms_of([one.assignment for one in batch]), batch.atoms)
        self.assertEqual(self.program.atoms_of(batch[0].assignment), batch[0].atoms)
        stuck = as2.compile(text="{ a }. b :- a. :- a. :- not a, not c. { c }. :- c.").decode([{}, {}])
        self.refused("to verify in row 0: the answer is 'unsatisfiable'", self.program.verify, stuck)

    def test_a_unique_reading_is_true_where_it_was_found(self):
        program = as2.compile("sudoku.lp", b=2)
        clues = {f"cell({r},{c},_)": {str(d): 1.0} for r, c, d in ((1, 1, 1), (2, 3, 1), (3, 2, 4), (4, 4, 2))}
        for seen in (clues, {"cell(1,1,_)": {"1": 1.0}}):
            unique = program.decode(seen, unique=True, unique_readings=50).unique
            self.assertIs(bool(unique), unique.found)
            self.assertEqual(unique.rank is None, not unique.found)
        self.assertIsNone(unique.rank)
        self.assertFalse(unique)
        self.assertIsNone(program.decode(clues).unique)

    def test_options_without_effect_are_refused(self):
        program, p = self.program, given()
        for keywords, said in (({"unique_margin": 2}, "unique_margin has no effect without unique=True"),
                               ({"unique_readings": 3}, "unique_readings has no effect without unique=True"),
                               ({"unique_readings": 3, "method": "greedy"}, "unique_readings has no effect with method='greedy'"),
                               ({"objective_first": True}, "objective_first has no effect: the program has no objective"),
                               ({"objective_weights": {1: 2.0}}, "no objective of level 1\nnote: its levels are none"),
                               ({"unique": True, "objective_first": True}, "objective_first has no effect with unique=True")):
            self.refused(said, program.decode, p, **keywords)
        program.decode(p, unique=True, unique_margin=2, unique_readings=3)
        costly = as2.compile(text=COSTLY)
        self.refused("objective_weights has no effect with objective_first", costly.decode, {}, objective_first=True,
                     objective_weights={2: 0.5})
        self.refused("its levels are 2$", costly.decode, {}, objective_weights={1: 0.5})
        self.refused("time_budget has no effect with method='sample'", program.approximate, p, method="sample", time_budget=5)

    def test_evidence_of_another_shape_is_refused(self):
        p = random_beliefs(self.program, batch=2)
        for wrong, said in ((torch.ones(3, 3), "float32 \\[3, 3\\]"), (torch.ones(3, 3) > 0, "bool \\[3, 3\\]"),
                            (torch.tensor(True), "bool \\[\\]"), (torch.ones(1, 2, 3) > 0, "bool \\[1, 2, 3\\]")):
            self.refused(f"evidence is {said}, expected bool \\[3\\] or \\[2, 3\\]", self.program.decode, p, unique=True, evidence=wrong)
        for right in (torch.ones(3) > 0, torch.ones(2, 3) > 0):
            self.program.decode(p, unique=True, evidence=right)

    def test_a_dict_loses_no_gradient_in_silence(self):
        p = torch.tensor([0.9, 0.1], requires_grad=True)
        self.refused("belief of 'colour\\(1,_\\)' in '1' requires a gradient, which a dict would lose\nnote: give the beliefs as a tensor",
                     self.program.log_probability, {"colour(1,_)": {"1": p[0], "2": p[1]}})
        q = p.detach()
        self.assertEqual(self.program.decode({"colour(1,_)": {"1": q[0], "2": q[1]}}).status, "optimal")

    def test_anything_like_a_dict_or_a_list_will_do(self):
        rows = types.MappingProxyType({name: types.MappingProxyType(row) for name, row in given().items()})
        expected = self.program.decode(given())
        self.assertEqual(self.program.decode(rows).assignment, expected.assignment)
        several = self.program.decode(UserList([rows, {}]))
        self.assertEqual(several.assignment[0], expected.assignment)
        self.assertEqual(self.program.probability(rows, UserList(["same", "not same"])).shape, (2,))
        self.assertEqual(self.program.atoms_of(types.MappingProxyType(expected.assignment)), expected.atoms)
        self.assertTrue(self.program.verify(UserList([expected])).valid in (True, None))
        self.refused("a bytes", self.program.decode, b"xy")

    def test_approximations_are_about_known_atoms(self):
        hiding = as2.compile(text="{a}. b :- a. #show a/0.")
        for method in ("top-k", "sample"):
            self.refused("'b' is hidden by #show", hiding.approximate, {}, "b", method=method)
            with self.assertWarnsRegex(UserWarning, "'sane' can never hold: the program has no such atom") as heard:
                found = self.program.approximate(given(), ["same", "not sane"], method=method)
            self.assertEqual(heard.filename, __file__)
            self.assertEqual(found.queries["not sane"], 1)

    def test_approximations_say_why_there_are_none(self):
        clash = {"colour(1,_)": {"1": 1.0}, "colour(2,_)": {"1": 1.0}}
        self.refused("P\\(program\\) = 0 in row 1: no answer set agrees", self.program.approximate, [{}, clash], "same")
        large = as2.compile(SOURCE / "programs" / "sudoku-b4.as2c")
        self.refused("no answer set was found for row 0 within the 1e-09 s of time_budget\nnote: time_budget= allows more",
                     large.approximate, {}, time_budget=1e-9)

    def test_modules_take_constants_by_name_and_rows_of_any_sum(self):
        one = as2.Module("addition.lp", "digit(*", "total(_)", constants={"n": 3}, time_budget=30)
        self.assertEqual(len(one.input_names), 3)
        with self.assertRaises(TypeError):
            as2.Module("addition.lp", "digit(*", "total(_)", 30)
        self.refused("no effect on a compiled program: n", as2.Module, self.program, "colour(*", "same", constants={"n": 3})
        self.refused("`n` is given twice", as2.Module, "addition.lp", "digit(*", "total(_)", constants={"n": 3}, n=3)
        p = torch.rand(2, 3, 10).softmax(-1)
        scaled = p * torch.tensor([0.5, 0.9, 0.1]).view(3, 1)
        self.assertTrue(torch.allclose(one(p), one(scaled), atol=1e-6))

    def test_networks_keep_their_own_tensors(self):
        model = as2.load("digits-best")
        self.refused("assign=True would put tensors in place of the network's own", model.load_state_dict, model.state_dict(), assign=True)
        changed = {name: 0.5 * tensor for name, tensor in model.state_dict().items()}
        model.load_state_dict(changed)
        name, parameter = next(iter(model.named_parameters()))
        self.assertTrue(torch.equal(parameter, changed[name]))

    def test_what_has_ink_is_seen(self):
        model = as2.load("digits-best")
        pictures = torch.zeros(1, len(model.pictured), 28, 28)
        for ink, seen in ((31 / 255, False), (32 / 255, True)):  # infer::has_ink, of the bytes
            pictures[0, 0, 3, 4] = ink
            evidence, _ = model.see(pictures)
            at = model.program.index[model.pictured[0]]
            self.assertEqual(bool((evidence[0, at] - model.program.uniform[at]).abs().max() > 1e-6), seen)
        with self.assertRaisesRegex(as2.InputError, "`given` must be bool"):
            model(pictures, torch.ones(1, 1))

    def test_a_solution_says_all_that_the_command_line_says(self):
        self.compare(as2.solve(SOURCE / "examples" / "board.png"), command_line("solve", SOURCE / "examples" / "board.png", "--explain"))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "board.pgm"
            for puzzle, unique in (("12...4.......3..", False), ("1....3..4......2", True)):
                picture = small_board(puzzle)
                path.write_bytes(b"P5 112 112 255\n" + bytes(picture.flatten().tolist()))
                ours, theirs = as2.solve(path, box=2), command_line("solve", path, "--explain", "--box", 2)
                self.compare(ours, theirs)
                self.assertEqual((ours.unique, ours.reread is None), (unique, unique))
            broken = as2.solve(small_board("11..........4..2"), box=2)
        self.assertEqual((broken.status, broken.assignment, broken.unique, broken.margin, broken.reread),
                         ("unsatisfiable", None, None, None, None))
        self.assertGreater(len(broken.conflicts), 0)

    def compare(self, ours, theirs):
        for name in ("status", "assignment", "read", "unique"):
            self.assertEqual(getattr(ours, name), theirs[name], name)
        self.assertEqual(ours.confidence.keys(), theirs["confidence"].keys())
        for position, p in theirs["confidence"].items():
            self.assertAlmostEqual(ours.confidence[position], p, 6)
        self.assertEqual([vars(change) for change in ours.changed], theirs["changed"])
        self.assertEqual([(c.family, c.line, list(c.positions)) for c in ours.conflicts],
                         [(c["family"], c["line"], c["positions"]) for c in theirs["conflicts"]])
        self.assertEqual(None if ours.margin is None else round(ours.margin, 6), theirs["margin"] and round(theirs["margin"], 6))
        self.assertEqual(None if ours.reread is None else vars(ours.reread), theirs["reread"])
        self.assertEqual(ours.timed_out, theirs["timed_out"])

    def test_a_board_is_of_the_model_or_of_its_box(self):
        path = str(SOURCE / "examples" / "board.png")
        model = str(SOURCE / "models" / "sudoku-best.safetensors")
        expected = as2.solve(path).assignment
        self.assertEqual(as2.solve(path, model, box=3, passes=2).assignment, expected)
        self.assertEqual(as2.solve(path, "sudoku-hard", passes=2, restarts=2).assignment, expected)
        self.refused("restarts have no effect on this model", as2.solve, path, model, restarts=2)
        self.refused("passes is -1", as2.solve, path, passes=-1)
        self.refused("restarts is 0, expected at least 1", as2.solve, path, restarts=0)
        self.refused("box is 5, expected at most 4", as2.solve, path, box=5)
        futoshiki = as2.Solution("a.png", "optimal", {str(k): "1" for k in range(25)}, {}, {}, [], [], True, None, None)
        self.assertEqual(str(futoshiki).split("\n"), ["1 1 1 1 1"] * 5)  # a board without boxes
        self.assertEqual(futoshiki._repr_html_().count("border-left:2px"), 5)

    def test_boxes_need_not_be_square(self):
        solved = as2.solve(small_board(".1.2..4....3", 6), box="2x3")
        self.assertEqual((solved.box, len(solved.rows())), ((2, 3), 6))
        lines = str(solved).split("\n")
        self.assertEqual([k for k, line in enumerate(lines) if line.startswith("-")], [2, 5])
        self.assertEqual({line.index("|") for line in lines if "|" in line}, {6})
        self.assertEqual(solved._repr_html_().count("border-left:2px"), 2 * 6)
        self.assertEqual(solved._repr_html_().count("border-top:2px"), 3 * 6)
        self.refused("box is 3x2, expected one of 2, 3, 4, 2x3", as2.solve, small_board("1"), box="3x2")
