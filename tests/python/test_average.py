"""bench/average.py: the mean of two networks is a model like any other."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import as2
import torch
from support import SOURCE

MODELS = SOURCE / "models"


def average(out, first, second, share):
    return subprocess.run([sys.executable, SOURCE / "bench" / "average.py", out, first, second, str(share)],
                          capture_output=True, text=True, check=False)


class Average(unittest.TestCase):
    def test_is_the_mean_and_has_a_card(self):
        best, grounded = MODELS / "sudoku-best.safetensors", MODELS / "sudoku-grounded.safetensors"
        with tempfile.TemporaryDirectory() as folder:
            # Two networks with different reasoners of the same shape: the best, and the best moved a little.
            moved = pathlib.Path(folder) / "moved.safetensors"
            content = bytearray(best.read_bytes())
            length = int.from_bytes(content[:8], "little")
            header = json.loads(content[8:8 + length])
            begin, end = (8 + length + at for at in header["reasoner.embed.bias"]["data_offsets"])
            bias = torch.frombuffer(content[begin:end], dtype=torch.float32).clone()
            content[begin:end] = (bias + 1).numpy().tobytes()
            moved.write_bytes(content)
            moved.with_suffix(".json").write_text(best.with_suffix(".json").read_text())

            out = pathlib.Path(folder) / "mean.safetensors"
            done = average(out, best, moved, 0.25)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            mean = out.read_bytes()
            self.assertTrue(torch.allclose(torch.frombuffer(bytearray(mean[begin:end]), dtype=torch.float32), bias + 0.25))
            kept = best.read_bytes()
            self.assertEqual((mean[:begin], mean[end:]), (kept[:begin], kept[end:]), "nothing else differs")
            card = json.loads(out.with_suffix(".json").read_text())
            self.assertEqual([part["share"] for part in card["averaged"]], [0.75, 0.25])
            self.assertEqual(card["averaged"][0]["trained"], json.loads(best.with_suffix(".json").read_text())["trained"])
            self.assertNotIn("validation", card)
            as2.load(out)  # the card is right, and the checksum

            done = average(out, best, MODELS / "sudoku-hard.safetensors", 0.5)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("do not have the same reasoner", done.stderr)
            self.assertEqual(out.read_bytes(), mean, "what was there stays")
            self.assertIn("would replace one of the two", average(out, out, best, 0.5).stderr)
            self.assertIn("each with its card", average(out, best, pathlib.Path(folder) / "none.safetensors", 0.5).stderr)
            self.assertEqual(out.read_bytes(), mean)
            self.assertNotEqual(average(out, best, grounded, 2).returncode, 0)
            self.assertNotEqual(average(out, best, grounded, "half").returncode, 0)
