#!/usr/bin/env python3
"""Draws boards of handwritten digits with software that is not ours, to see what `as2 solve` makes of strangers' scans.

Every board has another size, paper and ink; half of them, or all with --turned, lie up to DEGREES off. The clues stand
in a .dat file beside each picture, so that `as2 solve --score OUT/*.png` counts what comes back right. Needs Debian's
python3-pil and python3-numpy, MNIST's test digits, and a list of boards from `as2 data sudoku --out LIST`.

Usage: handwritten_boards.py OUT LIST MNIST-FOLDER [DEGREES [--turned]]
"""
import pathlib
import random
import sys

import numpy
from PIL import Image, ImageDraw


def draw(puzzle, images, by_digit, degrees, draws):
    cell, margin = draws.randint(36, 70), draws.randint(10, 40)
    paper, ink = draws.randint(225, 255), draws.randint(0, 60)
    side = 9 * cell + 2 * margin
    sheet = numpy.full((side, side), float(paper))
    for k, clue in enumerate(puzzle):
        if clue == ".":
            continue
        size = int(cell * draws.uniform(0.7, 0.9))
        digit = Image.fromarray(images[draws.choice(by_digit[int(clue)])]).resize((size, size), Image.BILINEAR)
        cover = numpy.asarray(digit) / 255
        y = margin + k // 9 * cell + (cell - size) // 2 + draws.randint(-2, 2)
        x = margin + k % 9 * cell + (cell - size) // 2 + draws.randint(-2, 2)
        place = sheet[y:y + size, x:x + size]
        place[:] = place * (1 - cover) + ink * cover
    picture = Image.fromarray(sheet.clip(0, 255).astype("uint8"))
    lines = ImageDraw.Draw(picture)
    for k in range(10):
        at, width = margin + k * cell, 3 if k % 3 == 0 else 1
        lines.line((at, margin, at, margin + 9 * cell), fill=ink, width=width)
        lines.line((margin, at, margin + 9 * cell, at), fill=ink, width=width)
    return picture.rotate(degrees * draws.uniform(-1, 1), resample=Image.BICUBIC, expand=True, fillcolor=paper)


def main(out, boards, mnist, degrees="4", turned=""):
    out, mnist = pathlib.Path(out), pathlib.Path(mnist)
    out.mkdir(parents=True)
    images = numpy.fromfile(mnist / "t10k-images-idx3-ubyte", numpy.uint8)[16:].reshape(-1, 28, 28)
    labels = numpy.fromfile(mnist / "t10k-labels-idx1-ubyte", numpy.uint8)[8:]
    by_digit = [numpy.flatnonzero(labels == digit).tolist() for digit in range(10)]
    draws = random.Random(7)
    for n, line in enumerate(open(boards)):
        puzzle = line.split(",")[0]
        name = out / f"board{n:03}"
        draw(puzzle, images, by_digit, float(degrees) if turned or n % 2 else 0, draws).save(f"{name}.png")
        digits = puzzle.replace(".", "0")
        rows = "\n".join(" ".join(digits[k:k + 9]) for k in range(0, 81, 9))
        pathlib.Path(f"{name}.dat").write_text(f"drawn\n9x9 PNG\n{rows}\n")


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
