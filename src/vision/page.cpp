#include "vision/page.h"

#include <algorithm>
#include <cmath>

#include "as2/error.h"
#include "sudoku/board.h"
#include "vision/board_image.h"

namespace as2::vision {
namespace {

constexpr double kPi = 3.14159265358979323846;

// Ink on the flat sheet, white on black.
class Sheet {
 public:
  Sheet(const PageOptions& options, int per_cell)
      : options_(options),
        per_cell_(per_cell),
        size_(static_cast<int>(std::ceil((options.side + 2 * options.margin) * per_cell))),
        ink_(size_, size_),
        tint_(size_, size_) {}

  double place(double cells) const { return (cells + options_.margin) * per_cell_; }

  void draw_lines() {
    const sudoku::Box box = sudoku::box_of_side(options_.side).value_or(options_.side);
    const auto width = [&](int k, int between) {
      return (k % between == 0 ? options_.thick : options_.thin) * per_cell_;
    };
    const auto gray = static_cast<std::uint8_t>(255 * options_.line_ink);
    for (int k = 0; k <= options_.side; ++k) {
      formats::draw_line(ink_, place(0), place(k), place(options_.side), place(k), width(k, box.rows), gray);
      formats::draw_line(ink_, place(k), place(0), place(k), place(options_.side), width(k, box.columns),
                         gray);
    }
  }

  // The piece's middle at (x, y) cells.
  void stamp(const formats::Image& piece, double x, double y, double strength) {
    const int left = static_cast<int>(std::lround(place(x) - piece.width / 2.0));
    const int top = static_cast<int>(std::lround(place(y) - piece.height / 2.0));
    for (int v = std::max(0, -top); v < piece.height && top + v < size_; ++v) {
      for (int u = std::max(0, -left); u < piece.width && left + u < size_; ++u) {
        std::uint8_t& at = ink_.at(left + u, top + v);
        at = std::max(at, static_cast<std::uint8_t>(piece.at(u, v) * strength));
      }
    }
  }

  void stroke(double x0, double y0, double x1, double y1, double width, double strength) {
    formats::draw_line(ink_, place(x0), place(y0), place(x1), place(y1), width * per_cell_,
                       static_cast<std::uint8_t>(255 * strength));
  }

  void add_grain(double strength, Random& random) {
    formats::Image coarse(5 * (options_.side + 2), 5 * (options_.side + 2));
    for (std::uint8_t& pixel : coarse.pixels)
      pixel = static_cast<std::uint8_t>(255 * strength * random.unit());
    coarse = formats::resize(coarse, size_, size_);
    for (std::size_t k = 0; k < tint_.pixels.size(); ++k)
      tint_.pixels[k] = std::max(tint_.pixels[k], coarse.pixels[k]);
  }

  void tint(int cell, double strength) {
    const int column = cell % options_.side, row = cell / options_.side;
    formats::fill_rectangle(tint_, static_cast<int>(place(column)), static_cast<int>(place(row)), per_cell_,
                            per_cell_, static_cast<std::uint8_t>(255 * strength));
  }

  // The share of light that comes back from (x, y) cells.
  double light(double x, double y) const {
    const Point p{place(x), place(y)};
    return (1 - sample(ink_, p) / 255) * (1 - sample(tint_, p) / 255);
  }

 private:
  const PageOptions& options_;
  int per_cell_, size_;
  formats::Image ink_, tint_;
};

formats::Image cropped(const std::uint8_t* pixels) {
  formats::Image image(datasets::kDigitSide, datasets::kDigitSide);
  std::copy_n(pixels, datasets::kDigitPixels, image.pixels.begin());
  int left = image.width, right = -1, top = image.height, bottom = -1;
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      if (image.at(x, y) < 32) continue;
      left = std::min(left, x), right = std::max(right, x);
      top = std::min(top, y), bottom = std::max(bottom, y);
    }
  }
  if (right < 0) return image;
  return formats::crop(image, left, top, right - left + 1, bottom - top + 1);
}

