#include "task/task.h"

#include <algorithm>
#include <numeric>

#include "compile/position_hints.h"
#include "datasets/mnist.h"
#include "infer/grounding.h"
#include "sudoku/board_list.h"
#include "task/picture_folder.h"
#include "task/sources.h"
#include "text.h"

namespace as2::task {
namespace {

// `count` digits from `first` on.
std::shared_ptr<const ImagePool> pool_of(const datasets::Digits& digits, std::size_t first,
                                         std::size_t count) {
  const auto rows = static_cast<std::ptrdiff_t>(first), end = static_cast<std::ptrdiff_t>(first + count);
  Table<std::uint8_t> pixels;
  pixels.rows = static_cast<std::int64_t>(count);
  pixels.columns = datasets::kDigitPixels;
  pixels.cells.assign(digits.pixels.begin() + rows * datasets::kDigitPixels,
                      digits.pixels.begin() + end * datasets::kDigitPixels);
  return std::make_shared<const ImagePool>(
      ImagePool::of(pixels, {digits.labels.begin() + rows, digits.labels.begin() + end}));
}

}  // namespace

Task::Task(const TaskConfig& config, const TaskOptions& options) : config_(config), options_(options) {
  std::vector<asp::Warning> warnings;
  program_ = infer::load_program(config.program, options.grounding, &warnings);
  if (options.warn) std::for_each(warnings.begin(), warnings.end(), options.warn);
  for (auto& part : parts_) part = std::make_shared<const ImagePool>();
  if (program_->positions.empty()) {
    SourceLocation place;
    place.file = config.program.file;
    place.line = 1;
    throw InputError(
        place, "the program has no position: nothing in it is chosen, and there is nothing to learn",
        {"say what is open with a choice rule, for example `{ cell(R,C,V) : V=1..9 } = 1 :- R=1..9, "
         "C=1..9.`"});
  }
  supervision_ = read_supervision(*program_, config.labelled, config.observed, config.label_place);
  if (!supervision_.atoms.empty() && (config.data.symmetries || config.data.path_share > 0)) {
    throw InputError("labels.observed names the derived atom " + supervision_.atoms.front().name +
                         ", whose truth data.symmetries and data.path_share do not carry over",
                     {"set data.symmetries = false and data.path_share = 0"});
  }
  for (const std::string& pattern : config.images.positions) {
    if (std::none_of(
            program_->positions.begin(), program_->positions.end(),
            [&](const compile::Position& position) { return infer::matches(pattern, position.name); }))
      throw InputError("images.positions: no position of the program matches " + in_quotes(pattern),
                       {compile::position_names(*program_)});
  }
  if (!config.images.positions.empty()) {
    load_pictures();
  } else if (source_of(config.data.source).names_pictures) {
    throw InputError("data.source is \"" + config.data.source + "\", but no position has pictures",
                     {"say which have: images.positions = [\"digit(*\"]"});
  }
  map_ = infer::map_pictures(*program_, config.images.positions, classes_);
  if (config.data.source == "images" && map_.positions.size() != 1) {
    throw InputError("data.source is \"images\", where an example is one picture, but " +
                         std::to_string(map_.positions.size()) + " positions have pictures",
                     {"set data.source = \"tuples\", or name a single position in images.positions"});
  }
}

void Task::load_pictures() {
  if (config_.images.source == "mnist") return load_mnist();
  if (config_.images.source == kNamedPictures) return name_classes();
  const PictureFolder folder = read_picture_folder(config_.images.source);
  for (const Part part : {Part::kTrain, Part::kValidation, Part::kTest}) {
    const int number = static_cast<int>(part);
    parts_[number] =
        std::make_shared<const ImagePool>(ImagePool::of(folder.pixels[number], folder.classes[number]));
  }
  classes_ = folder.names;
}

void Task::load_mnist() {
  for (int digit = 0; digit < 10; ++digit) classes_.push_back(std::to_string(digit));
  if (!options_.with_pictures) return;
  datasets::MnistOptions options;
  options.dir = options_.data_dir;
  options.fetch = options_.data_dir.empty();
  options.report = options_.report;
  options.stop = options_.stop;
  const datasets::Mnist mnist = datasets::load_mnist(options);
  const std::size_t all = mnist.train.size(), kept = all - static_cast<std::size_t>(kValidationDigits);
  if (source_of(config_.data.source).names_pictures) {
    parts_[0] = parts_[1] = pool_of(mnist.train, 0, all);  // the examples keep the parts apart
  } else {
    parts_[0] = pool_of(mnist.train, 0, kept);
    parts_[1] = pool_of(mnist.train, kept, all - kept);
  }
  parts_[2] = pool_of(mnist.test, 0, mnist.test.size());
}

// Nothing else says what pictures can show: the symbols of the positions that have them.
void Task::name_classes() {
  if (config_.data.source != "instances") {
    throw InputError("images.source is \"files\", but data.source is \"" + config_.data.source +
                         "\", whose examples name no files",
                     {"set data.source = \"instances\", with \"images\" in the lines of data.path"});
  }
  for (const compile::Position& position : program_->positions) {
    if (!infer::matches_any(config_.images.positions, position.name)) continue;
    for (const std::string& symbol : position.symbols) {
      if (std::find(classes_.begin(), classes_.end(), symbol) == classes_.end()) classes_.push_back(symbol);
    }
  }
}

std::pair<std::int64_t, std::int64_t> Task::picture_range(Part part) const {
  const std::int64_t all = pool(part).size();
  const bool shared = config_.images.source == "mnist" && source_of(config_.data.source).names_pictures;
  return {shared && part == Part::kValidation ? all - kValidationDigits : 0,
          shared && part == Part::kTrain ? all - kValidationDigits : all};
}

std::vector<int> Task::evidence_positions() const {
  if (!map_.positions.empty()) return map_.positions;
  std::vector<int> all(program_->positions.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

Instances Task::instances(Part part, std::int64_t count) const {
  return supervised(source_of(config_.data.source).make(*this, part, count), part);
}

Instances Task::supervised(const Instances& instances, Part part) const {
  return task::supervised(program_, supervision_, instances, /*use_all=*/part == Part::kTest);
}

Instances Task::listed(Part part) const {
  const DataConfig& data = config_.data;
  if (!source_of(data.source).uses("path_share")) return {};
  if (data.path.empty()) {
    if (data.path_share > 0 || data.path_hints > 0 || data.path_validation > 0) {
      throw InputError(
          "data.path_share, data.path_hints and data.path_validation have no effect without a list of boards",
          {"set data.path to a list of puzzles"});
    }
    return {};
  }
  if (data.path_share == 0) {
    throw InputError({data.path}, "a list of boards has no effect while data.path_share is 0",
                     {"data.path_share is the share of every batch that the list gives"});
  }
  const std::vector<sudoku::Board> boards = sudoku::read_unique_boards(data.path);
  const auto all = static_cast<std::int64_t>(boards.size());
  if (all <= data.path_validation) {
    throw InputError({data.path}, "has " + std::to_string(all) + " boards, and data.path_validation = " +
                                      std::to_string(data.path_validation) + " leaves none to train on");
  }
  const auto split = boards.begin() + (all - data.path_validation);
  return supervised(part == Part::kTrain ? of_boards(*this, {boards.begin(), split})
                                         : of_boards(*this, {split, boards.end()}),
                    part);
}

}  // namespace as2::task
