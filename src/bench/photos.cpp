// How many drawn photos `as2 solve` gets wholly right (every clue read, the answer unique and right) as one
// thing at a time gets worse: turn, perspective, light, size, typeface. Typefaces are those of this machine
// that training never sees (vision/typefaces.h). Before that, what its reader makes of MNIST, and how honest
// the confidence of the network of cells is.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <filesystem>

#include "as2/error.h"
#include "bench/bench.h"
#include "boards/boards.h"
#include "boards/photo_solver.h"
#include "infer/card.h"
#include "native/networks.h"
#include "sudoku/board.h"
#include "vision/board_photos.h"
#include "vision/cell_set.h"
#include "vision/typefaces.h"

namespace as2::bench {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr int kPhotoBoards = 12;
constexpr std::size_t kCalibrationCells = 600;
constexpr double kDegree = 3.14159265358979323846 / 180;

struct Face {
  std::string name;
  const formats::Typeface* face = nullptr;
};

// Six of the families kept for the test, evenly spread over the alphabet.
std::vector<Face> test_faces(const std::vector<vision::Family>& families) {
  std::vector<const vision::Family*> kept;
  for (const vision::Family& family : families) {
    if (family.part == vision::FacePart::kTest) kept.push_back(&family);
  }
  std::vector<Face> faces;
  const std::size_t count = std::min<std::size_t>(6, kept.size());
  for (std::size_t k = 0; k < count; ++k) {
    const formats::Typeface& face = kept[k * kept.size() / count]->faces.front();
    faces.push_back({std::filesystem::path(face.path()).stem().string(), &face});
  }
  return faces;
}

infer::Solver open(const std::string& task, bool with_guide) {
  const infer::Card card = infer::read_card(infer::default_model(task));
  infer::SolverOptions options;
  options.unique = true;
  return native::open_solver(card, infer::load_program(card.program), with_guide, options);
}

// What the reader of photos makes of MNIST's test digits as they are.
Json read_handwriting(const datasets::Digits& digits) {
  infer::Solver board = open("digits", false);
  boards::CellReader reader(open("cells", false), board);
  std::vector<boards::Cell> cells;
  std::vector<formats::Image> pictures;
  for (std::size_t k = 0; k < digits.size(); ++k) {
    formats::Image picture(datasets::kDigitSide, datasets::kDigitSide);
    std::copy_n(digits.image(k), datasets::kDigitPixels, picture.pixels.begin());
    cells.push_back({0, picture});
    pictures.push_back(std::move(picture));
  }
  const std::vector<boards::CellBeliefs> seen = reader.look(cells, [&] { return pictures; });
  int right = 0, written = 0, blank = 0;
  for (std::size_t k = 0; k < seen.size(); ++k) {
    double as_print = 0, as_writing = 0;
    std::vector<double> shown;
    for (std::size_t s = 0; s < seen[k].printed.size(); ++s) {
      as_print += seen[k].printed[s];
      as_writing += seen[k].written[s];
      shown.push_back(seen[k].printed[s] + seen[k].written[s]);
    }
    const auto best = std::max_element(shown.begin(), shown.end());
    const std::string& symbol =
        board.program().positions[0].symbols[static_cast<std::size_t>(best - shown.begin())];
    blank += seen[k].blank >= *best;
    written += seen[k].blank < *best && as_writing > as_print;
    right += seen[k].blank < *best && symbol == std::to_string(digits.labels[k]);
  }
  const auto share = [&](int count) { return 100.0 * count / static_cast<double>(digits.size()); };
  return {row("MNIST's test digits: read", share(right), "%"),
          row("the same: as handwriting", share(written), "%"),
          row("the same: as a blank", share(blank), "%")};
}

// The network of cells by itself.
class Cells {
 public:
  Cells() : Cells(infer::read_card(infer::default_model("cells"))) {}