// A number in digits of the height, or of less where it would be wider than `widest`.
formats::Image printed(int number, int height, int widest, const formats::Typeface* face) {
  const std::string digits = std::to_string(number);
  formats::Image image;
  if (face) {
    image = face->draw(digits, height);
  } else {
    const int border = std::max(1, height / 8), count = static_cast<int>(digits.size());
    const int width = height * 6 / 10 * count + height * 15 / 100 * (count - 1);
    image = formats::Image(width + 2 * border, height + 2 * border);
    draw_number(image, number, {border, border, width, height}, std::max(1.0, height / 8.0), 255);
  }
  if (image.width <= widest) return image;
  return formats::resize(image, widest, std::max(1, image.height * widest / image.width));
}

formats::Image mirrored(const formats::Image& image) {
  formats::Image result = image;
  for (int y = 0; y < image.height; ++y) std::reverse(&result.at(0, y), &result.at(0, y) + image.width);
  return result;
}

void draw_contents(Sheet& sheet, const std::vector<CellContent>& contents, const PageOptions& options,
                   int per_cell, const Pens& pens, Random& random) {
  const double raised = 0.04 * (2 * random.unit() - 1);
  for (std::size_t cell = 0; cell < contents.size(); ++cell) {
    const double x = static_cast<double>(cell % static_cast<std::size_t>(options.side)) + 0.5,
                 y = static_cast<double>(cell / static_cast<std::size_t>(options.side)) + 0.5;
    const CellContent& content = contents[cell];
    if (content.kind == CellContent::kPrinted) {
      const int height = std::max(5, static_cast<int>(std::lround(options.digit_height * per_cell)));
      sheet.stamp(printed(content.digit, height, per_cell * 8 / 10, pens.face), x + 0.02 * random.normal(),
                  y + raised + 0.01 * random.normal(), options.print_ink);
    } else if (content.kind == CellContent::kWritten) {
      const auto& indices = (*pens.by_label)[static_cast<std::size_t>(content.digit)];
      const formats::Image small =
          cropped(pens.digits->image(indices[random.below(static_cast<std::uint32_t>(indices.size()))]));
      const double height = (0.5 + 0.35 * random.unit()) * per_cell;
      const double wide = std::min(0.85 * per_cell, height * small.width / small.height);
      sheet.stamp(formats::resize(small, std::max(2, static_cast<int>(std::lround(wide))),
                                  std::max(3, static_cast<int>(std::lround(height)))),
                  x + 0.05 * random.normal(), y + 0.05 * random.normal(), options.pen_ink);
    }
    if (random.unit() < options.behind) {
      const double size = (0.2 + 0.6 * random.unit()) * per_cell;
      sheet.stamp(
          mirrored(printed(random.between(1, 9), std::max(4, static_cast<int>(size)), per_cell, pens.face)),
          x + 0.6 * (random.unit() - 0.5), y + 0.6 * (random.unit() - 0.5),
          0.25 * random.unit() * options.print_ink);
    }
    if (random.unit() < options.tinted) sheet.tint(static_cast<int>(cell), 0.1 + 0.25 * random.unit());
    if (random.unit() >= options.dirt) continue;
    const double strength = 0.15 + 0.5 * random.unit();
    const double px = x + 0.4 * (2 * random.unit() - 1), py = y + 0.4 * (2 * random.unit() - 1);
    switch (random.below(4)) {
      case 0:  // a speck
        sheet.stroke(px, py, px + 0.03, py + 0.03, 0.02 + 0.06 * random.unit(), strength);
        break;
      case 1:  // a stroke across
        sheet.stroke(px, py, px + 0.5 * random.normal(), py + 0.5 * random.normal(),
                     0.02 + 0.02 * random.unit(), strength);
        break;
      default:  // pencil marks along the border of a blank cell
        if (content.kind != CellContent::kBlank) break;
        for (int mark = random.between(1, 4); mark > 0; --mark) {
          const double mx = x + (random.below(2) == 0 ? -0.3 : 0.3) + 0.06 * random.normal();
          sheet.stamp(printed(random.between(1, 9), std::max(4, per_cell / 5), per_cell, pens.face), mx,
                      y + (random.below(2) == 0 ? -0.3 : 0.3) + 0.06 * random.normal(), strength);
        }
    }
  }
}

