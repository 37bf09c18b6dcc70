#include "vision/board_photos.h"

#include <filesystem>

#include "as2/error.h"
#include "files.h"

namespace as2::vision {

PageOptions ordinary_page() {
  PageOptions options;
  options.pitch = 45;
  options.blur = 0.8;
  options.noise = 3;
  options.jpeg = 80;
  options.light_lost = 0.2;
  options.light_from = 1;
  options.tilt = 0.1;
  options.turn = 0.05;
  options.bend = 0.1;
  return options;
}

Page photograph(const sudoku::Board& board, std::size_t k, const datasets::Digits& digits,
                const std::vector<std::vector<std::uint32_t>>& by_label, const BoardPhotoOptions& options) {
  Random random(options.seed, k);
  const std::optional<sudoku::Box> box = sudoku::box_of_cells(board.puzzle.size());
  AS2_REQUIRE(box, "no board has that many cells");
  PageOptions page = ordinary_page();
  page.side = box->side();
  page.turn = 0.52 * (2 * random.unit() - 1);
  page.tilt = 0.52 * random.unit();
  page.tilt_towards = 6.28 * random.unit();
  page.light_lost = 0.5 * random.unit();
  page.light_from = 6.28 * random.unit();
  page.jpeg = 0;
  if (page.side > 9 && options.entries > 0) {
    throw InputError("no one in MNIST has written numbers above 9",
                     {"give no --entries for boards larger than 9x9"});
  }
  std::vector<CellContent> contents;
  std::vector<std::size_t> blank;
  for (const std::uint8_t clue : board.puzzle) {
    if (clue == 0) blank.push_back(contents.size());
    contents.push_back({clue == 0 ? CellContent::kBlank : CellContent::kPrinted, clue});
  }
  if (static_cast<std::size_t>(options.entries) > blank.size() ||
      (options.entries > 0 && board.solution.empty())) {
    throw InputError("board " + std::to_string(k + 1) + " of the list has " + std::to_string(blank.size()) +
                         " blank cells" + (board.solution.empty() ? " and no solution" : "") +
                         ", too few for " + std::to_string(options.entries) + " entries",
                     {"entries are digits of the solution: the list has to give it"});
  }
  for (int entry = 0; entry < options.entries; ++entry) {
    const std::size_t which = random.below(static_cast<std::uint32_t>(blank.size()));
    const std::size_t cell = blank[which];
    blank.erase(blank.begin() + static_cast<std::ptrdiff_t>(which));
    const int right = board.solution[cell];
    contents[cell] = {CellContent::kWritten, entry == 0 ? right % page.side + 1 : right};
  }
  return draw_page(contents, page, {options.face, &digits, &by_label}, random);
}

void photograph_boards(const std::vector<sudoku::Board>& boards, const datasets::Digits& digits,
                       const BoardPhotoOptions& options, const std::string& folder,
                       const std::function<void()>& done) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw_file_error(folder, "cannot be made", error.value());
  const auto by_label = datasets::indices_by_label(digits);
  for (std::size_t k = 0; k < boards.size(); ++k) {
    const Page page = photograph(boards[k], k, digits, by_label, options);
    std::string name = std::to_string(k);
    name = "board-" + std::string(name.size() < 5 ? 5 - name.size() : 0, '0') + name;
    write_file(fs::path(folder) / (name + ".jpg"), formats::encode_jpeg(page.picture, 85));
    std::string clues = "drawn by as2 data render\n" + std::to_string(page.picture.width) + "x" +
                        std::to_string(page.picture.height) + ":8 JPG\n";
    const auto side = static_cast<std::size_t>(page.lattice.side);
    for (std::size_t cell = 0; cell < boards[k].puzzle.size(); ++cell)
      clues += std::to_string(boards[k].puzzle[cell]) + (cell % side + 1 == side ? "\n" : " ");
    write_file(fs::path(folder) / (name + ".dat"), clues);
    if (done) done();
  }
}

}  // namespace as2::vision
