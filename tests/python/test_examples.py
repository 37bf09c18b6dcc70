"""The page and the examples run; weights and boards."""
import contextlib
import io
import os
import pathlib
import re
import runpy
import subprocess
import sys
import tempfile
import unittest
import zlib
from unittest import mock

import as2
import torch
from support import SOURCE, command_line


def made_up_digits(split="train", folder=None):
    """A thousand pictures of bars whose place says the digit: as MNIST, where there is none."""
    generator = torch.Generator().manual_seed(len(split))
    labels = torch.arange(1000) % 10
    images = 0.2 * torch.rand(1000, 28, 28, generator=generator)
    for k, label in enumerate(labels.tolist()):
        images[k, 2 * label + 4:2 * label + 7, 4:24] = 1
    return images, labels


def digits_of_the_board(split="test", folder=None):
    """The clues of the board that ships, which its networks can read, a hundred times each."""
    gray = png_pixels(SOURCE / "examples" / "board.png")
    places = [(4, 3), (0, 5), (0, 6), (4, 4), (0, 2), (6, 1), (2, 3), (6, 0), (3, 3)]  # of 1, 2, 3, …
    pictures = [240 - gray[50 * row + 25:50 * row + 53, 50 * column + 25:50 * column + 53].clamp(max=240) for row, column in places]
    return (torch.stack(pictures).float() / 240).repeat(100, 1, 1), torch.arange(1, 10).repeat(100)


