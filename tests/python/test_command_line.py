"""Python gives what the command line gives, on every program that ships and on random ones."""
import json
import os
import subprocess
import unittest
import warnings

import as2
import torch
from support import PROGRAMS, as_dict, as_tensor, command_line, misread_beliefs, needs_gringo

# What no circuit of a test's size can hold.
TOO_LARGE = {"sudoku", "sudoku_pairwise"}


class CommandLine(unittest.TestCase):
    def near(self, ours, theirs, what):
        self.assertLess(float((torch.as_tensor(ours) - torch.as_tensor(theirs)).abs().max()), 1e-6, what)

    def test_every_shipped_program(self):
        self.assertGreater(len(PROGRAMS), 15)
        for path in PROGRAMS:
            with self.subTest(path.stem):
                program = as2.compile(path)
                p = misread_beliefs(program)
                named = as_dict(program, p)
                checked = command_line("check", path)
                self.assertEqual([(f.name, f.kind, f.groups, f.terms) for f in program.families],
                                 [(f["name"], f["kind"], f["groups"], f["terms"]) for f in checked["families"]])
                self.assertEqual(program.residual_terms, checked["residual_terms"])
                self.soft_tp(program, path, p, named)
                self.decoded(program, path, p, named)
                self.probabilities(program, path, p, named)

    def soft_tp(self, program, path, p, named):
        theirs = command_line("tp", path, "--refine", 2, beliefs=named)
        tp = program.soft_tp()
        belief = p.unsqueeze(0).requires_grad_()
        loss = tp.loss(belief)
        gradient = torch.zeros_like(belief)
        if loss.requires_grad:
            gradient, = torch.autograd.grad(loss, belief)
        self.near(loss, theirs["loss"], "loss")
        self.near(tp.max_residual(belief)[0], theirs["max_residual"], "largest residual")
        self.near(gradient[0], as_tensor(program, theirs["gradient"]), "gradient")
        self.near(tp.refine(belief, 2)[0], as_tensor(program, theirs["refined"]), "refined")
        for k, family in enumerate(program.families):
            self.near(tp.image(belief)[0, k], as_tensor(program, theirs["image"][family.name]), "image")
            self.near(tp.residual(belief)[0, k], as_tensor(program, theirs["residual"][family.name]), "residual")
        if program.objectives:
            self.near(tp.expected_cost(belief)[0], theirs["expected_cost"], "expected cost")

    def decoded(self, program, path, p, named):
        named = {p.name: named[p.name] for p in program.positions if not p.guess}  # a tensor says nothing of a guess
        theirs = command_line("decode", path, "--models", 2, "--explain", beliefs=named)
        for given in (p, named):
            ours = program.decode(given, models=2)
            self.assertEqual(ours.status, theirs["status"])
            self.assertEqual(ours.assignment, theirs["assignment"])
            self.assertEqual(ours.atoms, theirs["atoms"])
            self.assertEqual([m.assignment for m in ours.models], [m["assignment"] for m in theirs["models"]])
            self.near(ours.log_probability, theirs["log_probability"], "log p")
            self.assertEqual(list(ours.cost), theirs.get("cost", []))
            self.assertEqual([(c.position, c.read, c.decoded) for c in ours.changed],
                             [(c["position"], c["read"], c["decoded"]) for c in theirs["changed"]])
            self.assertEqual([(c.family, c.line, list(c.positions)) for c in ours.conflicts],
                             [(c["family"], c["line"], c["positions"]) for c in theirs["conflicts"]])

    def probabilities(self, program, path, p, named):
        if path.stem in TOO_LARGE:
            with self.assertRaisesRegex(as2.CircuitTooLarge, r"nodes(.|\n)*approximate\(\) in Python"):
                program.log_probability(p, memory_budget=0.5)
            return
        atom = program.decode(p).atoms[0]
        theirs = command_line("prob", path, "--query", atom, "--marginals", "--count", beliefs=named)
        self.near(program.log_probability(named), theirs["log_p_program"], "log P(program)")
        self.near(program.probability(named, atom), theirs["queries"][0]["p"], atom)
        self.near(program.marginals(named), as_tensor(program, theirs["marginals"]), "marginals")
        self.assertEqual(program.count(), int(theirs["count"]))
        # Apart from the query: a circuit that observes its atoms draws other answers from the same distribution.
        self.assertEqual(program.sample(named, 3, seed=1), command_line("prob", path, "--sample", 3, beliefs=named)["samples"])

    @needs_gringo
    def test_two_hundred_random_programs(self):
        if "AS2_EXPECTED" not in os.environ:
            self.skipTest("what C++ expects is not built")
        printed = subprocess.run([os.environ["AS2_EXPECTED"], "200"], capture_output=True, text=True, check=True).stdout
        lines = printed.splitlines()
        self.assertEqual(len(lines), 200)
        found = {"positions": 0, "answers": 0, "guesses": 0}
        for line in lines:
            theirs = json.loads(line)
            with self.subTest(theirs["text"]):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # random programs have much to warn of
                    program = as2.compile(text=theirs["text"])
                shape = (1, len(program.positions), program.symbols)
                p = torch.tensor(theirs["beliefs"], dtype=torch.float64).view(shape).requires_grad_()
                found["positions"] += len(program.positions)
                found["guesses"] += program.has_guesses
                if p.numel():
                    tp = program.soft_tp()
                    loss = tp.loss(p)
                    gradient = torch.zeros_like(p)
                    if loss.requires_grad:
                        gradient, = torch.autograd.grad(loss, p)
                    self.near(loss, theirs["loss"], "loss")
                    self.near(gradient.flatten(), theirs["gradient"], "gradient")
                    self.near(tp.refine(p, 3).flatten(), theirs["refined"], "refined")
                decoded = program.decode(p)[0]
                self.assertEqual(decoded.status, theirs["status"])
                self.assertEqual(decoded.symbols[0].tolist() if decoded.models else None, theirs["assignment"])
                self.assertEqual(str(program.count()), theirs["count"])
                if theirs["log_p_program"] is None:
                    with self.assertRaisesRegex(as2.InputError, r"P\(program\) = 0"):
                        program.log_probability(p)
                    continue
                found["answers"] += 1
                self.near(program.log_probability(p)[0], theirs["log_p_program"], "log P(program)")
                if p.numel():
                    self.near(program.marginals(p).flatten(), theirs["marginals"], "marginals")
        self.assertGreater(found["positions"], 400)
        self.assertGreater(found["answers"], 50)
        self.assertGreater(found["guesses"], 10)
