#include <algorithm>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <thread>

#include "datasets/mnist.h"
#include "formats/safetensors.h"
#include "sudoku/board_list.h"
#include "task/examples.h"

namespace as2::task {

namespace fs = std::filesystem;

namespace {

// What the cache keeps: one byte per position, which holds every symbol of a board.
formats::SafeTensor packed(const std::string& name, const std::vector<std::uint8_t>& cells,
                           const Instances& instances) {
  formats::SafeTensor tensor{name, formats::Dtype::kU8, {instances.size(), instances.positions()}, {}};
  tensor.data.resize(cells.size());
  if (!cells.empty()) std::memcpy(tensor.data.data(), cells.data(), cells.size());
  return tensor;
}

// False where the file is not what was written for this program.
bool take_kept(const formats::SafeTensorFile& file, const std::string& program, Instances& instances) {
  const auto of = file.metadata.find("program");
  if (of == file.metadata.end() || of->second != program) return false;
  const formats::SafeTensor *labels = file.find("labels"), *evidence = file.find("evidence");
  for (const formats::SafeTensor* tensor : {labels, evidence}) {
    if (!tensor || formats::size_of(tensor->dtype) != 1 ||
        tensor->shape != std::vector<std::int64_t>{instances.size(), instances.positions()})
      return false;
  }
  const auto byte = [](std::byte value) { return std::to_integer<std::uint8_t>(value); };
  std::transform(labels->data.begin(), labels->data.end(), instances.labels.cells.begin(), byte);
  std::transform(evidence->data.begin(), evidence->data.end(), instances.evidence.cells.begin(), byte);
  return true;
}

const char* const kSameBoxes =
    "boxes have the rows and columns that `data.box` says, those of the program its constants, as in "
    "`--set data.box=3x4 --set 'program.constants=[\"h=3\", \"w=4\"]'`";

void require_cells(const Task& task, std::size_t cells) {
  const std::size_t own = task.evidence_positions().size();
  if (cells == own) return;
  throw InputError(
      "the boards have " + std::to_string(cells) + " cells, the program has " + std::to_string(own),
      {kSameBoxes});
}

// Boards with other boxes than the program's have as many cells all the same. One board shows it.
void refuse_other_rules(const compile::ConstraintProgram& program, const Instances& instances) {
  if (instances.size() == 0) return;
  compile::Assignment first;
  for (std::int64_t position = 0; position < instances.positions(); ++position)
    first.push_back(instances.labels[0][position]);
  if (std::count(first.begin(), first.end(), -1) > 0) return;
  const std::vector<int> violated = compile::violated_groups(program, first);
  if (violated.empty()) return;
  const compile::Group& group = program.groups[static_cast<std::size_t>(violated[0])];
  throw InputError("the boards do not obey the program: the first violates '" +
                       program.families[static_cast<std::size_t>(group.family)].name + "'",
                   {kSameBoxes});
}

}  // namespace

Instances of_boards(const Task& task, const std::vector<sudoku::Board>& boards) {
  const compile::ConstraintProgram& program = task.program();
  const auto count = static_cast<std::int64_t>(boards.size());
  const std::vector<int> cell_positions =
      task.evidence_positions();  // in order, as cells are in reading order
  const std::size_t cells = boards.empty() ? cell_positions.size() : boards[0].puzzle.size();
  require_cells(task, cells);
  Instances instances = Instances::blank(count, static_cast<std::int64_t>(program.positions.size()));
  std::vector<std::vector<std::int16_t>> symbol(cells);  // [cell][digit]
  for (std::size_t cell = 0; cell < cells; ++cell) {
    symbol[cell].push_back(-1);
    const std::size_t side = program.positions[static_cast<std::size_t>(cell_positions[cell])].symbols.size();
    for (std::size_t digit = 1; digit <= side; ++digit) {
      symbol[cell].push_back(
          static_cast<std::int16_t>(program.find_symbol(cell_positions[cell], std::to_string(digit))));
    }
  }
  for (std::int64_t b = 0; b < count; ++b) {
    const sudoku::Board& board = boards[static_cast<std::size_t>(b)];
    const sudoku::Grid& known = board.solution.empty() ? board.puzzle : board.solution;
    for (std::size_t cell = 0; cell < cells; ++cell) {
      instances.labels[b][cell_positions[cell]] = symbol[cell][known[cell]];
      instances.evidence[b][cell_positions[cell]] = board.puzzle[cell] != 0;
    }
  }
  refuse_other_rules(program, instances);
  return instances;
}

Instances generated_boards(const Task& task, Part part, std::int64_t count) {
  const DataConfig& data = task.config().data;
  const std::string& program = task.program().hash;
  sudoku::GenerateOptions options;
  options.box = data.box;
  require_cells(task, static_cast<std::size_t>(options.box.cells()));
  options.min_clues = static_cast<int>(data.min_clues);
  options.max_clues = static_cast<int>(data.max_clues);
  options.seed = part_seed(part);
  options.stop = task.options().stop;
  std::ostringstream name;
  name << "boards-" << sudoku::name_of(options.box) << '-' << options.min_clues << '-' << options.max_clues
       << '-' << options.seed << '-' << count << ".safetensors";
  const fs::path path = fs::path(datasets::cache_folder()) / "boards" / name.str();
  std::error_code none;
  if (fs::exists(path, none)) {
    Instances kept = Instances::blank(count, static_cast<std::int64_t>(task.program().positions.size()));
    if (take_kept(formats::read_safetensors(path), program, kept)) return kept;
  }
  const int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  if (task.options().report && count > 20000)
    task.options().report("generating " + std::to_string(count) + " boards");
  Instances instances =
      of_boards(task, sudoku::generate(options, 0, static_cast<std::size_t>(count), threads));
  if (count > 20000) {
    formats::SafeTensorFile file;
    file.metadata["program"] = program;
    file.tensors = {
        packed("labels", {instances.labels.cells.begin(), instances.labels.cells.end()}, instances),
        packed("evidence", instances.evidence.cells, instances)};
    fs::create_directories(path.parent_path(), none);
    formats::write_safetensors(path, file);
  }
  return instances;
}

Instances read_boards(const Task& task, const std::string& path, const ListOptions& options) {
  std::vector<sudoku::Board> boards = sudoku::read_boards(path), chosen;
  if (boards.empty()) throw InputError({path}, "has no board");
  for (sudoku::Board& board : boards) {
    const int clues = sudoku::clue_count(board.puzzle);
    if (clues < options.min_clues || clues > options.max_clues) continue;
    if (options.count > 0 && static_cast<std::int64_t>(chosen.size()) >= options.count) break;
    if (board.solution.empty()) {
      if (const int solutions = sudoku::count_solutions(board.puzzle); solutions != 1)
        throw InputError(
            {path},
            std::string(solutions == 0 ? "a board has no solution: " : "a board has several solutions: ") +
                sudoku::grid_text(board.puzzle),
            {"leave it out, or write the solution that counts behind it, after a comma"});
      board.solution = *sudoku::solve(board.puzzle);
    }
    chosen.push_back(std::move(board));
  }
  if (chosen.empty()) throw InputError({path}, "has no board with that many clues");
  return of_boards(task, chosen);
}

}  // namespace as2::task
