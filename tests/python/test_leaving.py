"""Threads, Ctrl-C, and a Python that ends while the library is busy."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest

import as2
import torch
from support import SOURCE, needs_gringo, random_beliefs

# Python waits three seconds while it ends, in which other threads may ask for its lock.
LATE = """
    import time, as2
    class Late:
        def __del__(self, sleep=time.sleep):
            sleep(3)
    late = Late()
"""


class Leaving(unittest.TestCase):
    def interrupted(self, script, **environment):
        """A process of its own, Ctrl-C half a second after it says "ready"; what it says then, and how long that took."""
        environment = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(as2.__file__)), **environment}
        child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 text=True, env=environment)
        self.assertEqual(child.stdout.readline(), "ready\n", child.poll() is not None and child.stderr.read())
        time.sleep(0.5)
        began = time.monotonic()
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
        self.assertEqual((child.returncode, err), (0, ""))
        return out, time.monotonic() - began

    @needs_gringo
    def test_ctrl_c_ends_a_search(self):
        out, took = self.interrupted("""
            import random, time, as2
            random.seed(1)
            text = "{ x(1..500) }."
            for _ in range(2130):  # as hard as random constraints get: a search of minutes
                literals = [random.choice(["", "not "]) + f"x({k})" for k in random.sample(range(1, 501), 3)]
                text += ":- " + ", ".join(literals) + "."
            program = as2.compile(text=text)
            print("ready", flush=True)
            try:
                program.decode(program.uniform)
            except KeyboardInterrupt:
                print("interrupted", flush=True)
            began = time.process_time()  # of all threads: the search has ended, too
            time.sleep(2)
            print("idle" if time.process_time() - began < 1 else "busy", flush=True)
        """)
        self.assertEqual(out, "interrupted\nidle\n")
        self.assertLess(took, 20)

    @needs_gringo
    def test_ctrl_c_ends_gringo_and_what_it_started(self):
        with tempfile.TemporaryDirectory() as folder:
            started = os.path.join(folder, "started")
            out, took = self.interrupted("""
                import as2
                print("ready", flush=True)
                try:
                    as2.compile(text="{ a }.")
                except KeyboardInterrupt:
                    print("interrupted", flush=True)
                    import os
                    os._exit(0)  # nothing is left to whatever ends Python
            """, AS2_GRINGO=self.slow_program(folder, "gringo", 60, started))
            self.assertEqual(out, "interrupted\n")
            self.assertLess(took, 10)
            with open(started, encoding="utf-8") as file:
                self.assert_gone(int(file.read()))

    def test_ctrl_c_ends_a_circuit(self):
        # Nothing but the wish to stop would: sudoku.lp has 6.7 · 10²¹ answer sets.
        out, took = self.interrupted(f"""
            import time, as2
            program = as2.compile({str(SOURCE / "programs" / "sudoku.as2c")!r})
            print("ready", flush=True)
            try:
                program.count(time_budget=0, memory_budget=0)
            except KeyboardInterrupt:
                print("interrupted", flush=True)
            began = time.process_time()
            time.sleep(1)
            print("idle" if time.process_time() - began < 0.5 else "busy")
            print(as2.compile({str(SOURCE / "programs" / "addition.as2c")!r}).count())
        """)
        self.assertEqual(out, "interrupted\nidle\n100\n")
        self.assertLess(took, 10)

    @needs_gringo
    def test_ctrl_c_ends_draws_and_verification(self):
        with tempfile.TemporaryDirectory() as folder:
            for work in ("add.sample(None, 10 ** 7)", "add.approximate(add.uniform, size=2 ** 31 - 1, method='sample')",
                         "add.verify(add.decode(add.uniform))"):
                started = os.path.join(folder, "started")
                out, took = self.interrupted(f"""
                    import time, as2
                    add = as2.compile({str(SOURCE / "programs" / "addition.lp")!r})
                    print("ready", flush=True)
                    try:
                        {work}
                    except KeyboardInterrupt:
                        print("interrupted", flush=True)
                    began = time.process_time()
                    time.sleep(1)
                    print("idle" if time.process_time() - began < 0.5 else "busy")
                """, AS2_CLINGO=self.slow_program(folder, "clingo", 60, started))
                self.assertEqual(out, "interrupted\nidle\n", work)
                self.assertLess(took, 10)
            with open(started, encoding="utf-8") as file:
                self.assert_gone(int(file.read()))

    @staticmethod
    def slow_program(folder, name, seconds, started=os.devnull):
        """The program of that name, after so long; `started`: gets the number of a process that this one has started."""
        slow = os.path.join(folder, name)
        with open(slow, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nsleep {seconds} &\necho $! >{started}\nwait\nexec {shutil.which(name)} "$@"\n')
        os.chmod(slow, 0o755)
        return slow

    def assert_gone(self, process):
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:  # it is killed, but whoever inherited it may be slow to notice
            try:
                with open(f"/proc/{process}/stat", encoding="utf-8") as file:
                    if file.read().rpartition(")")[2].split()[0] == "Z":
                        return
            except OSError:
                return
            time.sleep(0.01)
        self.fail("it still runs")

    def test_python_ends_while_a_circuit_is_compiled(self):
        for budget in (2, 60):  # it ends while Python does, or long after
            self.check_leaving(f"""
    program = as2.compile({str(SOURCE / "programs" / "sudoku.as2c")!r})
    def work():
        program.count(time_budget={budget}, memory_budget=0)
""")

    @needs_gringo
    def test_python_ends_under_a_slow_gringo(self):
        with tempfile.TemporaryDirectory() as folder:
            for seconds in (2, 60):
                self.check_leaving("""
    def work():
        as2.compile(text="{ a }.")
""", AS2_GRINGO=self.slow_program(folder, "gringo", seconds))

    def check_leaving(self, definition, **environment):
        """A thread is inside the library when Python ends."""
        out, took = self.interrupted(LATE + definition + """
    import threading
    threading.Thread(target=work, daemon=True).start()
    print("ready", flush=True)
    try:
        time.sleep(60)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
""", **environment)
        self.assertEqual(out, "interrupted\n")
        self.assertLess(took, 20)

    def test_several_threads_get_what_one_gets(self):
        program, add = as2.compile("sudoku.lp", b=2), as2.Module("addition.lp", "digit(*", "total(_)")
        tp, model = program.soft_tp(), as2.load("digits-best")
        generator = torch.Generator().manual_seed(7)

        def answers(seed):
            p = random_beliefs(program, seed, batch=3).requires_grad_()
            digits = torch.rand(4, 2, 10, generator=torch.Generator().manual_seed(seed)).softmax(-1)
            loss = tp.loss(p)
            gradient, = torch.autograd.grad(loss, p)
            with torch.no_grad():
                return [loss.detach(), gradient, add(digits), add.log_probability(digits, ["total(7)"] * 4), program.decode(p).symbols,
                        program.marginals(p.detach()), model(pictures[seed])]

        pictures = torch.rand(8, 2, len(model.pictured), 28, 28, generator=generator)
        expected = [answers(seed) for seed in range(8)]
        found, failed = {}, []

        def work(first):
            try:
                for turn in range(3):
                    for seed in range(first, 8, 4):
                        found[turn, seed] = answers(seed)
            except Exception as error:  # noqa: BLE001 (told below, by the thread that tests)
                failed.append(error)

        threads = [threading.Thread(target=work, args=(first,)) for first in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failed, [])
        self.assertEqual(len(found), 24)
        for (_, seed), mine in found.items():
            for one, other in zip(mine, expected[seed]):
                self.assertTrue(torch.allclose(one, other, atol=1e-6), seed)
