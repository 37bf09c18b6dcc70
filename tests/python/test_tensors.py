"""The operators as PyTorch's: gradients, shapes without values, precision, copies, threads."""
import copy
import io
import pickle
import threading
import time
import unittest

import as2
import torch
from support import SOURCE, random_beliefs

ADDITION = SOURCE / "programs" / "addition.lp"


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
                         lambda x: as2.Module(program, ["c(1*", "c(3*"], ["c(2,3)", "c(2,1)"])(x[:, 1::2]),
                         lambda x: as2.Module(program, "c(*", "d(_)").log_probability(x[:, 1:], ["d(1), not d(3)", "c(2,_)=3"]),
                         program.marginals, lambda x: program.probability(x, ["d(1), not b", "c(2,3)"])):
            with self.subTest(function):
                self.assertTrue(torch.autograd.gradcheck(function, (p,), nondet_tol=1e-12))
                try:
                    self.assertTrue(torch.autograd.gradgradcheck(function, (p,), nondet_tol=1e-12))
                except RuntimeError as error:  # PyTorch's word for it; never a wrong value
                    self.assertIn("trying to differentiate twice", str(error))

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
                if function != tp.max_residual:
                    without.sum().backward()
                    self.assertEqual(shape.grad.shape, shape.shape)
        with self.assertRaisesRegex(as2.InputError, "expected"):
            tp.loss(torch.empty(2, 3, device="meta"))

    def test_opcheck_and_compile_where_pytorch_has_them(self):
        if not hasattr(torch.library, "opcheck"):
            self.skipTest(f"PyTorch {torch.__version__} has no torch.library.opcheck")
        program = as2.compile("sudoku.lp", b=2)
        p = random_beliefs(program, batch=2).requires_grad_()
        torch.library.opcheck(torch.ops.as2.soft_tp_loss.default, (p, program._native.number(), 0))
        tp = program.soft_tp()
        self.assertTrue(torch.allclose(torch.compile(tp.loss, fullgraph=True)(p), tp.loss(p)))

    def test_padding_is_ignored(self):
        program = as2.compile(text="{ a(V) : V=1..2 } = 1. { b(V) : V=1..4 } = 1. :- a(V), b(V).")
        p = random_beliefs(program, 5, batch=2)
        spoiled = torch.where(program.mask, p, torch.full((), 7.0, dtype=torch.float64))
        tp = program.soft_tp()
        self.assertTrue(torch.equal(tp.loss(p), tp.loss(spoiled)))
        self.assertEqual(float(tp.image(spoiled)[:, :, ~program.mask].abs().sum()), 0)
        self.assertTrue(torch.equal(program.decode(p).symbols, program.decode(spoiled).symbols))
        self.assertTrue(torch.allclose(program.marginals(p), program.marginals(spoiled)))

    def test_module_is_the_convolution(self):
        add = as2.Module(ADDITION, inputs="digit(*", output="total(_)")
        self.assertEqual(add.atoms, [f"total({k})" for k in range(19)])
        self.assertEqual(add.input_names, ["digit(1,_)", "digit(2,_)"])
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

    def test_a_graph_outlives_its_program(self):
        p = torch.rand(1, 16, 4, requires_grad=True)
        loss = as2.compile("sudoku.lp", b=2).soft_tp().loss(p.softmax(-1))
        total = as2.Module(ADDITION, "digit(*", "total(_)")(torch.rand(1, 2, 10, requires_grad=True).softmax(-1))
        loss.backward()
        total[0, 3].backward()
        self.assertGreater(float(p.grad.abs().sum()), 0)

    def test_other_threads_run_meanwhile(self):
        # Python counts in one thread while the library works in another: without releasing the GIL it could not.
        program = as2.compile("sudoku.lp")
        uniform = program.uniform.repeat(5000, 1, 1)
        hard = as2.compile(text="{ in(X,Y) : X=1..9, Y=1..9 }. :- in(X,Y), in(X+1,Y), in(X,Y+1). :- not in(X,X), X=1..2.")

        def counted(work):
            count, done = 0, threading.Event()
            thread = threading.Thread(target=lambda: (work(), done.set()))
            began = time.monotonic()
            thread.start()
            longest, last = 0.0, began
            while not done.is_set():
                now = time.monotonic()
                longest, last, count = max(longest, now - last), now, count + 1
                time.sleep(0.001)
            thread.join()
            return longest, time.monotonic() - began

        for work in (lambda: program.decode(uniform, threads=1, explain=False), hard.log_probability,
                     lambda: [as2.compile("sudoku.lp") for _ in range(3)]):
            longest, total = counted(work)
            self.assertGreater(total, 0.02)
            self.assertLess(longest, max(0.6 * total, 0.02), f"the other thread stood still for {longest} of {total} s")
