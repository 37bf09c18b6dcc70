#include "train/curves.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>
#include <sstream>

namespace as2::train {
namespace {

constexpr double kWidth = 440, kHeight = 320, kLeft = 72, kRight = 14, kTop = 34, kBottom = 44;
constexpr double kFontSize = 11;
constexpr double kCharacter = 0.62 * kFontSize;  // the width of a digit in a wide font
const char* const kColours[] = {"#1b6ca8", "#d1495b", "#3a8f5b", "#8a5a9e", "#c98b1b", "#4a4a4a"};

// An axis: values to pixels, with round ticks.
struct Axis {
  double low = 0, high = 1, from = 0, to = 1;
  bool logarithmic = false;
  std::optional<double>
      single;  // all data have this value: the axis has no length, and it stands in the middle

  double scale(double value) const { return logarithmic ? std::log10(value) : value; }
  double pixel(double value) const { return from + (to - from) * (scale(value) - low) / (high - low); }

  // Positions of ticks on the scaled axis: 1, 2 or 5 times a power of ten apart, about five of them. One
  // value is its own tick.
  std::vector<double> ticks() const {
    if (single) return {*single};
    const double rough = (high - low) / 5, power = std::pow(10, std::floor(std::log10(rough)));
    double step = power * 10;
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (factor * power >= rough) {
        step = factor * power;
        break;
      }
    }
    std::vector<double> values;
    for (double value = std::ceil(low / step) * step; value <= high + 1e-9 * step; value += step) {
      values.push_back(std::abs(value) < step * 1e-6 ? 0 : value);
    }
    return values;
  }
};

bool drawable(double value, bool logarithmic) {
  return std::isfinite(value) && (!logarithmic || value > 0);
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '&')
      result += "&amp;";
    else
      result += c;
  }
  return result;
}

std::string label(double value, int digits = 4) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  return text;
}

// Where a label centred at x must begin so that neither end leaves the panel.
double label_begin(double x, const std::string& text) {
  const double width = kCharacter * static_cast<double>(text.size());
  return std::clamp(x - width / 2, 2.0, std::max(2.0, kWidth - 2 - width));
}

Axis axis_over(const Panel& panel, bool vertical) {
  Axis axis;
  axis.logarithmic = vertical && panel.logarithmic;
  axis.low = std::numeric_limits<double>::infinity();
  axis.high = -axis.low;
  for (const Series& series : panel.series) {
    for (const auto& [x, y] : series.points) {
      if (!drawable(y, panel.logarithmic)) continue;
      const double value = axis.scale(vertical ? y : x);
      axis.low = std::min(axis.low, value);
      axis.high = std::max(axis.high, value);
    }
  }
  if (!(axis.low <= axis.high)) axis.low = 0, axis.high = 1;
  if (axis.high - axis.low < 1e-12 * std::max(1.0, std::abs(axis.low))) {
    axis.single = axis.low;
    axis.low -= 0.5, axis.high += 0.5;
  }
  axis.from = vertical ? kHeight - kBottom : kLeft;
  axis.to = vertical ? kTop : kWidth - kRight;
  return axis;
}

void draw_panel(std::ostringstream& out, const Panel& panel) {
  const Axis across = axis_over(panel, false), up = axis_over(panel, true);
  out << "<text x='" << kLeft << "' y='20' font-weight='bold'>" << escaped(panel.title) << "</text>\n";
  for (const double tick : up.ticks()) {
    const double y = up.from + (up.to - up.from) * (tick - up.low) / (up.high - up.low);
    out << "<path d='M" << kLeft << ' ' << y << 'H' << kWidth - kRight << "' stroke='#ddd'/><text x='"
        << kLeft - 6 << "' y='" << y + 4 << "' text-anchor='end'>"
        << label(up.logarithmic ? std::pow(10, tick) : tick) << "</text>\n";
  }
  for (const double tick : across.ticks()) {
    const std::string text = label(tick, 6);
    out << "<text x='" << label_begin(across.pixel(tick), text) << "' y='" << kHeight - kBottom + 16 << "'>"
        << text << "</text>\n";
  }
  out << "<text x='" << (kLeft + kWidth - kRight) / 2 << "' y='" << kHeight - 8 << "' text-anchor='middle'>"
      << escaped(panel.x_title) << "</text>\n";
  int number = 0;
  for (const Series& series : panel.series) {
    const char* colour = kColours[number % 6];
    std::vector<std::pair<double, double>> pixels;
    for (const auto& [x, y] : series.points) {
      if (drawable(y, panel.logarithmic)) pixels.emplace_back(across.pixel(x), up.pixel(y));
    }
    if (pixels.size() == 1) {  // a line of one point would not be seen
      out << "<circle cx='" << pixels[0].first << "' cy='" << pixels[0].second << "' r='3' fill='" << colour
          << "'/>";
    } else if (!pixels.empty()) {
      out << "<polyline fill='none' stroke='" << colour << "' stroke-width='1.5' points='";
      for (const auto& [x, y] : pixels) out << x << ',' << y << ' ';
      out << "'/>";
    }
    out << "<text x='" << kWidth - kRight - 4 << "' y='" << kTop + 14 + 15 * number
        << "' text-anchor='end' fill='" << colour << "'>" << escaped(series.name) << "</text>\n";
    ++number;
  }
}

}  // namespace

std::string draw_curves(const std::vector<Panel>& panels) {
  std::ostringstream out;
  out.precision(6);
  out << "<svg xmlns='http://www.w3.org/2000/svg' width='" << kWidth * panels.size() << "' height='"
      << kHeight << "' font-family='sans-serif' font-size='" << kFontSize
      << "'>\n<rect width='100%' height='100%' fill='white'/>\n";
  for (std::size_t number = 0; number < panels.size(); ++number) {
    out << "<g transform='translate(" << kWidth * number << ",0)'>\n";
    draw_panel(out, panels[number]);
    out << "</g>\n";
  }
  out << "</svg>\n";
  return out.str();
}

}  // namespace as2::train
