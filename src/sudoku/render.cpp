#include "sudoku/render.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "as2/error.h"
#include "files.h"
#include "json_text.h"
#include "sudoku/board_list.h"

namespace as2::sudoku {

CellImages choose_images(const Grid& puzzle, const std::vector<std::vector<std::uint32_t>>& by_label,
                         Random& random) {
  CellImages cells(puzzle.size(), kBlank);
  for (std::size_t k = 0; k < puzzle.size(); ++k) {
    const std::uint8_t digit = puzzle[k];
    if (digit == 0) continue;
    if (digit > 9 || by_label[digit].empty()) {
      throw InputError("there is no MNIST image of the digit " + std::to_string(digit),
                       {"boards of up to 9x9 can be drawn in MNIST's hand; `--photos` prints larger ones"});
    }
    const auto& choices = by_label[digit];
    cells[k] = static_cast<std::int32_t>(choices[random.below(static_cast<std::uint32_t>(choices.size()))]);
  }
  return cells;
}

formats::Image render_board(const CellImages& cells, const datasets::Digits& digits) {
  const std::optional<Box> box = box_of_cells(cells.size());
  AS2_REQUIRE(box, "no board has that many cells");
  const int side = box->side();
  formats::Image image(side * datasets::kDigitSide, side * datasets::kDigitSide);
  for (int k = 0; k < side * side; ++k) {
    if (cells[k] == kBlank) continue;
    formats::Image digit(datasets::kDigitSide, datasets::kDigitSide);
    const std::uint8_t* pixels = digits.image(static_cast<std::size_t>(cells[k]));
    digit.pixels.assign(pixels, pixels + datasets::kDigitPixels);
    formats::paste(image, digit, k % side * datasets::kDigitSide, k / side * datasets::kDigitSide);
  }
  return image;
}

void render_boards(const std::vector<Board>& boards, const datasets::Mnist& mnist, datasets::Split split,
                   std::uint64_t seed, const std::string& folder, const std::function<void()>& done) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw_file_error(folder, "cannot be made", error.value());
  const datasets::Digits& digits = mnist.of(split);
  const auto by_label = datasets::indices_by_label(digits);
  std::string labels;
  for (std::size_t k = 0; k < boards.size(); ++k) {
    Random random(seed, k);
    const CellImages cells = choose_images(boards[k].puzzle, by_label, random);
    std::string name = std::to_string(k);
    name = "board-" + std::string(name.size() < 5 ? 5 - name.size() : 0, '0') + name + ".png";
    formats::write_png((fs::path(folder) / name).string(), render_board(cells, digits));
    nlohmann::ordered_json label = {{"file", name},
                                    {"split", split == datasets::Split::kTrain ? "train" : "test"},
                                    {"puzzle", grid_text(boards[k].puzzle)}};
    label["solution"] = nullptr;
    if (!boards[k].solution.empty()) label["solution"] = grid_text(boards[k].solution);
    label["images"] = cells;
    labels += json_text(label) + "\n";
    if (done) done();
  }
  write_file(fs::path(folder) / "labels.jsonl", labels);
}

}  // namespace as2::sudoku
