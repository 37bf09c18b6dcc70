"""Threads, Ctrl-C, and a Python that ends while the library is busy."""
import contextlib
import os
import pathlib
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

# Also where these tests were started in the background, by a shell that has what it starts there ignore Ctrl-C.
LISTENS = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
# What was interrupted takes no more of the processor, in any thread. A slow machine may need a while to get there.
UNTIL_IDLE = """
    import time
    before = -1
    while time.process_time() - before > 0.05:
        before = time.process_time()
        time.sleep(0.5)
    print("idle")
"""
AGES = 1000  # seconds: longer than anybody waits here for a process to end


class Leaving(unittest.TestCase):
    def interrupted(self, script, then="", started=None, **environment):
        """A process of its own, Ctrl-C once it has said "ready" and the file `started` is there; what it says after that. What is
        interrupted takes ages, so that no slow machine is taken for one that hears no Ctrl-C."""
        environment = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(as2.__file__)), **environment}
        script = LISTENS + textwrap.dedent(script) + textwrap.dedent(then)
        with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=environment) as child:
            try:
                self.assertEqual(child.stdout.readline(), "ready\n", child.poll() is not None and child.stderr.read())
                time.sleep(0.5)  # for the library to be entered; where that takes longer, a fault may be missed, and none invented
                while started and child.poll() is None and not self.written(started):
                    time.sleep(0.01)
                child.send_signal(signal.SIGINT)
                out, err = child.communicate(timeout=300)
            finally:
                child.kill()
        self.assertEqual((child.returncode, err), (0, ""))
        return out

    @staticmethod
    def written(path):
        """Whether the file holds a whole line."""
        return os.path.exists(path) and pathlib.Path(path).read_text(encoding="utf-8").endswith("\n")

    @needs_gringo
    def test_ctrl_c_ends_a_search(self):
        out = self.interrupted("""
            import random, as2
            random.seed(1)
            text = "{ x(1..1000) }."
            for _ in range(4260):  # as hard as random constraints get
                literals = [random.choice(["", "not "]) + f"x({k})" for k in random.sample(range(1, 1001), 3)]
                text += ":- " + ", ".join(literals) + "."
            program = as2.compile(text=text)
            try:
                print("ready", flush=True)
                program.decode(program.uniform)
            except KeyboardInterrupt:
                print("interrupted", flush=True)
        """, UNTIL_IDLE)
        self.assertEqual(out, "interrupted\nidle\n")

    @needs_gringo
    def test_ctrl_c_ends_gringo_and_what_it_started(self):
        with tempfile.TemporaryDirectory() as folder:
            started = os.path.join(folder, "started")
            out = self.interrupted("""
                import as2
                try:
                    print("ready", flush=True)
                    as2.compile(text="{ a }.")
                except KeyboardInterrupt:
                    print("interrupted", flush=True)
                    import os
                    os._exit(0)  # nothing is left to whatever ends Python
            """, started=started, AS2_GRINGO=self.slow_program(folder, "gringo", AGES, started))
            self.assertEqual(out, "interrupted\n")
            with open(started, encoding="utf-8") as file:
                self.assert_gone(int(file.read()))

    def test_ctrl_c_ends_a_circuit(self):
        # Nothing but the wish to stop would: sudoku.lp has 6.7 · 10²¹ answer sets.
        out = self.interrupted(f"""
            import as2
            program = as2.compile({str(SOURCE / "programs" / "sudoku.as2c")!r})
            try:
                print("ready", flush=True)
                program.count(time_budget=0, memory_budget=0)
            except KeyboardInterrupt:
                print("interrupted", flush=True)
            print(as2.compile({str(SOURCE / "programs" / "addition.as2c")!r}).count())
        """, UNTIL_IDLE)
        self.assertEqual(out, "interrupted\n100\nidle\n")

    @needs_gringo
    def test_ctrl_c_ends_draws_and_verification(self):
        with tempfile.TemporaryDirectory() as folder:
            for work in ("add.sample(None, 3 * 10 ** 7)", "add.approximate(add.uniform, size=2 ** 31 - 1, method='sample')",
                         "add.verify(add.decode(add.uniform))"):
                started = os.path.join(folder, "started")
                out = self.interrupted(f"""
                    import as2
                    add = as2.compile({str(SOURCE / "programs" / "addition.lp")!r})
                    try:
                        print("ready", flush=True)
                        {work}
                    except KeyboardInterrupt:
                        print("interrupted", flush=True)
                """, UNTIL_IDLE, started if "verify" in work else None, AS2_CLINGO=self.slow_program(folder, "clingo", AGES, started))
                self.assertEqual(out, "interrupted\nidle\n", work)
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
        deadline = time.monotonic() + 300
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
        for budget in (2, AGES):  # it ends while Python does, or long after
            self.check_leaving(f"""
    program = as2.compile({str(SOURCE / "programs" / "sudoku.as2c")!r})
    def work():
        program.count(time_budget={budget}, memory_budget=0)
""")

    @needs_gringo
    def test_python_ends_under_a_slow_gringo(self):
        with tempfile.TemporaryDirectory() as folder:
            for seconds in (2, AGES):
                started = os.path.join(folder, f"started-{seconds}")
                self.check_leaving("""
    def work():
        as2.compile(text="{ a }.")
""", started=started, AS2_GRINGO=self.slow_program(folder, "gringo", seconds, started))
            with contextlib.suppress(ProcessLookupError), open(started, encoding="utf-8") as file:
                os.kill(int(file.read()), signal.SIGKILL)  # nobody waits for it

    def check_leaving(self, definition, **environment):
        """A thread is inside the library when Python ends."""
        out = self.interrupted(LATE + definition + f"""
    import threading
    threading.Thread(target=work, daemon=True).start()
    try:
        print("ready", flush=True)
        time.sleep({AGES})
    except KeyboardInterrupt:
        print("interrupted", flush=True)
""", **environment)
        self.assertEqual(out, "interrupted\n")

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