// Corners of the board's square as the camera sees them, board of length 1 around the origin.
Quad seen_corners(const PageOptions& options) {
  constexpr double kDistance = 2.2;
  Quad quad;
  for (std::size_t k = 0; k < 4; ++k) {
    const double x = (k == 1 || k == 2 ? 0.5 : -0.5), y = (k >= 2 ? 0.5 : -0.5);
    const double c = std::cos(options.turn), s = std::sin(options.turn);
    const double u = c * x - s * y, v = s * x + c * y;
    // Tilt about an axis in the sheet, then the pinhole.
    const double ca = std::cos(options.tilt_towards), sa = std::sin(options.tilt_towards);
    const double along = ca * u + sa * v, across = -sa * u + ca * v;
    const double nearer = 1 + across * std::sin(options.tilt) / kDistance;
    const double low = across * std::cos(options.tilt);
    quad[k] = {(ca * along - sa * low) / nearer, (sa * along + ca * low) / nearer};
  }
  return quad;
}

void blur(formats::Image& image, double sigma) {
  if (sigma < 0.2) return;
  const int reach = std::max(1, static_cast<int>(std::ceil(2.5 * sigma)));
  std::vector<float> weights;
  float total = 0;
  for (int k = -reach; k <= reach; ++k) {
    weights.push_back(static_cast<float>(std::exp(-0.5 * k * k / (sigma * sigma))));
    total += weights.back();
  }
  for (float& weight : weights) weight /= total;
  std::vector<float> rows(image.pixels.size());
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      float sum = 0;
      for (int k = -reach; k <= reach; ++k)
        sum +=
            weights[static_cast<std::size_t>(k + reach)] * image.at(std::clamp(x + k, 0, image.width - 1), y);
      rows[static_cast<std::size_t>(y) * image.width + x] = sum;
    }
  }
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      float sum = 0.5f;
      for (int k = -reach; k <= reach; ++k)
        sum += weights[static_cast<std::size_t>(k + reach)] *
               rows[static_cast<std::size_t>(std::clamp(y + k, 0, image.height - 1)) * image.width + x];
      image.at(x, y) = static_cast<std::uint8_t>(sum);
    }
  }
}

}  // namespace

