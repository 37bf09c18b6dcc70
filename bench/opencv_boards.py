#!/usr/bin/env python3
"""Finds boards in photos with OpenCV, to compare with `as2 solve`, which has a finder of its own.

The usual recipe: blur, adaptive threshold, outer contours, the largest convex polygon of four corners. The square it
finds is straightened, with half a cell around it, and written to OUT together with the photo's clues, so that
`as2 solve --score OUT/*.png` says how many boards come back right; a photo in which nothing is found is copied as a
white sheet. Needs Debian's python3-opencv.

Usage: opencv_boards.py OUT PHOTO.jpg…
"""
import pathlib
import shutil
import sys
import time

import cv2
import numpy

CELL = 64


def corners(gray):
    """The board's four corners, clockwise from the top left, or None."""
    ink = cv2.adaptiveThreshold(cv2.GaussianBlur(gray, (5, 5), 0), 255, cv2.ADAPTIVE_THRESH_MEAN_C,
                                cv2.THRESH_BINARY_INV, 19, 7)
    contours, _ = cv2.findContours(ink, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    for contour in sorted(contours, key=cv2.contourArea, reverse=True)[:10]:
        polygon = cv2.approxPolyDP(contour, 0.02 * cv2.arcLength(contour, True), True)
        if len(polygon) == 4 and cv2.isContourConvex(polygon):
            points = polygon.reshape(4, 2).astype(numpy.float32)
            sums, differences = points.sum(1), points[:, 0] - points[:, 1]
            return points[[sums.argmin(), differences.argmax(), sums.argmax(), differences.argmin()]]
    return None


def main(out, *photos):
    out = pathlib.Path(out)
    out.mkdir(parents=True)
    found, seconds, size = 0, 0.0, 10 * CELL
    low, high = CELL / 2, size - CELL / 2
    for photo in map(pathlib.Path, photos):
        picture = cv2.imread(str(photo), cv2.IMREAD_GRAYSCALE)
        start = time.perf_counter()
        square = corners(picture)
        seconds += time.perf_counter() - start
        straight = numpy.full((size, size), 255, numpy.uint8)
        if square is not None:
            found += 1
            to = numpy.float32([[low, low], [high, low], [high, high], [low, high]])
            straight = cv2.warpPerspective(picture, cv2.getPerspectiveTransform(square, to), (size, size))
        cv2.imwrite(str(out / (photo.stem + ".png")), straight)
        shutil.copy(photo.with_suffix(".dat"), out)
    print(f"{found} of {len(photos)} with a square, {1000 * seconds / len(photos):.1f} ms each")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