  // How sure it is and how often it is right, in the typefaces and digits kept for the test, with the
  // temperature that was fitted to those for validation and without: the negative logarithm of the belief in
  // what the cell shows, and the expected calibration error in ten bins.
  Json calibration(const std::vector<vision::Family>& families, const datasets::Mnist& mnist) {
    vision::CellSetOptions options;
    options.per_class = kCalibrationCells;
    options.seed = 20;
    std::vector<infer::Picture> pictures;
    std::vector<std::size_t> shown;
    for (const auto& [name, pixels] : vision::make_cells(families, mnist, options)) {
      const auto symbol = std::find(symbols().begin(), symbols().end(), name) - symbols().begin();
      for (std::size_t k = 9; k < pixels.size() / datasets::kDigitPixels;
           k += 10) {  // the tenth: for the test
        add(pictures, pixels.data() + k * datasets::kDigitPixels);
        shown.push_back(static_cast<std::size_t>(symbol));
      }
    }
    const std::vector<Distribution> calibrated = perceive(pictures);
    std::vector<Distribution> plain = calibrated;
    for (Distribution& beliefs : plain) {
      double sum = 0;
      for (double& belief : beliefs)
        sum += belief = std::pow(belief, static_cast<double>(networks_.perception()->temperature()));
      for (double& belief : beliefs) belief /= sum;
    }
    int right = 0;
    for (std::size_t k = 0; k < shown.size(); ++k) right += best_of(calibrated[k]) == shown[k];
    const std::string cells = "cells in typefaces kept for the test: ";
    return {row(cells + "read", 100.0 * right / static_cast<double>(shown.size()), "%"),
            row("the same: negative log-likelihood", surprise(calibrated, shown), "nats"),
            row("the same, without the temperature", surprise(plain, shown), "nats"),
            row("the same: calibration error", 100 * calibration_error(calibrated, shown), "%"),
            row("the same, without the temperature", 100 * calibration_error(plain, shown), "%")};
  }

 private:
  using Distribution = std::vector<double>;

  explicit Cells(const infer::Card& card) : networks_(card, infer::load_program(card.program), {}) {}

  const std::vector<std::string>& symbols() const { return networks_.program().positions[0].symbols; }

  static void add(std::vector<infer::Picture>& pictures, const std::uint8_t* pixels) {
    pictures.push_back({0, {pixels, pixels + datasets::kDigitPixels}});
  }

  std::vector<Distribution> perceive(const std::vector<infer::Picture>& pictures) {
    std::vector<const infer::Picture*> all;
    for (const infer::Picture& picture : pictures) all.push_back(&picture);
    return networks_.perceive(all);
  }

  static std::size_t best_of(const Distribution& beliefs) {
    return static_cast<std::size_t>(std::max_element(beliefs.begin(), beliefs.end()) - beliefs.begin());
  }

  static double surprise(const std::vector<Distribution>& beliefs, const std::vector<std::size_t>& shown) {
    double sum = 0;
    for (std::size_t k = 0; k < shown.size(); ++k) sum -= std::log(std::max(beliefs[k][shown[k]], 1e-12));
    return sum / static_cast<double>(shown.size());
  }

  static double calibration_error(const std::vector<Distribution>& beliefs,
                                  const std::vector<std::size_t>& shown) {
    std::array<double, 10> off{};  // of each bin: how sure, summed, less how often right
    for (std::size_t k = 0; k < shown.size(); ++k) {
      const std::size_t best = best_of(beliefs[k]);
      const double sure = beliefs[k][best];
      off[std::min<std::size_t>(9, static_cast<std::size_t>(10 * sure))] += sure - (best == shown[k]);
    }
    double sum = 0;
    for (const double bin : off) sum += std::abs(bin);
    return sum / static_cast<double>(shown.size());
  }

  native::Networks networks_;
};

class Sweep {
 public:
  explicit Sweep(std::vector<vision::Family> families)
      : families_(std::move(families)),
        faces_(test_faces(families_)),
        solver_(open("sudoku", true)),
        photos_(solver_, [] { return open("cells", false); }) {
    sudoku::GenerateOptions options;
    options.seed = 20;
    options.min_clues = 26;
    options.max_clues = 34;
    boards_ = sudoku::generate(options, 0, kPhotoBoards);
  }

