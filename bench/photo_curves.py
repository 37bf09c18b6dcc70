#!/usr/bin/env python3
"""Draws what `as2 bench photos --json` measures as SVG: how many drawn photos come back wholly right as one thing gets
worse, and in each typeface.

Usage: as2 bench photos --json | photo_curves.py > docs/photos.svg
"""
import html
import json
import math
import re
import sys

PANELS = [("turned by, degrees", r"turned by (\d+) degrees", False),
          ("seen askance by, degrees", r"seen askance by (\d+) degrees", False),
          ("light lost across, %", r"(\d+) % of the light lost", False),
          ("pixels a side", r"(\d+) pixels a side", True)]
WIDTH, HEIGHT, LEFT, TOP = 260, 130, 48, 24


def panel(rows, title, pattern, logarithmic):
    points = [(int(found[1]), row["value"]) for row in rows if (found := re.match(pattern, row["name"]))]
    place = math.log if logarithmic else float
    low, high = place(points[0][0]), place(points[-1][0])
    at = [((place(x) - low) / (high - low) * WIDTH, HEIGHT * (1 - y / 100)) for x, y in points]
    lines = [f'<text x="{WIDTH / 2}" y="-8" text-anchor="middle">{title}</text>']
    lines += scale()
    lines.append('<polyline fill="none" stroke="#1d4e89" stroke-width="2" points="'
                 + " ".join(f"{x:.1f},{y:.1f}" for x, y in at) + '"/>')
    for k, ((x, y), (value, _)) in enumerate(zip(at, points)):
        lines.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="#1d4e89"/>')
        if len(points) < 8 or k % 3 == 0:
            lines.append(f'<text x="{x:.1f}" y="{HEIGHT + 16}" text-anchor="middle">{value}</text>')
    return lines


def scale():
    lines = []
    for percent in (0, 50, 100):
        y = HEIGHT * (1 - percent / 100)
        lines.append(f'<path d="M0 {y}H{WIDTH}" stroke="#ddd"/>')
        lines.append(f'<text x="-6" y="{y + 4}" text-anchor="end">{percent} %</text>')
    return lines


def typefaces(rows):
    found = [(row["name"][len("typeface "):], row["value"]) for row in rows if row["name"].startswith("typeface ")]
    lines = ['<text x="0" y="-8">typefaces that training never saw, % wholly right</text>']
    wide = 2 * WIDTH + LEFT + 30
    for k, (name, value) in enumerate(found):
        y, length = 20 * k, (wide - 230) * value / 100
        lines.append(f'<text x="160" y="{y + 13}" text-anchor="end">{html.escape(name)}</text>')
        lines.append(f'<rect x="168" y="{y + 2}" width="{length:.1f}" height="14" fill="#1d4e89"/>')
        lines.append(f'<text x="{174 + length:.1f}" y="{y + 13}">{value:.0f} %</text>')
    return lines


def main():
    photos = json.load(sys.stdin)["photos"]
    if "skipped" in photos:
        sys.exit("nothing to draw: " + photos["skipped"])
    width, curves = 2 * (WIDTH + LEFT + 30), 2 * (HEIGHT + TOP + 30)
    height = curves + TOP + 20 * sum(row["name"].startswith("typeface ") for row in photos["rows"]) + 10
    print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
          'font-family="sans-serif" font-size="11">')
    print(f'<title>Drawn photos wholly right, of {photos["photos"]}</title>')
    print(f'<rect width="{width}" height="{height}" fill="white"/>')
    for k, own in enumerate(PANELS):
        x, y = LEFT + k % 2 * width / 2, TOP + k // 2 * curves / 2
        print(f'<g transform="translate({x} {y})">')
        print("\n".join(panel(photos["rows"], *own)))
        print("</g>")
    print(f'<g transform="translate({LEFT} {TOP + curves})">')
    print("\n".join(typefaces(photos["rows"])))
    print("</g>")
    print("</svg>")


if __name__ == "__main__":
    main()
