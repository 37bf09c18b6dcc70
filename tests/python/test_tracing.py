"""The operators under PyTorch's own tools: dispatch modes, fake tensors, symbols for sizes, AOTAutograd; and, where PyTorch
has them, opcheck and torch.compile. No program here needs gringo."""
import copy
import gc
import pickle
import sys
import types
import unittest
import warnings
from unittest import mock

import as2
import torch
from support import SOURCE, Operators
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._python_dispatch import TorchDispatchMode

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    try:
        from torch._functorch.aot_autograd import aot_function
        from torch._functorch.compilers import nop
    except ImportError:  # before 2.0
        from functorch.compile import aot_function, nop

try:
    import torch.func as transforms
except ImportError:  # before 2.0
    import functorch as transforms

OPCHECK = hasattr(torch.library, "opcheck")


class Watching(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        self.seen.append(str(function).split(".")[1] if str(function).startswith("as2.") else "other")
        return function(*arguments, **(keywords or {}))


def layouts(p):
    """The same beliefs twice, the second with the memory of positions and symbols exchanged."""
    return p, p.transpose(1, 2).contiguous().transpose(1, 2)


class SymbolicMode:
    """Lets make_fx of 1.13 take the operators' own shapes where sizes are symbols, as 2.x does by itself. It also has to stay
    below autograd there, whose C++ functions read sizes then."""

    def __enter__(self):
        self.name = "functions_with_cpp_meta_impl_that_support_symint"
        self.before = getattr(FakeTensorMode, self.name, None)
        if self.before is not None:
            class Everything(list):
                def __contains__(self, function):
                    return True
            setattr(FakeTensorMode, self.name, property(lambda mode: Everything(self.before.fget(mode))))
        return self

    def __exit__(self, *error):
        if self.before is not None:
            setattr(FakeTensorMode, self.name, self.before)

    def called(self, operator, *arguments):
        guard = torch._C._AutoDispatchBelowAutograd() if self.before is not None else None
        result = operator(*arguments)
        del guard
        return result


class Tracing(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.operators = Operators()

    @classmethod
    def tearDownClass(cls):
        del cls.operators

    def each(self):
        """name, operator, beliefs, its other arguments; and of NAME_backward with its gradient in front, or None."""
        for name, (operator, p, *rest) in self.operators.calls.items():
            with self.subTest(name):
                yield name, operator, p, rest, self.operators.backward(name)

    def test_these_are_all_operators_on_beliefs(self):
        known = {"as2::" + name + end for name in self.operators.calls for end in ("", "_backward")}
        known.remove("as2::soft_tp_max_residual_backward")
        found = {schema.name for schema in torch._C._jit_get_all_schemas()
                 if schema.name.startswith("as2::") and {"beliefs", "object"} <= {argument.name for argument in schema.arguments}}
        self.assertEqual(found, known)

    def test_whoever_watches_sees_the_operators(self):
        for name, operator, p, rest, backward in self.each():
            given = p.clone().requires_grad_()
            plain = operator(given, *rest)
            with Watching() as mode:
                result = operator(given, *rest)
                self.assertEqual([seen for seen in mode.seen if seen != "other"], [name])
                self.assertEqual(result.requires_grad, backward is not None)
                self.assertTrue(torch.equal(result, plain))
                if backward is not None:
                    upstream = torch.rand_like(plain)
                    mine, = torch.autograd.grad(result, given, upstream)
                    self.assertIn(name + "_backward", mode.seen)
                    self.assertTrue(torch.allclose(mine, torch.autograd.grad(plain, given, upstream)[0], atol=1e-12))

    def test_fake_results_look_like_real_ones(self):
        for name, operator, beliefs, rest, backward in self.each():
            calls = [(operator, (p, *rest)) for p in layouts(beliefs)]
            if backward is not None:
                calls += [(backward[0], (backward[1], p, *rest)) for p in layouts(beliefs)]
            for function, arguments in calls:
                mode = FakeTensorMode()
                fakes = [mode.from_tensor(a) if isinstance(a, torch.Tensor) else a for a in arguments]
                with mode:
                    fake = function(*fakes)
                metas = [a.to("meta") if isinstance(a, torch.Tensor) else a for a in arguments]
                real = function(*arguments)
                for other in (fake, function(*metas)):
                    self.assertEqual((other.shape, other.dtype, other.stride()), (real.shape, real.dtype, real.stride()))
                self.assertEqual(fake.device, real.device)

    def test_sizes_may_be_symbols(self):
        for name, operator, p, rest, backward in self.each():
            for function, tensors in ((operator, (p,)), *([(backward[0], backward[1:3])] if backward else [])):
                with SymbolicMode() as mode:
                    graph = make_fx(lambda *given: mode.called(function, *given, *rest), tracing_mode="symbolic")(*tensors)
                found = [node.meta["val"].shape for node in graph.graph.nodes if node.target is function]
                self.assertEqual(len(found), 1)
                real = function(*tensors, *rest)
                self.assertEqual(len(found[0]), real.dim())
                if real.dim():  # the batch is a symbol, the rest is known
                    self.assertNotIsInstance(found[0][0], int)
                self.assertTrue(torch.equal(graph(*tensors), real))

    def test_aot_autograd_gives_the_same(self):
        for name, operator, p, rest, backward in self.each():
            traced = aot_function(lambda given: operator(given, *rest), nop, nop)
            for given in layouts(p.clone()):
                given.requires_grad_()
                mine, plain = traced(given), operator(given, *rest)
                self.assertTrue(torch.allclose(mine, plain, atol=1e-12))
                if backward is not None:
                    upstream = torch.rand_like(plain)
                    self.assertTrue(torch.allclose(torch.autograd.grad(mine, given, upstream)[0],
                                                   torch.autograd.grad(plain, given, upstream)[0], atol=1e-12))

    def test_equal_programs_have_one_number_and_different_ones_have_not(self):
        # Compiled graphs outlive this process in PyTorch's caches, which know an operator by its number alone.
        first, again = (as2.compile(SOURCE / "programs" / "addition-n8.as2c") for _ in range(2))
        other = as2.compile(SOURCE / "programs" / "addition-n4.as2c")
        number = first._native.number()
        self.assertEqual(number, again._native.number())
        self.assertNotEqual(number, other._native.number())
        module = as2.Module(first, "digit(*", "total(_)")
        self.assertEqual({m._number for m in (module, as2.Module(again, "digit(*", "total(_)"), copy.deepcopy(module),
                                              pickle.loads(pickle.dumps(module)))}, {module._number})
        self.assertEqual(len({module._number, *(as2.Module(first, inputs, output)._number for inputs, output in (
            ("digit(*", "total(1)"), ("digit(*", ["total(1)", "total(2)"]), ("digit(*", ["total(2)", "total(1)"]),
            ("digit(1*", "total(_)"), ("*", "total(_)")))}), 6)
        p = first.uniform.unsqueeze(0)
        loss = first.soft_tp().loss(p)
        del first, module
        gc.collect()
        self.assertEqual(torch.ops.as2.soft_tp_loss(p, number), loss)  # `again` has the number, too
        del again
        gc.collect()
        with self.assertRaisesRegex(RuntimeError, "no longer exists\nnote: keep the as2.Program"):
            torch.ops.as2.soft_tp_loss(p, number)

    def test_what_an_operator_says_reads_well_by_itself(self):
        # As torch.compile passes it on, which leaves the package out.
        operator, p, *rest = self.operators.calls["soft_tp_loss"]
        with self.assertRaisesRegex(RuntimeError, r"\Aerror: beliefs of '.*' in row 0: '.*' is nan, expected .*\nnote: .*\nas2-error {"):
            operator(p * float("nan"), *rest)

    def test_transforms_are_refused(self):
        for function, given in ((self.operators.tp.loss, self.operators.p), (self.operators.add, self.operators.digits),
                                (lambda p: self.operators.tp.max_residual(p).sum(), self.operators.p)):
            with self.assertRaisesRegex(as2.InputError, "the transforms of torch.func.*\nnote: torch.autograd.grad"):
                transforms.grad(lambda p: function(p).sum())(given)

    def test_vmap_loops(self):
        # As PyTorch says itself, in a warning; over the batch, of instances and of batches.
        p, tp = torch.stack([self.operators.p, self.operators.p.flip(0)]), self.operators.tp
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for function in (tp.image, tp.max_residual, tp.loss):
                self.assertTrue(torch.allclose(transforms.vmap(function)(p), torch.stack([function(one) for one in p])))
            digits = self.operators.digits
            self.assertTrue(torch.allclose(transforms.vmap(lambda row: self.operators.add(row.unsqueeze(0)))(digits).squeeze(1),
                                           self.operators.add(digits)))

    def test_whoever_knows_whether_a_graph_is_traced_is_asked(self):
        from as2 import _library

        def asked(**parts):
            with mock.patch.object(_library, "torch", types.SimpleNamespace(**parts)):
                return _library._tracing()()

        self.assertFalse(asked())  # 1.13
        said = types.SimpleNamespace(is_compiling=lambda: "said")
        self.assertEqual(asked(compile=None, compiler=said), "said")
        for compiler in ({}, {"compiler": types.SimpleNamespace()}):  # 2.0
            with mock.patch.dict(sys.modules, {"torch._dynamo": said}):
                self.assertEqual(asked(compile=None, **compiler), "said")

    @unittest.skipUnless(OPCHECK, f"PyTorch {torch.__version__} has no torch.library.opcheck")
    def test_opcheck(self):
        for name, operator, beliefs, rest, backward in self.each():
            for p in layouts(beliefs):
                torch.library.opcheck(operator, (p.clone().requires_grad_(), *rest))
                torch.library.opcheck(operator, (p, *rest))
                if backward is not None:
                    torch.library.opcheck(backward[0], (backward[1], p, *rest))

    @unittest.skipUnless(OPCHECK, f"PyTorch {torch.__version__} is older than the torch.compile this is for")
    def test_compiled_modules_give_the_same(self):
        check_compiled(self, self.operators)

    @unittest.skipUnless(OPCHECK, f"PyTorch {torch.__version__} is older than the torch.compile this is for")
    def test_what_is_no_operator_breaks_the_graph_and_no_more(self):
        torch._dynamo.reset()
        add, digits = self.operators.add, self.operators.digits
        texts = [f"total({k})" for k in range(len(digits))]
        compiled = torch.compile(lambda d: 2 * add.log_probability(d * 1.0, texts).sum())
        self.assertTrue(torch.allclose(compiled(digits), 2 * add.log_probability(digits, texts).sum()))
        model = as2.load("digits-best")
        pictures = torch.rand(2, len(model.pictured), 28, 28)
        self.assertTrue(torch.allclose(torch.compile(model)(pictures), model(pictures), atol=1e-6))
        broken = torch.compile(self.operators.tp.loss)
        with self.assertRaisesRegex(RuntimeError, "expected a probability, from 0 to 1"):
            broken(self.operators.p + 4)


def check_compiled(test, operators):
    """Everything, compiled as one graph, on three batches; with sizes as they come, and with symbols from the start."""
    tp, add, mixed = operators.tp, operators.add, operators.mixed

    def soft(p):
        p = p / p.sum(-1, keepdim=True)
        return (tp.loss(p), tp.loss(p, "sum"), tp.image(p), tp.residual(p), tp.leave_one_out(p), tp.max_residual(p),
                tp.refine(p, 2), tp.expected_cost(p))

    def derived(p):
        p = p / p.sum(-1, keepdim=True)
        return add(p), add.log_probability(p), mixed(p), torch.ops.as2.marginals(p, add._number)

    for function, beliefs in ((soft, operators.p), (derived, operators.digits)):
        for dynamic in (None, True):
            torch._dynamo.reset()
            compiled = torch.compile(function, fullgraph=True, dynamic=dynamic)
            for given in (beliefs, beliefs[:2], torch.cat([beliefs, beliefs]), layouts(beliefs)[1]):
                with test.subTest(function.__name__, dynamic=dynamic, shape=given.shape):
                    given = given.detach().clone().requires_grad_()
                    mine, plain = compiled(given), function(given)
                    for a, b in zip(mine, plain):
                        test.assertEqual((a.shape, a.dtype, a.requires_grad), (b.shape, b.dtype, b.requires_grad))
                        test.assertTrue(torch.allclose(a, b, atol=1e-6))
                    gradients = [torch.autograd.grad(sum(x.sin().sum() for x in result if x.requires_grad), given)[0]
                                 for result in (mine, plain)]
                    test.assertTrue(torch.allclose(*gradients, atol=1e-5))