  Json run(const ReportStep& progress) {
    progress_ = progress;
    for (int degrees = 0; degrees < 360; degrees += 30)
      add("turned by " + std::to_string(degrees) + " degrees",
          [&](vision::PageOptions& o) { o.turn = degrees * kDegree; });
    for (int degrees = 0; degrees <= 50; degrees += 10)
      add("seen askance by " + std::to_string(degrees) + " degrees", [&](vision::PageOptions& o) {
        o.tilt = degrees * kDegree;
        o.tilt_towards = 0.7;
      });
    for (const int percent : {0, 20, 40, 60, 80, 90})
      add(std::to_string(percent) + " % of the light lost across",
          [&](vision::PageOptions& o) { o.light_lost = percent / 100.0; });
    for (const int pixels : {200, 300, 400, 800, 1600, 4000})
      add(std::to_string(pixels) + " pixels a side", [&](vision::PageOptions& o) {
        o.turn = 0.02;
        o.pitch = pixels / 11.3;
        o.blur = 0.015 * o.pitch;
      });
    for (const Face& face : faces_) {
      only_ = &face;
      add("typeface " + face.name, [](vision::PageOptions&) {});
    }
    only_ = nullptr;
    rows_.push_back(
        row("confidently wrong answers", wrong_, "", "at most 1 in 40", wrong_ * 40 <= photos_seen_));
    rows_.push_back(row("one photo, mean", 1000 * seconds_ / photos_seen_, "ms"));
    return {{"photos", photos_seen_}, {"rows", rows_}};
  }

 private:
  template <class Change>
  void add(const std::string& name, const Change& change) {
    int right = 0;
    if (progress_) progress_(name);
    for (int k = 0; k < kPhotoBoards; ++k) {
      Random random(77, static_cast<std::uint64_t>(k));
      vision::PageOptions options = vision::ordinary_page();
      change(options);
      vision::Pens pens;
      pens.face = only_ ? only_->face : faces_[static_cast<std::size_t>(k) % faces_.size()].face;
      right += solve(boards_[static_cast<std::size_t>(k)], options, pens, random);
    }
    rows_.push_back(row(name, 100.0 * right / kPhotoBoards, "%"));
  }

  bool solve(const sudoku::Board& board, const vision::PageOptions& options, const vision::Pens& pens,
             Random& random) {
    std::vector<vision::CellContent> contents;
    for (const std::uint8_t clue : board.puzzle)
      contents.push_back({clue == 0 ? vision::CellContent::kBlank : vision::CellContent::kPrinted, clue});
    const vision::Page page = vision::draw_page(contents, options, pens, random);
    ++photos_seen_;
    const auto start = Clock::now();
    bool right = false;
    try {
      const boards::PhotoAnswer found = photos_.solve(vision::read_photo(page.picture, "page", 9), "page");
      if (found.answer.completable && found.answer.unique.value_or(false)) {
        const bool agrees = boards::digits_of(solver_, found.answer) == board.solution;
        wrong_ += !agrees;
        right = agrees;
        for (std::size_t k = 0; k < board.puzzle.size(); ++k)
          right = right && found.blank[k] == (board.puzzle[k] == 0);
      }
    } catch (const InputError&) {
    }
    seconds_ += std::chrono::duration<double>(Clock::now() - start).count();
    return right;
  }

  ReportStep progress_;
  std::vector<vision::Family> families_;
  std::vector<Face> faces_;
  const Face* only_ = nullptr;
  infer::Solver solver_;
  boards::PhotoSolver photos_;
  std::vector<sudoku::Board> boards_;
  Json rows_ = Json::array();
  int photos_seen_ = 0, wrong_ = 0;
  double seconds_ = 0;
};

}  // namespace

Json measure_photos(const Options& options, const ReportStep& progress) {
  if (progress) progress("MNIST's test digits");
  const datasets::Mnist mnist = datasets::load_mnist({});
  Json rows = read_handwriting(mnist.test);
  std::vector<vision::Family> families;
  try {
    families = vision::find_typefaces(options.fonts);
  } catch (const InputError& error) {  // a machine without fonts
    return {{"skipped", error.what()}, {"rows", rows}};
  }
  if (progress) progress("cells in typefaces kept for the test");
  for (const Json& row : Cells().calibration(families, mnist)) rows.push_back(row);
  Json result = Sweep(std::move(families)).run(progress);
  result["rows"].insert(result["rows"].begin(), rows.begin(), rows.end());
  return result;
}

}  // namespace as2::bench
