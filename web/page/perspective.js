// The projective map that takes the square [0, side]² to four corners (top left, top right, bottom right, bottom left).
export class Perspective {
  constructor(side, [[x0, y0], [x1, y1], [x2, y2], [x3, y3]]) {
    const ax = x1 - x2, bx = x3 - x2, sx = x0 - x1 + x2 - x3, ay = y1 - y2, by = y3 - y2, sy = y0 - y1 + y2 - y3;
    const area = ax * by - bx * ay, g = (sx * by - sy * bx) / area, h = (ax * sy - ay * sx) / area;
    Object.assign(this, {side, g: g / side, h: h / side, a: (x1 - x0 + g * x1) / side, b: (x3 - x0 + h * x3) / side, c: x0,
      d: (y1 - y0 + g * y1) / side, e: (y3 - y0 + h * y3) / side, f: y0});
  }

  get css() {
    const {a, b, c, d, e, f, g, h} = this;
    return `matrix3d(${[a, d, 0, g, b, e, 0, h, 0, 0, 1, 0, c, f, 0, 1].join(', ')})`;
  }

  // What it is near the middle of the square, for a canvas, which knows no perspective: x and y count from there.
  get nearMiddle() {
    const {a, b, c, d, e, f, g, h} = this, m = this.side / 2, w = (g + h) * m + 1;
    const x = ((a + b) * m + c) / w, y = ((d + e) * m + f) / w;
    return [(a - g * x) / w, (d - g * y) / w, (b - h * x) / w, (e - h * y) / w, x, y];
  }
}
