#include "vision/typefaces.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>

#include "as2/error.h"
#include "random.h"

namespace as2::vision {
namespace {

namespace fs = std::filesystem;
constexpr int kSide = 20, kDigits = 10;
using Portrait = std::vector<double>;  // of one digit, of length 1 and mean 0

Portrait portrait(const formats::Image& glyph) {
  const formats::Image square = formats::resize(glyph, kSide, kSide);
  Portrait values(square.pixels.begin(), square.pixels.end());
  double mean = 0, squares = 0;
  for (const double v : values) mean += v / static_cast<double>(values.size());
  for (double& v : values) v -= mean, squares += v * v;
  for (double& v : values) v /= std::sqrt(squares + 1e-9);
  return values;
}

double likeness(const Portrait& a, const Portrait& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}

// Letters of the file's name up to the sixth: DejaVuSans-Bold and DejaVuSerif are one family.
std::string family_of(const std::string& path) {
  std::string name;
  for (const char letter : fs::path(path).stem().string()) {
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0 || name.size() == 6) break;
    name += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return name;
}

FacePart part_of(const std::string& family) {
  std::uint64_t hash = 0;
  for (const char letter : family) hash = scatter(hash ^ static_cast<unsigned char>(letter));
  const auto place = hash % 10;
  return place < 8 ? FacePart::kTrain : place == 8 ? FacePart::kValidation : FacePart::kTest;
}

struct Seen {
  formats::Typeface face;
  std::array<Portrait, kDigits> digits;
  bool kept = true;
};

void leave_out_the_odd(std::vector<Seen>& all) {
  std::array<Portrait, kDigits> mean;
  for (int digit = 0; digit < kDigits; ++digit) {
    auto& sum = mean[static_cast<std::size_t>(digit)];
    sum.assign(kSide * kSide, 0);
    for (const Seen& seen : all) {
      if (!seen.kept) continue;
      for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += seen.digits[static_cast<std::size_t>(digit)][k];
    }
    const double length = std::sqrt(likeness(sum, sum)) + 1e-9;
    for (double& value : sum) value /= length;
  }
  for (Seen& seen : all) {
    int alike = 0;
    for (std::size_t digit = 0; digit < kDigits; ++digit) {
      std::array<double, kDigits> likes{};
      for (std::size_t other = 0; other < kDigits; ++other)
        likes[other] = likeness(seen.digits[digit], mean[other]);
      alike += std::max_element(likes.begin(), likes.end()) - likes.begin() ==
                   static_cast<std::ptrdiff_t>(digit) &&
               likes[digit] > 0.3;
    }
    seen.kept = alike >= 8;
  }
}

}  // namespace

std::vector<Family> find_typefaces(const std::string& folder,
                                   const std::function<void(const std::string&)>& report) {
  if (!fs::is_directory(folder)) throw InputError({folder}, "no such folder");
  std::vector<std::string> paths;
  for (const auto& entry :
       fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied)) {
    const std::string extension = entry.path().extension().string();
    if (entry.is_regular_file() && (extension == ".ttf" || extension == ".otf"))
      paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Seen> all;
  for (const std::string& path : paths) {
    const auto face = formats::Typeface::read(path);
    if (!face) continue;
    Seen seen{*face, {}, true};
    bool whole = true;
    for (int digit = 0; digit < kDigits && whole; ++digit) {
      const formats::Image glyph = face->draw(std::to_string(digit), 40);
      whole = !glyph.pixels.empty();
      if (whole) seen.digits[static_cast<std::size_t>(digit)] = portrait(glyph);
    }
    if (whole) all.push_back(std::move(seen));
  }
  for (int round = 0; round < 3; ++round) leave_out_the_odd(all);
  std::map<std::string, Family> families;
  for (Seen& seen : all) {
    if (!seen.kept) continue;
    const std::string name = family_of(seen.face.path());
    Family& family = families[name];
    family.name = name;
    family.part = part_of(name);
    family.faces.push_back(std::move(seen.face));
  }
  std::vector<Family> result;
  std::size_t faces = 0;
  for (auto& [name, family] : families) {
    faces += family.faces.size();
    result.push_back(std::move(family));
  }
  if (report) {
    report(std::to_string(faces) + " typefaces in " + std::to_string(result.size()) + " families, of " +
           std::to_string(paths.size()) + " files");
  }
  for (const FacePart part : {FacePart::kTrain, FacePart::kValidation, FacePart::kTest}) {
    if (std::none_of(result.begin(), result.end(), [&](const Family& f) { return f.part == part; })) {
      throw InputError({folder},
                       "has typefaces of " + std::to_string(result.size()) +
                           " families, too few to keep some for validation and some for the test",
                       {"install more, for example the Debian packages fonts-*"});
    }
  }
  return result;
}

}  // namespace as2::vision
