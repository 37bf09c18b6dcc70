"""The operators as PyTorch's: gradients, shapes without values, precision, copies, threads."""
import contextlib
import copy
import io
import math
import os
import pathlib
import pickle
import random
import shutil
import tempfile
import threading
import time
import unittest
import warnings
from unittest import mock

import as2
import torch
from as2 import _library
from as2._library import call
from support import SOURCE, needs_gringo, random_beliefs

ADDITION = SOURCE / "programs" / "addition.lp"


class Noting:
    """A hook that can be pickled."""

    def __init__(self, called):
        self.called = called

    def __call__(self, *_):
        self.called.append(1)


def convolved(p):
    """The distribution of the sum of two digits, by hand: [batch, 2, 10] → [batch, 19]."""
    outer = p[:, 0, :, None] * p[:, 1, None, :]
    totals = torch.arange(10)[:, None] + torch.arange(10)
    return torch.zeros(len(p), 19, dtype=p.dtype).index_add(1, totals.flatten(), outer.flatten(1))


class Tensors(unittest.TestCase):
    def test_gradients_are_those_of_finite_differences(self):
        program = as2.compile(text="{ c(I,V) : V=1..3 } = 1 :- I=1..3. { b }. d(I) :- c(I,1), not b.\n"
                                   ":- c(1,V), c(2,V). :- d(2), c(3,2). :- #sum{V,I : c(I,V)} > 7. :~ c(I,V). [V@1,I]")
        tp = program.soft_tp()
        p = random_beliefs(program, 3, batch=2).requires_grad_()
        for function in (tp.loss, lambda x: tp.loss(x, "sum"), tp.image, tp.residual, tp.leave_one_out,
                         lambda x: tp.refine(x, 2), tp.expected_cost,
                         lambda x: as2.Module(program, "c(*", "d(_)")(x[:, 1:]), program.log_probability,
                         lambda x: as2.Module(program, "c(*", "c(2,_)")(x[:, 1:]),
                         lambda x: as2.Module(program, "c(*", "d(_)").log_probability(x[:, 1:]),
                         lambda x: as2.Module(program, ["c(1*", "c(3*"], ["c(2,3)", "c(2,1)"])(x[:, 1::2]),
                         lambda x: as2.Module(program, "c(*", "d(_)").log_probability(x[:, 1:], ["d(1), not d(3)", "c(2,_)=3"]),
                         program.marginals, lambda x: program.probability(x, ["d(1), not b", "c(2,3)"])):
            with self.subTest(function):
                self.assertTrue(torch.autograd.gradcheck(function, (p,), nondet_tol=1e-12))
                try:
                    self.assertTrue(torch.autograd.gradgradcheck(function, (p,), nondet_tol=1e-12))
                except RuntimeError as error:  # PyTorch's word for it; never a wrong value
                    self.assertIn("trying to differentiate twice", str(error))

    def test_gradients_at_zero_are_those_of_the_sum_over_all_answers(self):
        program = as2.compile(text="{ c(I,V) : V=1..3 } = 1 :- I=1..3. { b }. d(I) :- c(I,1), not b. :- c(1,V), c(2,V).\n"
                                   ":- d(2), c(3,2).")
        every = torch.cartesian_prod(*[torch.arange(int(size)) for size in program.domains])
        answers = every[[not groups for groups in program.violated(every)]]
        derived = torch.tensor(["d(1)" in program.atoms_of(answer) for answer in answers])
        at = torch.arange(len(program.positions))

        def by_hand(p):
            weights = p[:, at, answers].prod(-1)
            total = weights.sum(-1)
            symbols = torch.nn.functional.one_hot(answers, program.symbols).to(p)
            return total.log(), weights[:, derived].sum(-1) / total, torch.einsum("bk,kis->bis", weights, symbols) / total[:, None, None]

        for zeros in ([], [(1, 0)], [(1, 0), (2, 1), (3, 2)], [(1, 1), (1, 2)], [(0, 1), (1, 0), (1, 1), (2, 0)]):
            p = random_beliefs(program, 5, batch=1)
            for i, s in zeros:
                p[0, i, s] = 0
            p = (p / p.sum(-1, keepdim=True)).requires_grad_()
            ours = program.log_probability(p), program.probability(p, "d(1)"), program.marginals(p)
            for name, found, expected in zip(("log P(program)", "P(d(1))", "marginals"), ours, by_hand(p)):
                with self.subTest(name, zeros=zeros):
                    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12)
                    mix = torch.linspace(1, 2, expected.numel(), dtype=p.dtype).view_as(expected)
                    gradients = [torch.autograd.grad((value * mix).sum(), p, retain_graph=True)[0] for value in (found, expected)]
                    torch.testing.assert_close(*gradients, rtol=1e-6, atol=1e-9)

    def test_a_gradient_beside_a_certain_belief_is_right_where_all_answers_are_improbable(self):
        n = 15  # pictures of one object: 14 read as 1, and one that is known to be 0
        program = as2.compile(text=f"{{ c(I,0..1) }} = 1 :- I=1..{n}. :- c(I,X), c({n},Y), X != Y.")
        logits = torch.logit(torch.full((n - 1,), 0.999, dtype=torch.float64)).requires_grad_()
        q = logits.sigmoid()
        p = torch.cat([torch.stack([1 - q, q], -1), torch.tensor([[1.0, 0.0]], dtype=torch.float64)])
        torch.testing.assert_close(program.log_probability(p), (1 - q).log().sum())
        gradient, = torch.autograd.grad(program.log_probability(p), logits)
        torch.testing.assert_close(gradient, -q.detach())

    def test_numbers_too_small_for_all_their_bits_are_no_zeros(self):
        program = as2.compile(text="{ d(I,0..1) } = 1 :- I=1..2. :- d(1,0), d(2,0).")
        module = as2.Module(program, "d(*", "d(1,_)")
        for dtype, small in ((torch.float32, 8.2e-40), (torch.float64, 1e-310)):
            p = torch.tensor([[[1.0, small]] * 2], dtype=dtype).requires_grad_()
            self.assertGreater(float(p.detach().min()), 0)
            for function in (program.log_probability, program.marginals, module, module.log_probability):
                value = function(p)
                self.assertTrue(bool(value.isfinite().all()), function)
                self.assertTrue(bool(torch.autograd.grad(value.sum(), p)[0].isfinite().all()), function)
            least = torch.finfo(dtype).tiny
            self.assertAlmostEqual(float(program.log_probability(p)), float(torch.tensor(2 * least, dtype=dtype).log()), 3)

    def test_what_is_normalised_has_the_gradient_of_that(self):
        program = as2.compile(text="{ d(0..2) } = 1. :- d(2).")
        p = torch.tensor([[[0.1, 0.15, 0.25]]], dtype=torch.float64, requires_grad=True)
        with self.assertWarnsRegex(UserWarning, "sum to 0.5; normalised"):
            self.assertTrue(torch.autograd.gradcheck(program.log_probability, (p,)))
        low = torch.tensor([[[0.3398, 0.3301, 0.3320]]]).bfloat16()
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a softmax in bfloat16 sums to 1 no better than this
            program.log_probability(low)

    def test_what_stands_in_the_padding_is_in_nobodys_gradient(self):
        program = as2.compile(text="{ c(1,1..2) } = 1. { c(2,1..3) } = 1. d :- c(1,1), c(2,1). :- c(1,2), c(2,3).")
        module = as2.Module(program, "c(*", "d")
        for filling in (math.nan, math.inf, 7.0):
            p = random_beliefs(program, 1, batch=2)
            plain = p.clone().requires_grad_()
            p[~program.mask.expand_as(p)] = filling
            p.requires_grad_()
            for function in (program.log_probability, lambda x: program.probability(x, "d"), program.marginals, module,
                             module.log_probability):
                value, expected = function(p), function(plain)
                torch.testing.assert_close(value, expected)
                found, = torch.autograd.grad(value.sum(), p)
                torch.testing.assert_close(found, torch.autograd.grad(expected.sum(), plain)[0])

    def test_a_belief_of_zero_has_a_gradient(self):
        program = as2.compile(text="{ a(1..3) } = 1. { b(1..3) } = 1. s(X+Y) :- a(X), b(Y).")
        given = torch.tensor([[0, 0.5, 0.5], [0.2, 0.3, 0.5]]), torch.tensor([[0.0, 1, 0], [1, 0, 0]])
        for dtype in (torch.float64, torch.float32, torch.float16):
            u = torch.stack(given).to(dtype).requires_grad_()
            plain = u.detach()
            module = as2.Module(program, ["a(*", "b(*"], "s(_)")
            for name, function in (("probability", lambda x: program.probability(x, list(module.atoms))),
                                   ("distribution", lambda x: torch.stack(list(program.distribution(x, "s(_)").values()), 1)),
                                   ("marginals", program.marginals), ("log_probability", program.log_probability)):
                with self.subTest(name, dtype=dtype):
                    # What the zeros forbid stays forbidden: P is what it is without a gradient, to the last bit.
                    self.assertTrue(torch.equal(function(u).detach(), function(plain)))
            for k, atom in enumerate(module.atoms):
                expected, = torch.autograd.grad(module.log_probability(u)[:, k].exp().sum(), u)
                found, = torch.autograd.grad(program.probability(u, atom).sum(), u)
                torch.testing.assert_close(found, expected)
            found, = torch.autograd.grad(program.probability(u, "s(3)").sum(), u)
            torch.testing.assert_close(found[0], torch.tensor([[0.2, 0.1, -0.1], [0.4, -0.1, -0.1]], dtype=dtype),
                                       atol=1e-3 if dtype == torch.float16 else 1e-5, rtol=0)
            found, = torch.autograd.grad(program.marginals(u)[0, 0, 0], u)
            torch.testing.assert_close(found[0], torch.tensor([[1, 0, 0], [0, 0, 0]], dtype=dtype), atol=1e-5, rtol=0)
            found, = torch.autograd.grad(program.log_probability(u).sum(), u)
            torch.testing.assert_close(found, torch.ones_like(u), atol=1e-5, rtol=0)
        # Where answer sets are forbidden, too, the gradient is that of the quotient of both sums.
        program = as2.compile(text="{ c(I,V) : V=1..3 } = 1 :- I=1..2. :- c(1,V), c(2,V).")
        p = torch.tensor([[0, 0.5, 0.5], [0.2, 0.3, 0.5]], dtype=torch.float64, requires_grad=True)
        found, = torch.autograd.grad(program.probability(p, "c(2,1)"), p)

        def quotient(x):
            a, b = x
            return (a[1] + a[2]) * b[0] / (a.sum() * b.sum() - a @ b)

        expected, = torch.autograd.grad(quotient(p), p)
        torch.testing.assert_close(found, expected)

    def test_a_second_derivative_is_refused_where_the_gradient_is_by_hand(self):
        program = as2.compile("sudoku.lp", b=2)
        tp, add = program.soft_tp(), as2.Module(ADDITION, "digit(*", "total(_)")
        p = random_beliefs(program, 4, batch=2).requires_grad_()
        digits = torch.rand(2, 2, 10, dtype=torch.float64).softmax(-1).requires_grad_()
        for function, given in ((tp.loss, p), (tp.image, p), (tp.residual, p), (tp.leave_one_out, p),
                                (lambda x: tp.refine(x, 2), p), (add, digits), (add.log_probability, digits),
                                (program.log_probability, p), (program.marginals, p),
                                (tp.image, torch.empty_like(p, device="meta").requires_grad_())):
            with self.subTest(function):
                plain, = torch.autograd.grad(function(given).sum(), given)
                self.assertFalse(plain.requires_grad)
                first, = torch.autograd.grad(function(given).sum(), given, create_graph=True)
                if first.device.type != "meta":
                    self.assertTrue(torch.equal(first, plain))
                with self.assertRaisesRegex(RuntimeError, "trying to differentiate twice"):
                    torch.autograd.grad((first.pow(2).sum() + given.pow(3).sum()), given)
                # By what came from above, too.
                v = torch.ones((), dtype=torch.float64, device=given.device, requires_grad=True)
                first, = torch.autograd.grad(function(given).sum() * v, given, create_graph=True)
                with self.assertRaisesRegex(RuntimeError, "trying to differentiate twice"):
                    torch.autograd.grad(first.sum() + v, v)

    def test_the_operators_own_gradient_is_the_graphs(self):
        program = as2.compile("sudoku.lp", b=2)
        p = random_beliefs(program, 4, batch=3).requires_grad_()
        for name, argument in (("loss", 0), ("loss", 1), ("image", 0), ("residual", 0), ("leave_one_out", 0),
                               ("refine", 2)):
            forward = getattr(torch.ops.as2, "soft_tp_" + name)
            result = forward(p, program._native.number(), argument)
            upstream = torch.rand(result.shape, dtype=torch.float64)
            expected, = torch.autograd.grad(result, p, upstream)
            backward = getattr(torch.ops.as2, f"soft_tp_{name}_backward")
            with torch.no_grad():
                found = backward(upstream, p, program._native.number(), argument)
            self.assertTrue(torch.allclose(found, expected, atol=1e-12), name)

    def test_shapes_are_known_without_values(self):
        program = as2.compile(text="{ c(I,V) : V=1..3 } = 1 :- I=1..4. :- c(1,V), c(2,V). :~ c(I,V). [V@2,I]")
        tp, add = program.soft_tp(), as2.Module(ADDITION, "digit(*", "total(_)")
        real = random_beliefs(program, batch=5).float()
        digits = torch.rand(5, 2, 10).softmax(-1)
        for function, given in ((tp.loss, real), (tp.image, real), (tp.residual, real), (tp.leave_one_out, real),
                                (tp.max_residual, real), (tp.refine, real), (tp.expected_cost, real), (add, digits)):
            for dtype in (torch.float32, torch.float64, torch.bfloat16):
                values = given.to(dtype).requires_grad_()
                shape = torch.empty_like(values, device="meta").requires_grad_()
                with_values, without = function(values), function(shape)
                self.assertEqual((with_values.shape, with_values.dtype), (without.shape, without.dtype), function)
                self.assertEqual(without.device.type, "meta")
                self.assertEqual(with_values.requires_grad, without.requires_grad)
                if function == tp.max_residual:
                    self.assertFalse(without.requires_grad)
                else:
                    without.sum().backward()
                    self.assertEqual(shape.grad.shape, shape.shape)
        with self.assertRaisesRegex(as2.InputError, "expected"):
            tp.loss(torch.empty(2, 3, device="meta"))

    def test_inference_mode_changes_nothing(self):
        program = as2.compile("sudoku.lp", b=2)
        tp, add = program.soft_tp(), as2.Module(ADDITION, "digit(*", "total(_)")
        carries = as2.Module(as2.compile("multi_digit_addition.lp"), "digit(*", "carry(1,_)")
        generator = torch.Generator().manual_seed(5)
        p, digits, more = (torch.rand(shape, dtype=torch.float64, generator=generator).softmax(-1)
                           for shape in ((2, 16, 4), (3, 2, 10), (3, 6, 10)))
        functions = ((tp.loss, p), (tp.refine, p), (tp.max_residual, p), (program.log_probability, p), (program.marginals, p),
                     (add, digits), (add.log_probability, digits), (carries, more),
                     (lambda x: add.log_probability(x, ["total(7)"] * 3), digits))
        expected = [function(given) for function, given in functions]
        model = as2.load("digits-best")
        pictures = torch.rand(2, len(model.pictured), 28, 28, generator=generator)
        seen = model(pictures)
        with torch.inference_mode():
            made = [given.clone() for _, given in functions]
            for (function, given), inside, value in zip(functions, made, expected):
                self.assertTrue(torch.equal(function(given), value))
                self.assertTrue(torch.equal(function(inside), value))
            self.assertTrue(torch.equal(model(pictures), seen))
            self.assertEqual(program.decode(made[0]).status, ["optimal"] * 2)
        for (function, _), inside, value in zip(functions, made, expected):
            self.assertTrue(torch.equal(function(inside), value))

    def test_what_was_first_used_in_inference_mode_can_be_trained(self):
        text = "{ c(I,V) : V=1..4 } = 1 :- I=1..3. { b }. d(I) :- c(I,1), not b. :- d(1), c(2,V), c(3,V). :~ c(I,V). [V,I]"
        p = torch.rand(2, 4, 4).softmax(-1)
        p[:, 0, 2:] = 0  # b
        p = p / p.sum(-1, keepdim=True)
        with torch.inference_mode():
            program = as2.compile(text=text)
            tp, module = program.soft_tp(), as2.Module(program, "c(*", "d(_)")
            model = as2.load("digits-best")
            pictures = torch.rand(1, len(model.pictured), 28, 28)
            functions = (tp.loss, tp.image, tp.residual, tp.leave_one_out, lambda p: tp.refine(p, 2), tp.expected_cost, program.marginals,
                         program.log_probability, lambda p: module(p[:, 1:]),
                         lambda p: module.log_probability(p[:, 1:], ["d(1)", "not d(2)"]))
            for function in functions:
                function(p)
            model(pictures)
        pictures, p = pictures.clone(), p.clone().requires_grad_()
        for function in functions:
            gradient, = torch.autograd.grad(function(p).square().sum(), p)
            self.assertTrue(bool(gradient.isfinite().all()))
        model(pictures)[..., 0].sum().backward()
        self.assertTrue(all(q.grad is not None for q in model.parameters()))

    def test_autocast_reaches_networks_and_no_operator(self):
        program = as2.compile("sudoku.lp", b=2)
        tp, add = program.soft_tp(), as2.Module(ADDITION, "digit(*", "total(_)")
        p = random_beliefs(program, batch=2).float().requires_grad_()
        digits = torch.rand(3, 2, 10).softmax(-1).requires_grad_()
        model = as2.load("digits-best")
        pictures = torch.rand(2, len(model.pictured), 28, 28)
        for function, given in ((tp.loss, p), (tp.image, p), (tp.refine, p), (program.marginals, p), (add, digits),
                                (add.log_probability, digits)):
            plain = function(given)
            gradient, = torch.autograd.grad(plain.square().sum(), given)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                cast = function(given)
                again, = torch.autograd.grad(cast.square().sum(), given)
            self.assertTrue(torch.equal(plain, cast) and torch.equal(gradient, again))
            self.assertEqual(function(given.bfloat16()).dtype, torch.float32)
        plain = model(pictures)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            evidence, cast = model.see(pictures)
            self.assertEqual((evidence.dtype, cast.dtype), (torch.float32, torch.float32))
            cast[..., 0].log().mean().backward()
        self.assertTrue(0 < float((plain - cast).abs().max()) < 0.1)
        self.assertTrue(all(q.grad is not None and bool(q.grad.isfinite().all()) for q in model.parameters()))

    def test_padding_is_ignored(self):
        program = as2.compile(text="{ a(V) : V=1..2 } = 1. { b(V) : V=1..4 } = 1. :- a(V), b(V).")
        p = random_beliefs(program, 5, batch=2)
        spoiled = torch.where(program.mask, p, torch.full((), 7.0, dtype=torch.float64))
        tp = program.soft_tp()
        self.assertTrue(torch.equal(tp.loss(p), tp.loss(spoiled)))
        self.assertEqual(float(tp.image(spoiled)[:, :, ~program.mask].abs().sum()), 0)
        self.assertTrue(torch.equal(program.decode(p).symbols, program.decode(spoiled).symbols))
        self.assertTrue(torch.allclose(program.marginals(p), program.marginals(spoiled)))

    def test_what_is_to_be_normalised_may_be_of_half_precision(self):
        program = as2.compile(text="{ a(V) : V=1..3 } = 1. { b(V) : V=1..3 } = 1. :- a(V), b(V).")
        p = torch.tensor([[3, 2, 1], [1, 1, 4]])
        expected = program.decode((p / 6).double())
        for dtype in (torch.float16, torch.bfloat16):
            with self.assertWarnsRegex(UserWarning, "sum to 6; normalised"):
                found = program.decode(p.to(dtype))
            self.assertTrue(torch.equal(found.symbols, expected.symbols))
            self.assertAlmostEqual(float(found.log_probability), float(expected.log_probability), 5)

    def test_a_batch_may_be_empty(self):
        for name in ("digits", "sudoku-best"):
            network = as2.load(name)
            pictures = torch.zeros(0, len(network.pictured), 28, 28)
            evidence, beliefs = network.see(pictures)
            self.assertEqual(evidence.shape[0], 0)
            self.assertEqual(beliefs.shape, evidence.shape)
            self.assertEqual(len(network.program.decode(evidence)), 0)

    def test_module_is_the_convolution(self):
        add = as2.Module(ADDITION, inputs="digit(*", output="total(_)")
        self.assertEqual(add.atoms, [f"total({k})" for k in range(19)])
        self.assertEqual(add.input_names, ["digit(1,_)", "digit(2,_)"])
        self.assertEqual(add.input_symbols, [[str(digit) for digit in range(10)]] * 2)
        p = torch.rand(64, 2, 10, dtype=torch.float64).softmax(-1).requires_grad_()
        ours, theirs = add(p), convolved(p)
        self.assertLess(float((ours - theirs).abs().max()), 1e-12)
        self.assertLess(float((ours - add.log_probability(p).exp()).abs().max()), 1e-12)
        upstream = torch.rand_like(ours)
        mine, = torch.autograd.grad(ours, p, upstream)
        by_hand, = torch.autograd.grad(theirs, p, upstream)
        # P is relative to P(program), which is 1 at distributions: its own gradient is the same for every symbol.
        spread = (mine - by_hand).diff(dim=-1).abs().max()
        self.assertLess(float(spread), 1e-10)
        certain = torch.nn.functional.one_hot(torch.tensor([[3, 4]]), 10).float().requires_grad_()
        add.log_probability(certain)[0, 9].backward()  # forbidden by the zeros, and yet there is a way up
        self.assertTrue(bool(certain.grad.isfinite().all()) and float(certain.grad.abs().max()) > 0)

    def test_what_the_zeros_forbid_has_probability_zero(self):
        add = as2.Module(ADDITION, "digit(*", "total(_)")
        mixed = as2.Module(add.program, "digit(*", [*add.atoms, "digit(1,_)"])  # one evaluation each
        tiny = torch.full((10,), 1e-35, dtype=torch.float64)
        tiny[4] = 1
        for dtype in (torch.float64, torch.float32):
            certain = torch.nn.functional.one_hot(torch.tensor([[3, 4], [9, 9], [0, 1]]), 10).to(dtype)
            certain[2] = torch.tensor([0.5, 0, 0.5] + [0] * 7)
            certain[1, 1] = tiny
            for module in (add, mixed):
                for p in (certain, certain.clone().requires_grad_()):
                    torch.testing.assert_close(module(p)[:, :19], convolved(p), rtol=1e-5, atol=0)
                    self.assertTrue(torch.equal(module(p) == 0, module(certain) == 0))
                # The gradient is that of what floors the zeros.
                p, floored = certain.clone().requires_grad_(), (certain + 1e-30).requires_grad_()
                upstream = torch.rand(3, len(module.atoms), dtype=dtype)
                found, = torch.autograd.grad(module(p), p, upstream)
                expected, = torch.autograd.grad(module(floored), floored, upstream)
                torch.testing.assert_close(found, expected)
        logs = add.log_probability(certain.requires_grad_())
        self.assertTrue(bool(logs.isfinite().all()))
        logs.mean().backward()
        self.assertTrue(bool(certain.grad.isfinite().all()))
        # An atom in no answer set: -inf, and the gradient of log P(program).
        program = as2.compile(text="{ c(I,V) : V=1..3 } = 1 :- I=1..2. :- c(1,V), c(2,V). same :- c(1,V), c(2,V).")
        p = torch.rand(2, 2, 3).softmax(-1).requires_grad_()
        same = as2.Module(program, "c(*", "same")
        self.assertEqual(same(p).tolist(), [[0], [0]])
        same.log_probability(p).sum().backward()
        self.assertTrue(bool(p.grad.isfinite().all()))

    def test_modules_are_copied_saved_and_moved_as_any_other(self):
        program = as2.compile("sudoku.lp", b=2)
        p = random_beliefs(program, batch=2)
        add = as2.Module(ADDITION, "digit(*", "total(_)")
        digits = torch.rand(3, 2, 10).softmax(-1)
        for module, given in ((program.soft_tp(), p), (add, digits)):
            expected = module(given)
            self.assertTrue(torch.equal(copy.deepcopy(module)(given), expected))
            self.assertTrue(torch.equal(pickle.loads(pickle.dumps(module))(given), expected))
            stored = io.BytesIO()
            torch.save(torch.nn.Sequential(module), stored)
            stored.seek(0)
            self.assertTrue(torch.equal(torch.load(stored, weights_only=False)(given), expected))
            self.assertEqual(list(module.to("cpu").state_dict()), [])

    def test_networks_are_copied_whole(self):
        model = as2.load("digits-best")
        pictures = torch.rand(2, len(model.pictured), 28, 28)
        model.train()
        model.note, called = "mine", []
        frozen = next(iter(model.parameters()))
        frozen.requires_grad_(False)
        with torch.no_grad():
            frozen.mul_(0.5)
        hook = model.register_forward_hook(Noting(called))
        shallow = copy.copy(model)
        self.assertIs(next(iter(shallow.parameters())), frozen)
        for copied in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
            self.assertTrue(copied.training and copied.note == "mine" and len(copied._forward_hooks) == 1)
            self.assertEqual([q.requires_grad for q in copied.parameters()], [q.requires_grad for q in model.parameters()])
            self.assertTrue(torch.equal(copied.eval()(pictures), model.eval()(pictures)))
            model.train()
            # A copy, which the original does not follow; and the network itself, which learns.
            before = copied(pictures).detach()
            with torch.no_grad():
                for parameter in copied.parameters():
                    parameter.mul_(1.5)
            self.assertGreater(float((copied(pictures) - before).abs().max()), 1e-4)
            self.assertTrue(torch.equal(frozen, next(iter(model.parameters()))))
        hook.remove()
        self.assertTrue(torch.equal(model.eval()(pictures), before))
        double = copy.deepcopy(model.double())
        self.assertEqual({q.dtype for q in double.parameters()}, {torch.float64})
        self.assertLess(float((double(pictures) - before).abs().max()), 1e-5)

    def test_a_graph_outlives_its_program(self):
        p = torch.rand(1, 16, 4, requires_grad=True)
        loss = as2.compile("sudoku.lp", b=2).soft_tp().loss(p.softmax(-1))
        total = as2.Module(ADDITION, "digit(*", "total(_)")(torch.rand(1, 2, 10, requires_grad=True).softmax(-1))
        loss.backward()
        total[0, 3].backward()
        self.assertGreater(float(p.grad.abs().sum()), 0)

    @needs_gringo
    def test_other_threads_run_meanwhile(self):
        # Each call keeps the library busy for a second, in which this thread goes on only where the GIL is released.
        generator = random.Random(1)
        text = "{ x(1..500) }."
        for _ in range(2130):  # as hard as random constraints get
            text += ":- " + ", ".join(generator.choice(["", "not "]) + f"x({k})" for k in generator.sample(range(1, 501), 3)) + "."
        search, circuit = as2.compile(text=text), as2.compile("sudoku.lp")
        inside = threading.Event()

        def marked(function, *arguments, **_):
            inside.set()
            try:
                return call(function, *arguments)
            finally:
                inside.clear()

        with tempfile.TemporaryDirectory() as folder:
            slow = pathlib.Path(folder) / "gringo"
            slow.write_text(f'#!/bin/sh\nsleep 1\nexec {shutil.which("gringo")} "$@"\n', encoding="utf-8")
            slow.chmod(0o755)
            with mock.patch.dict(os.environ, AS2_GRINGO=str(slow)), mock.patch.object(_library, "call", marked):
                def run(work):
                    with contextlib.suppress(as2.CircuitTooLarge):
                        work()

                for work in (lambda: search.decode(search.uniform, time_budget=1), lambda: circuit.count(time_budget=1),
                             lambda: as2.compile("sudoku.lp")):
                    thread, count = threading.Thread(target=run, args=(work,)), 0
                    thread.start()
                    while thread.is_alive():
                        time.sleep(0.001)
                        count += inside.is_set()
                    thread.join()
                    self.assertGreater(count, 5)  # of a thousand; on a busy machine, fewer