Page draw_page(const std::vector<CellContent>& contents, const PageOptions& options, const Pens& pens,
               Random& random) {
  AS2_REQUIRE(contents.size() == static_cast<std::size_t>(options.side * options.side), "one per cell");
  const int per_cell = std::max(14, static_cast<int>(std::lround(options.pitch)));
  Sheet sheet(options, per_cell);
  if (options.grain > 0) sheet.add_grain(options.grain, random);
  sheet.draw_lines();
  draw_contents(sheet, contents, options, per_cell, pens, random);

  // The picture holds the sheet's corners, margin included.
  const double length = options.pitch * options.side;
  Quad quad = seen_corners(options);
  const Homography unit = Homography::of_square(options.side, quad);
  const double m = options.margin, far = options.side + options.margin;
  double left = 1e9, top = 1e9, right = -1e9, bottom = -1e9;
  for (const Point corner : {unit({-m, -m}), unit({far, -m}), unit({far, far}), unit({-m, far})}) {
    left = std::min(left, corner.x), right = std::max(right, corner.x);
    top = std::min(top, corner.y), bottom = std::max(bottom, corner.y);
  }
  for (Point& corner : quad) corner = length * (corner - Point{left, top});
  const Homography map = Homography::of_square(options.side, quad), back = map.inverse();
  // Lines bulge downwards in the middle of the sheet.
  const auto bulge = [&](double u) { return options.bend * std::sin(kPi * u / options.side); };
  Page page;
  page.picture = formats::Image(std::max(8, static_cast<int>(length * (right - left))),
                                std::max(8, static_cast<int>(length * (bottom - top))));
  const double cx = std::cos(options.light_from), cy = std::sin(options.light_from);
  const double across = page.picture.width * std::abs(cx) + page.picture.height * std::abs(cy);
  // The shadow of a hand or of the camera: beyond a line that passes the middle somewhere.
  const double edge = 2 * kPi * random.unit(), ex = std::cos(edge), ey = std::sin(edge);
  const double beyond = (random.unit() - 0.5) * 0.8 * page.picture.width,
               soft = 1 + 0.3 * options.pitch * random.unit();
  for (int y = 0; y < page.picture.height; ++y) {
    for (int x = 0; x < page.picture.width; ++x) {
      const Point p = back({x + 0.5, y + 0.5});
      const double inside = p.x > -m && p.y > -m && p.x < far && p.y < far ? 1 : 0.35;  // a darker table
      const double share =
          ((x - page.picture.width / 2.0) * cx + (y - page.picture.height / 2.0) * cy) / across;
      const double past = (x - page.picture.width / 2.0) * ex + (y - page.picture.height / 2.0) * ey - beyond;
      const double shade = 1 - options.shadow * std::clamp(past / soft + 0.5, 0.0, 1.0);
      const double light = options.paper * (1 - options.light_lost * (share + 0.5)) * inside * shade *
                           sheet.light(p.x, p.y - bulge(p.x));
      page.picture.at(x, y) =
          static_cast<std::uint8_t>(std::clamp(options.dark_ink ? light : 255 - light, 0.0, 255.0));
    }
  }
  blur(page.picture, options.blur);
  if (options.noise > 0) {
    for (std::uint8_t& pixel : page.picture.pixels)
      pixel = static_cast<std::uint8_t>(std::clamp(pixel + options.noise * random.normal(), 0.0, 255.0));
  }
  if (options.jpeg > 0)
    page.picture = formats::decode_image(formats::encode_jpeg(page.picture, options.jpeg), "a drawn page");
  page.lattice.side = options.side;
  for (int row = 0; row <= options.side; ++row) {
    for (int column = 0; column <= options.side; ++column)
      page.lattice.crossings.push_back(map({static_cast<double>(column), row + bulge(column)}));
  }
  return page;
}

PageOptions random_page(Random& random) {
  const auto between = [&](double low, double high) { return low + (high - low) * random.unit(); };
  PageOptions o;
  o.pitch = std::exp(between(std::log(15.0), std::log(64.0)));
  o.margin = 0.5;
  o.thin = between(0.005, 0.05);
  o.thick = o.thin + between(0, 0.06);
  o.line_ink = between(0.2, 1);
  o.print_ink = between(0.45, 1);
  o.pen_ink = std::clamp(o.print_ink * between(0.5, 1.5), 0.3, 1.0);
  o.digit_height = between(0.38, 0.78);
  o.dirt = random.below(2) == 0 ? 0 : between(0, 0.5);
  o.tinted = random.below(3) == 0 ? 0.2 : 0;
  o.behind = random.below(2) == 0 ? 0 : between(0, 0.8);
  o.grain = random.below(2) == 0 ? 0 : between(0, 0.12);
  o.shadow = random.below(2) == 0 ? 0 : between(0, 0.35);
  o.dark_ink = random.below(10) != 0;
  o.turn = 0.1 * random.normal();
  o.tilt = between(0, 0.6);
  o.tilt_towards = between(0, 2 * kPi);
  o.bend = 0.1 * random.normal();
  o.paper = between(90, 250);
  o.light_lost = between(0, 0.6);
  o.light_from = between(0, 2 * kPi);
  o.blur = random.below(3) == 0 ? 0 : between(0, 0.085) * o.pitch;
  o.noise = random.below(3) == 0 ? 0 : between(0, 9);
  o.jpeg = random.below(3) == 0 ? 0 : random.between(15, 90);
  return o;
}

Lattice jittered(const Lattice& lattice, double amount, Random& random) {
  Lattice result = lattice;
  const double reach = amount * lattice.pitch();
  const Point shift{reach * random.normal(), reach * random.normal()};
  for (Point& crossing : result.crossings)
    crossing = crossing + shift + Point{0.7 * reach * random.normal(), 0.7 * reach * random.normal()};
  return result;
}

}  // namespace as2::vision
