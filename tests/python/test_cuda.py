"""The same on a GPU: values, gradients, waiting, decoding, networks, opcheck and torch.compile. Skipped without one. No program
here needs gringo."""
import copy
import pickle
import unittest
import warnings

import as2
import torch
from support import SOURCE, Operators, random_beliefs
from test_tracing import OPCHECK, check_compiled


class NoWaiting:
    """Whatever makes the host wait for the GPU raises RuntimeError."""

    def __enter__(self):
        torch.cuda.synchronize()
        self.before = torch.cuda.get_sync_debug_mode()
        torch.cuda.set_sync_debug_mode("error")

    def __exit__(self, *error):
        torch.cuda.set_sync_debug_mode(self.before)


@unittest.skipUnless(torch.cuda.is_available(), "no CUDA device")
class Cuda(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.here, cls.there = Operators(), Operators("cuda")
        cls.before = torch.backends.cudnn.allow_tf32
        torch.backends.cudnn.allow_tf32 = False  # pictures are read as on the CPU, to more than three digits

    @classmethod
    def tearDownClass(cls):
        torch.backends.cudnn.allow_tf32 = cls.before
        del cls.here, cls.there

    def near(self, mine, expected, tolerance=1e-9):
        self.assertEqual(mine.device.type, "cuda")
        self.assertEqual((mine.shape, mine.dtype), (expected.shape, expected.dtype))
        self.assertTrue(torch.allclose(mine.cpu(), expected, atol=tolerance, rtol=tolerance))

    def test_operators_and_gradients_are_those_of_the_cpu(self):
        for dtype, tolerance in ((torch.float64, 1e-9), (torch.float32, 2e-5)):
            for name, (operator, p, *rest) in self.here.calls.items():
                with self.subTest(name, dtype=dtype):
                    given = p.to(dtype).requires_grad_()
                    there = given.detach().cuda().requires_grad_()
                    expected, mine = operator(given, *rest), operator(there, *rest)
                    self.near(mine, expected, tolerance)
                    self.assertEqual(mine.requires_grad, expected.requires_grad)
                    if mine.requires_grad:
                        upstream = torch.rand_like(expected)
                        gradient, = torch.autograd.grad(expected, given, upstream)
                        self.near(torch.autograd.grad(mine, there, upstream.cuda())[0], gradient, 10 * tolerance)
                        backward = self.here.backward(name)[0]
                        self.near(backward(upstream.cuda(), there.detach(), *rest), gradient, 10 * tolerance)

    def test_modules_do_not_wait_for_the_gpu(self):
        tp, add, mixed = self.there.tp, self.there.add, self.there.mixed
        p, digits = self.there.p.float(), self.there.digits.float()

        def step():
            for function, given in ((tp.loss, p), (tp.image, p), (tp.expected_cost, p), (add, digits), (mixed, digits),
                                    (add.log_probability, digits)):
                given = given.clone().requires_grad_()
                function(given).sum().backward()

        step()  # tables are copied to the device
        with NoWaiting():
            step()

    def test_contradicting_rows_are_no_number(self):
        program = as2.compile(SOURCE / "programs" / "graph_colouring.as2c")
        edge = [group.positions for group in program.groups if len(group.positions) == 2][0]
        p = random_beliefs(program, 3, batch=4)
        for name in edge:
            i = program.index[name]
            p[1, i] = 0
            p[1, i, 0] = 1  # two neighbours of one colour
        p[2, 0] = torch.nn.functional.one_hot(torch.tensor(1), program.symbols)  # sure, and no contradiction
        one = program.positions[0].name
        for output in (one.replace("_", "1"), one):
            module = as2.Module(program, "*", output)
            for function in (module, module.log_probability):
                with self.assertRaisesRegex(as2.InputError, "row 1: no answer set agrees"):
                    function(p)
                mine = function(p.cuda())
                self.assertEqual(mine.isnan().all(1).tolist(), [False, True, False, False])
                self.near(mine[[0, 2, 3]], function(p[[0, 2, 3]]))
                self.assertTrue(torch.equal(mine[2].cpu() == 0, function(p[[2]])[0] == 0))
        observed = module.log_probability(p.cuda(), [one + "=1"] * 4)
        self.assertEqual(observed.isnan().tolist(), [False, True, False, False])

    def test_decoding_and_probabilities_take_what_is_on_the_gpu(self):
        program = as2.compile(SOURCE / "programs" / "sudoku-b2.as2c")
        p = random_beliefs(program, 4, batch=3)
        p[:, 5:] = 0.25  # what is uniform was not read
        there = p.cuda()
        for options in ({}, {"models": 2}, {"unique": True}, {"method": "greedy"}, {"pins": {program.positions[0].name: "1"}}):
            with self.subTest(options):
                mine, expected = program.decode(there, **options), program.decode(p, **options)
                self.assertEqual(mine.status, expected.status)
                self.assertTrue(torch.equal(mine.symbols, expected.symbols))
        evidence = torch.zeros(16, dtype=torch.bool)
        evidence[:5] = True
        self.assertTrue(torch.equal(program.decode(there, unique=True, evidence=evidence.cuda()).symbols,
                                    program.decode(p, unique=True, evidence=evidence).symbols))
        guessing = as2.compile(SOURCE / "programs" / "win_move.as2c")
        q = random_beliefs(guessing, 5, batch=2)
        for one, beliefs in ((program, p), (guessing, q)):
            self.assertTrue(torch.allclose(one.decode(beliefs.cuda()).log_probability, one.decode(beliefs).log_probability))
            self.near(one.log_probability(beliefs.cuda()), one.log_probability(beliefs))
            self.near(one.marginals(beliefs.cuda()), one.marginals(beliefs))
            self.assertEqual(one.sample(beliefs.cuda(), 3, seed=2), one.sample(beliefs, 3, seed=2))
        atom = program.decode(p)[0].atoms[0]
        self.near(program.probability(there, atom), program.probability(p, atom))
        self.assertEqual(program.approximate(there, atom)[0].queries, program.approximate(p, atom)[0].queries)
        contradiction = torch.zeros_like(there)
        contradiction[..., 0] = 1
        with self.assertRaisesRegex(as2.InputError, "zeros in the beliefs"):
            program.log_probability(contradiction)

    def test_decoding_waits_for_the_stream_it_is_called_on(self):
        program = as2.compile(SOURCE / "programs" / "sudoku-b2.as2c")
        p = random_beliefs(program, 6, batch=2)
        expected = program.decode(p).symbols
        side = torch.cuda.Stream()
        for _ in range(5):
            with torch.cuda.stream(side):
                torch.cuda._sleep(50_000_000)
                late = torch.zeros_like(p, device="cuda") + p.cuda()
                self.assertTrue(torch.equal(program.decode(late).symbols, expected))

    def test_networks_and_autocast(self):
        model = as2.load("digits-best")
        pictures = torch.rand(3, len(model.pictured), 28, 28)
        expected = model(pictures).detach()
        model.to("cuda")
        for one in (model, copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
            self.assertEqual({q.device.type for q in one.parameters()}, {"cuda"})
            self.near(one(pictures.cuda()), expected, 1e-4)
        with self.assertRaisesRegex(as2.InputError, "the pictures are on cpu, the weights on cuda"):
            model(pictures)
        tp, add = self.there.tp, self.there.add
        p, digits = self.there.p.float(), self.there.digits.float()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            self.near(tp.loss(p), self.here.tp.loss(p.cpu()), 1e-5)
            self.near(add(digits), self.here.add(digits.cpu()), 1e-5)
            self.assertEqual(add(digits.bfloat16()).dtype, torch.float32)
            cast = model(pictures.cuda())
            self.near(cast, expected, 0.1)
            cast[..., 0].log().mean().backward()
        self.assertTrue(all(bool(q.grad.isfinite().all()) for q in model.parameters()))
        model.cpu()
        self.assertTrue(torch.allclose(model(pictures), expected, atol=1e-6))

    def test_inference_mode(self):
        with torch.inference_mode():
            self.near(self.there.add(self.there.digits + 0), self.here.add(self.here.digits))
            self.near(self.there.tp.refine(self.there.p + 0, 3), self.here.tp.refine(self.here.p, 3))

    @unittest.skipUnless(OPCHECK, f"PyTorch {torch.__version__} has no torch.library.opcheck")
    def test_opcheck(self):
        for name, (operator, p, *rest) in self.there.calls.items():
            with self.subTest(name), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                torch.library.opcheck(operator, (p.clone().requires_grad_(), *rest))
                backward = self.there.backward(name)
                if backward is not None:
                    torch.library.opcheck(backward[0], backward[1:])

    @unittest.skipUnless(OPCHECK, f"PyTorch {torch.__version__} is older than the torch.compile this is for")
    def test_compiled_modules_give_the_same(self):
        check_compiled(self, self.there)
