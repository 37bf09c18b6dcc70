"""Programs in files: where they are read again, and what is said when they have changed."""
import copy
import os
import pathlib
import pickle
import tempfile
import unittest
import warnings

import as2
import torch

TEXT = "{ a(V) : V=1..n } = 1. :- a(1).\n#const n = 3.\n"


class Files(unittest.TestCase):
    def setUp(self):
        self.before = os.getcwd()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, self.before)
        self.file = pathlib.Path(folder.name) / "mine.lp"
        self.file.write_text(TEXT, encoding="utf-8")
        os.chdir(folder.name)

    def test_a_program_is_found_from_another_folder(self):
        program = as2.compile("mine.lp")
        module = as2.Module("mine.lp", "a(*", "a(_)", constants={"n": 4})
        pickled, answer = pickle.dumps((program, module)), program.decode({})
        os.chdir("/")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            again, of_module = pickle.loads(pickled)
            self.assertEqual((again.hash, again.families), (program.hash, program.families))
            self.assertEqual(of_module.atoms, ["a(1)", "a(2)", "a(3)", "a(4)"])
            for one in (program, again):
                self.assertIn(one.verify(answer).valid, (True, None))
        self.assertIs(copy.copy(program), program)
        self.assertIs(copy.deepcopy(program), program)

    def test_names_that_are_not_utf_8_are_refused_as_such(self):
        os.rename(b"mine.lp", b"m\xff.lp")
        program = as2.compile(text=TEXT)
        for function in (lambda: as2.compile(os.listdir()[0]), lambda: program.decode({"a(_)\udcff": {"2": 1}}),
                         lambda: program.probability({}, "\udcff"), lambda: as2.Module(program, "\udcff", "a(_)")):
            with self.assertRaisesRegex(as2.InputError, "cannot be written in UTF-8\nnote: a file whose name"):
                function()
        with self.assertRaisesRegex(as2.InputError, "there is no file '' here"):
            as2.compile("")

    def test_a_program_that_has_changed_is_warned_of(self):
        program = as2.compile("mine.lp")
        pickled, answer = pickle.dumps(program), program.decode({})
        self.file.write_text(TEXT + "% a remark\n", encoding="utf-8")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            pickle.loads(pickled)  # it means the same
        self.file.write_text(TEXT.replace(":- a(1)", ":- a(2)"), encoding="utf-8")
        with self.assertWarnsRegex(UserWarning, "mine.lp, or what it includes, has changed since this program was pickled") as heard:
            again = pickle.loads(pickled)
        self.assertEqual(heard.filename, __file__)
        self.assertNotEqual(again.hash, program.hash)
        with self.assertWarnsRegex(UserWarning, "mine.lp has changed since the program was compiled; clingo reads what it says now"):
            program.verify(answer)
        self.file.unlink()
        with self.assertRaisesRegex((as2.InputError, as2.EnvironmentError), "mine.lp"):
            pickle.loads(pickled)

    def test_so_is_an_included_file_that_has_changed(self):
        included = self.file.with_name("included.lp")
        included.write_text(":- b.\n", encoding="utf-8")
        self.file.write_text('{ a; b }.\n#include "included.lp".\n', encoding="utf-8")
        program = as2.compile("mine.lp")
        pickled = pickle.dumps(program)
        included.write_text(":- a.\n", encoding="utf-8")
        with self.assertWarnsRegex(UserWarning, "included.lp has changed since the program was compiled"):
            program.verify({"a": "true", "b": "false"})
        with self.assertWarnsRegex(UserWarning, "mine.lp, or what it includes, has changed since this program was pickled"):
            pickle.loads(pickled)

    def test_weights_are_found_from_another_folder(self):
        shipped = pathlib.Path(as2.load("digits-best").weights)
        for file in (shipped, shipped.with_suffix(".json")):
            pathlib.Path("mine" + file.suffix).write_bytes(file.read_bytes())
        model = as2.load("./mine.safetensors")
        pickled, pictures = pickle.dumps(model), torch.rand(1, len(model.pictured), 28, 28)
        os.chdir("/")
        self.assertTrue(torch.equal(pickle.loads(pickled)(pictures), model(pictures)))

    def test_clingo_reads_the_constants_of_the_weights(self):
        program = as2.load("addition-n4-best").program  # of four digits, where the file says two
        self.assertIn(program.verify(program.decode(program.uniform)).valid, (True, None))