def png_pixels(path):
    """Pixels [height, width] of an 8-bit gray PNG; Pillow need not be there."""
    data = path.read_bytes()
    width, height = (int.from_bytes(data[k:k + 4], "big") for k in (16, 20))
    packed, at = b"", 8
    while at < len(data):
        length, kind = int.from_bytes(data[at:at + 4], "big"), data[at + 4:at + 8]
        packed += data[at + 8:at + 8 + length] if kind == b"IDAT" else b""
        at += length + 12
    stream, rows, above = zlib.decompress(packed), [], [0] * (width + 1)
    for y in range(height):
        line = stream[y * (width + 1):(y + 1) * (width + 1)]
        row = [0]  # left of the first pixel
        for x in range(1, width + 1):
            left, up, corner = row[x - 1], above[x], above[x - 1]
            near = min((abs(up - corner), 0, left), (abs(left - corner), 1, up), (abs(left + up - 2 * corner), 2, corner))[2]
            row.append((line[x] + (0, left, up, (left + up) // 2, near)[line[0]]) % 256)
        rows.append(row[1:])
        above = row
    return torch.tensor(rows, dtype=torch.uint8)


class Pillow:
    """What Pillow's images have that as2.solve needs."""
    def __init__(self, gray):
        self.gray, self.size = gray, (gray.shape[1], gray.shape[0])

    def convert(self, mode):
        assert mode == "L"
        return self

    def tobytes(self):
        return bytes(self.gray.flatten().tolist())


class Examples(unittest.TestCase):
    def setUp(self):
        self.folder = os.getcwd()
        os.chdir(SOURCE)
        self.heard = io.StringIO()

    def tearDown(self):
        os.chdir(self.folder)

    def test_the_page(self):
        page = (SOURCE / "docs" / "PYTHON.md").read_text(encoding="utf-8")
        snippets = re.findall(r"```python\n(.*?)```", page, re.S)
        self.assertGreaterEqual(len(snippets), 6)
        names = {}
        with contextlib.redirect_stdout(self.heard):
            for snippet in snippets:
                exec(compile(snippet, "docs/PYTHON.md", "exec"), names)  # noqa: S102
        self.assertIn("optimal", self.heard.getvalue())
        self.assertEqual(len(re.findall(r"^[1-9] [1-9] [1-9] \| ", self.heard.getvalue(), re.M)), 9)

    def example(self, name, *arguments):
        with mock.patch.object(as2, "mnist", made_up_digits), mock.patch.object(sys, "argv", [name, *arguments]), \
                contextlib.redirect_stdout(self.heard):
            torch.manual_seed(1)
            runpy.run_path(str(SOURCE / "examples" / "python" / name), run_name="__main__")
        return self.heard.getvalue()

    def test_addition_from_sums(self):
        read = float(re.search(r"([\d.]+) %", self.example("addition_from_sums.py", "40")).group(1))
        self.assertGreater(read, 60)  # of made-up digits, after so few steps; by chance it would be 10

    def test_a_constraint_on_a_grid(self):
        said = self.example("constraint_on_a_grid.py")
        before, after = map(int, re.search(r"labels: (\d+) before, (\d+) after", said).groups())
        self.assertLess(after, before)
        self.assertIn("rules broken: 0", said)

    def test_digits_without_labels(self):
        read = float(re.search(r"([\d.]+) %", self.example("digits_without_labels.py", "30")).group(1))
        self.assertGreater(read, 60)

    def test_shipped_weights(self):
        with mock.patch(f"{__name__}.made_up_digits", digits_of_the_board):
            said = self.example("shipped_weights.py", "examples/board.png")
        puzzle = re.search('puzzle = "([.1-9]{81})"', (SOURCE / "examples" / "python" / "shipped_weights.py").read_text(encoding="utf-8")).group(1)
        answer = re.search("^[1-9]{81}$", said, re.M).group()
        self.assertEqual([mine for mine, clue in zip(answer, puzzle) if clue != "."], [clue for clue in puzzle if clue != "."])
        self.assertRegex(said, "(?m)^valid: (True|None)$")
        self.assertEqual(len(re.findall(r"^[1-9] [1-9] [1-9] \| ", said, re.M)), 9)

    def test_weights_are_parameters(self):
        model = as2.load("digits-best")
        self.assertFalse(model.training)
        pictures = torch.rand(2, len(model.pictured), 28, 28)
        evidence, beliefs = model.see(pictures)
        self.assertTrue(torch.allclose(beliefs.sum(-1), torch.ones(()), atol=1e-5))
        self.assertIn("perception", next(iter(model.state_dict())))
        model.train()
        optimiser = torch.optim.SGD(model.parameters(), 0.5)
        before = model.eval()(pictures).detach()
        loss = -model(pictures)[..., 0].log().mean()
        loss.backward()
        optimiser.step()
        self.assertGreater(float((model(pictures) - before).abs().max()), 1e-4)  # the network learned, not a copy
        with self.assertRaisesRegex(as2.InputError, "28, 28"):
            model(torch.rand(2, 3))
        with self.assertWarnsRegex(UserWarning, "up to 255, expected ink 1 and paper 0: divide by 255"):
            model(255 * pictures / pictures.max())
        for value in (float("nan"), float("inf")):
            broken = pictures.clone()
            broken[1, 0, 10, 13] = value
            for function in (model, model.see):
                with self.assertRaisesRegex(as2.InputError, f"picture of '{re.escape(model.pictured[0])}' in row 1 .* NaN or infinite"):
                    function(broken)
        with self.assertRaisesRegex(as2.InputError, "these do: .*sudoku-best"):
            as2.load("no-such-weights")
        again = as2.load("digits-best")
        in_double = again.double()(pictures.double())
        self.assertEqual(in_double.dtype, torch.float64)
        self.assertLess(float((in_double - before).abs().max()), 1e-6)
        self.assertTrue(as2.load("addition").weights.endswith("models/addition-n2-best.safetensors"))  # as `as2 predict addition`

    def test_a_run_folder_is_loaded(self):
        with tempfile.TemporaryDirectory() as folder:
            for file in (SOURCE / "models").glob("digits-best.*"):
                (pathlib.Path(folder) / file.name.replace("digits-best", "model")).write_bytes(file.read_bytes())
            model = as2.load(folder)
            pictures = torch.rand(1, len(model.pictured), 28, 28)
            self.assertTrue(torch.equal(model(pictures), as2.load("digits-best")(pictures)))
        with self.assertRaisesRegex((as2.InputError, as2.EnvironmentError), "model.safetensors"):
            as2.load("docs")

    def test_a_board_in_memory_is_solved_as_in_its_file(self):
        gray = png_pixels(SOURCE / "examples" / "board.png")
        expected = as2.solve("examples/board.png").assignment
        for picture in (gray, gray.float() / 255, gray.unsqueeze(-1).expand(-1, -1, 3), Pillow(gray), gray.numpy()[::-1][::-1]):
            self.assertEqual(as2.solve(picture).assignment, expected)
        self.assertEqual([s.file for s in as2.solve(["examples/board.png", gray])], ["examples/board.png", "picture 1"])
        for wrong, said in ((gray.float(), "outside 0 … 1"), (gray.long(), "int64"), (object(), "a picture is a object")):
            with self.assertRaisesRegex(as2.InputError, said):
                as2.solve(wrong)

    def test_a_board_is_solved_as_on_the_command_line(self):
        ours, theirs = as2.solve("examples/board.png"), command_line("solve", "examples/board.png")
        self.assertEqual((ours.assignment, ours.status, ours.unique), (theirs["assignment"], theirs["status"], theirs["unique"]))
        self.assertEqual(ours.read, theirs["read"])
        self.assertAlmostEqual(ours.margin, theirs["margin"], 6)
        self.assertIn("<table>", ours._repr_html_())
        with self.assertRaises(as2.InputError):
            as2.solve("docs/PYTHON.md")

    def test_module_costs_little_more_than_its_operator(self):
        # What the package adds is Python: counted in calls, whose number no busy machine changes.
        add = as2.Module("addition.lp", inputs="digit(*", output="total(_)")
        p = torch.rand(256, 2, 10).softmax(-1).requires_grad_()

        def calls(function):
            events = []
            sys.setprofile(lambda frame, event, argument: events.append(event) if event in ("call", "c_call") else None)
            try:
                function()
            finally:
                sys.setprofile(None)
            return len(events)

        alone = calls(lambda: torch.ops.as2.distribution(p, add._number))
        self.assertLess(calls(lambda: add(p)) - alone, 8)
