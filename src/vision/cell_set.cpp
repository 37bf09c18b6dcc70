#include "vision/cell_set.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "as2/error.h"
#include "share_work.h"
#include "vision/cells.h"

namespace as2::vision {
namespace {

constexpr int kParts = 3;
constexpr int kHeldOutDigits = 5000;  // of MNIST's training digits, for validation, as `as2 train` has it
constexpr double kJitter = 0.022;     // of a cell: what finding a lattice leaves

struct Made {
  std::string name;
  formats::Image picture;
};

class Pages {
 public:
  Pages(const std::vector<Family>& families, const datasets::Mnist& mnist, std::uint64_t seed)
      : digits_(mnist), seed_(seed) {
    for (const Family& family : families) families_[static_cast<std::size_t>(family.part)].push_back(&family);
  }

  static int part_of(std::size_t page) {
    const std::size_t place = page % 10;
    return place < 8 ? 0 : static_cast<int>(place) - 7;
  }

  std::vector<Made> make(std::size_t page) const {
    Random random(seed_, page);
    const auto part = static_cast<std::size_t>(part_of(page));
    const auto& families = families_[part];
    const Family& family = *families[random.below(static_cast<std::uint32_t>(families.size()))];
    Pens pens;
    pens.face = &family.faces[random.below(static_cast<std::uint32_t>(family.faces.size()))];
    pens.digits = &digits_.of(part);
    pens.by_label = &digits_.by_label[part];
    const PageOptions options = random_page(random);
    // Printed pages, written pages, and both on one sheet.
    const std::uint32_t kind = random.below(4);
    const bool plain = kind == 1 && random.below(2) == 0;  // not photographed: MNIST's pictures as they are
    const double filled = 0.5 + 0.35 * random.unit(), written = kind == 0 ? 0 : kind == 1 ? 1 : 0.5;
    std::vector<CellContent> contents(static_cast<std::size_t>(options.side * options.side));
    for (CellContent& content : contents) {
      if (random.unit() > filled) continue;
      content.kind = random.unit() < written ? CellContent::kWritten : CellContent::kPrinted;
      content.digit = random.between(0, 9);
    }
    if (plain) return plain_digits(contents, pens, random);
    const Page drawn = draw_page(contents, options, pens, random);
    const auto cells = cut_cells(drawn.picture, jittered(drawn.lattice, kJitter, random), options.dark_ink);
    std::vector<Made> made;
    for (std::size_t k = 0; k < cells.size(); ++k) made.push_back({class_name(contents[k]), cells[k]});
    return made;
  }

 private:
  static std::vector<Made> plain_digits(const std::vector<CellContent>& contents, const Pens& pens,
                                        Random& random) {
    std::vector<Made> made;
    for (const CellContent& content : contents) {
      if (content.kind == CellContent::kBlank) continue;
      const auto& indices = (*pens.by_label)[static_cast<std::size_t>(content.digit)];
      const std::uint32_t index = indices[random.below(static_cast<std::uint32_t>(indices.size()))];
      const std::uint8_t* pixels = pens.digits->image(index);
      made.push_back({class_name(content), {datasets::kDigitSide, datasets::kDigitSide}});
      std::copy_n(pixels, datasets::kDigitPixels, made.back().picture.pixels.begin());
    }
    return made;
  }

  DigitParts digits_;
  std::uint64_t seed_;
  std::array<std::vector<const Family*>, kParts> families_;
};

}  // namespace

DigitParts::DigitParts(const datasets::Mnist& all) : mnist(all) {
  const auto held = static_cast<std::uint32_t>(all.train.size() -
                                               std::min<std::size_t>(kHeldOutDigits, all.train.size() / 10));
  for (const auto& indices : datasets::indices_by_label(all.train)) {
    by_label[0].emplace_back();
    by_label[1].emplace_back();
    for (const std::uint32_t index : indices) by_label[index < held ? 0 : 1].back().push_back(index);
  }
  by_label[2] = datasets::indices_by_label(all.test);
}

std::string class_name(const CellContent& content) {
  if (content.kind == CellContent::kBlank) return "blank";
  return (content.kind == CellContent::kPrinted ? "printed(" : "written(") + std::to_string(content.digit) +
         ")";
}

CellSet make_cells(const std::vector<Family>& families, const datasets::Mnist& mnist,
                   const CellSetOptions& options, const std::function<void(std::size_t)>& report) {
  const Pages pages(families, mnist, options.seed);
  std::map<std::string, std::array<std::vector<formats::Image>, kParts>> found;
  const auto wanted = [&](const std::string& name, int part) {
    const std::size_t all = (name == "blank" ? 8 : 1) * (options.per_class / 10);
    return part == 0 ? 8 * all : all;
  };
  for (const CellContent::Kind kind : {CellContent::kBlank, CellContent::kPrinted, CellContent::kWritten}) {
    for (int digit = 0; digit < (kind == CellContent::kBlank ? 1 : 10); ++digit)
      found[class_name({kind, digit})];
  }
  const auto done = [&] {
    return std::all_of(found.begin(), found.end(), [&](const auto& entry) {
      for (int part = 0; part < kParts; ++part) {
        if (entry.second[static_cast<std::size_t>(part)].size() < wanted(entry.first, part)) return false;
      }
      return true;
    });
  };
  for (std::size_t first = 0; !done();) {
    const std::size_t count = 40;
    std::vector<std::vector<Made>> made(count);
    std::atomic<std::size_t> next{0};
    share_work(static_cast<std::size_t>(options.threads), [&] {
      for (std::size_t k = next++; k < count; k = next++) made[k] = pages.make(first + k);
    });
    for (std::size_t k = 0; k < count; ++k) {
      const int part = Pages::part_of(first + k);
      for (Made& cell : made[k]) {
        auto& list = found[cell.name][static_cast<std::size_t>(part)];
        if (list.size() < wanted(cell.name, part)) list.push_back(std::move(cell.picture));
      }
    }
    first += count;
    if (report) report(count);
  }
  CellSet set;
  for (const auto& [name, parts] : found) {
    std::vector<std::uint8_t>& bytes = set[name];
    const auto add = [&](const formats::Image& cell) {
      bytes.insert(bytes.end(), cell.pixels.begin(), cell.pixels.end());
    };
    for (std::size_t ten = 0; ten < parts[1].size(); ++ten) {
      for (std::size_t k = 0; k < 8; ++k) add(parts[0][8 * ten + k]);
      add(parts[1][ten]);
      add(parts[2][ten]);
    }
  }
  return set;
}

}  // namespace as2::vision
