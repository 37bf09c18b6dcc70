#include "train/task.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <thread>

#include "as2/compile.h"
#include "as2/decoder.h"
#include "datasets/mnist.h"
#include "files.h"
#include "nn/model.h"
#include "train/answers.h"
#include "train/picture_folder.h"

namespace as2::train {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Seeds of what is generated for each part: the same examples in every run, whatever its seed.
std::uint64_t seed_of(Part part) {
  return 1000 + static_cast<std::uint64_t>(part);
}

Instances blank_instances(std::int64_t count, std::int64_t positions) {
  return {
      torch::full({count, positions}, -1, torch::kInt16), torch::zeros({count, positions}, torch::kBool), {}};
}

torch::Tensor matching(const compile::ConstraintProgram& program, const std::vector<std::string>& patterns) {
  torch::Tensor mask = torch::zeros({static_cast<std::int64_t>(program.positions.size())}, torch::kBool);
  for (std::size_t position = 0; position < program.positions.size(); ++position) {
    for (const std::string& pattern : patterns) {
      if (matches(pattern, program.positions[position].name))
        mask[static_cast<std::int64_t>(position)] = true;
    }
  }
  return mask;
}

std::pair<torch::Tensor, torch::Tensor> tensors_of(const datasets::Digits& digits) {
  const auto count = static_cast<std::int64_t>(digits.size());
  torch::Tensor pixels = torch::empty({count, 28, 28}, torch::kUInt8);
  std::copy(digits.pixels.begin(), digits.pixels.end(), pixels.data_ptr<std::uint8_t>());
  torch::Tensor labels = torch::empty({count}, torch::kUInt8);
  std::copy(digits.labels.begin(), digits.labels.end(), labels.data_ptr<std::uint8_t>());
  return {pixels, labels.to(torch::kInt64)};
}

}  // namespace

compile::ConstraintProgram load_program(const ProgramConfig& config) {
  asp::GroundOptions options;
  std::error_code none;
  if (!config.compiled.empty() && fs::exists(config.compiled, none)) {
    return compile::compile_files({config.compiled}, options).program;
  }
  options.constants = config.constants;
  return compile::compile_files({config.file}, options).program;
}

Task::Task(const Config& config, const TaskOptions& options)
    : config_(config), options_(options), program_(load_program(config.program)) {
  if (program_.positions.empty()) {
    SourceLocation place;
    place.file = config.program.file;
    place.line = 1;
    throw InputError(
        place, "the program has no position: nothing in it is chosen, and there is nothing to learn",
        {"say what is open with a choice rule, for example `{ cell(R,C,V) : V=1..9 } = 1 :- R=1..9, "
         "C=1..9.`"});
  }
  observed_ = matching(program_, config.observed);
  labelled_ = matching(program_, config.labelled);
  if (!config.images.positions.empty()) load_pictures();
  map_pictures();
}

void Task::load_pictures() {
  if (config_.images.source != "mnist") {
    PictureFolder folder = read_picture_folder(config_.images.source);
    for (const Part part : {Part::kTrain, Part::kValidation, Part::kTest}) {
      const int number = static_cast<int>(part);
      parts_[number] = ImagePool::of(folder.pixels[number], folder.classes[number], folder.names);
    }
    classes_ = folder.names;
    return;
  }
  for (int digit = 0; digit < 10; ++digit) classes_.push_back(std::to_string(digit));
  datasets::MnistOptions options;
  options.dir = options_.data_dir;
  options.fetch = options_.data_dir.empty();
  options.report = options_.report;
  options.stop = options_.stop;
  const datasets::Mnist mnist = datasets::load_mnist(options);
  const auto [pixels, labels] = tensors_of(mnist.train);
  const std::int64_t kept = pixels.size(0) - kValidationDigits;
  if (config_.data.source == "tuples" || config_.data.source == "images") {
    // Examples name their pictures, so the examples keep the parts apart.
    parts_[0] = parts_[1] = ImagePool::of(pixels, labels, classes_);
  } else {
    parts_[0] = ImagePool::of(pixels.narrow(0, 0, kept), labels.narrow(0, 0, kept), classes_);
    parts_[1] = ImagePool::of(pixels.narrow(0, kept, kValidationDigits),
                              labels.narrow(0, kept, kValidationDigits), classes_);
  }
  const auto [test_pixels, test_labels] = tensors_of(mnist.test);
  parts_[2] = ImagePool::of(test_pixels, test_labels, classes_);
}

void Task::map_pictures() {
  const auto positions = static_cast<std::int64_t>(program_.positions.size());
  const auto none = static_cast<std::int64_t>(classes_.size());
  map_.class_of = torch::full({positions, program_.max_symbols()}, none, torch::kInt64);
  const torch::Tensor wanted = matching(program_, config_.images.positions);
  for (std::int64_t position = 0; position < positions; ++position) {
    if (!wanted[position].item<bool>()) continue;
    map_.positions.push_back(static_cast<int>(position));
    const compile::Position& declared = program_.positions[static_cast<std::size_t>(position)];
    for (std::size_t symbol = 0; symbol < declared.symbols.size(); ++symbol) {
      const auto found = std::find(classes_.begin(), classes_.end(), declared.symbols[symbol]);
      if (found == classes_.end()) {
        throw InputError("position " + declared.name + " has the symbol " + declared.symbols[symbol] +
                             ", and no picture shows it",
                         {"pictures come from " + config_.images.source +
                          "; a class is named as clingo prints the symbol"});
      }
      map_.class_of[position][static_cast<std::int64_t>(symbol)] = found - classes_.begin();
    }
  }
  if (map_.positions.empty() && !config_.images.positions.empty()) {
    throw InputError("no position of the program matches images.positions",
                     {"positions are named like " + program_.positions.at(0).name});
  }
}

ImagePool Task::pool(Part part) const {
  return parts_[static_cast<int>(part)];
}

Instances Task::instances(Part part, std::int64_t count) const {
  Instances instances;
  if (config_.data.source == "boards") {
    instances = generated_boards(part, count);
  } else if (config_.data.source == "images") {
    instances = single_pictures(part, count);
  } else if (config_.data.source == "answers") {
    instances =
        sampled_answers(program_, evidence_positions(), count, static_cast<int>(config_.data.min_clues),
                        static_cast<int>(config_.data.max_clues), seed_of(part));
  } else {
    const bool tuples = config_.data.source == "tuples";
    if (tuples && (config_.data.path.empty() || part == Part::kTest)) {  // a list names training pictures
      instances = generated_tuples(part, count);
    } else if (config_.data.path.empty()) {
      throw InputError("data.source is \"instances\", but there is no data.path",
                       {"give a file of JSON lines, {\"labels\": {position: symbol, …}}"});
    } else {
      // A file's last examples are for validation.
      instances = tuples ? read_tuples(config_.data.path, part) : read_instances(config_.data.path);
      const std::int64_t all = instances.size(), held = std::min(config_.data.validation, all / 2);
      const std::int64_t first = part == Part::kTrain ? 0 : all - held;
      const std::int64_t size = part == Part::kTrain ? std::min(count, all - held) : held;
      instances = {
          instances.labels.narrow(0, first, size), instances.evidence.narrow(0, first, size),
          instances.pictures.defined() ? instances.pictures.narrow(0, first, size) : instances.pictures};
    }
  }
  if (part != Part::kTest) hide_labels(instances);
  return instances;
}

std::vector<int> Task::evidence_positions() const {
  if (!map_.positions.empty()) return map_.positions;
  std::vector<int> all(program_.positions.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

void Task::hide_labels(Instances& instances) const {
  instances.labels = torch::where(labelled_, instances.labels, torch::full_like(instances.labels, -1));
}

Instances Task::of_boards(const std::vector<sudoku::Board>& boards) const {
  const auto count = static_cast<std::int64_t>(boards.size());
  const std::vector<int> cell_positions = evidence_positions();  // in order, as cells are in reading order
  const std::size_t cells = boards.empty() ? cell_positions.size() : boards[0].puzzle.size();
  if (cells != cell_positions.size()) {
    throw InputError("the boards have " + std::to_string(cells) + " cells, the program has " +
                     std::to_string(cell_positions.size()));
  }
  Instances instances = blank_instances(count, static_cast<std::int64_t>(program_.positions.size()));
  auto labels = instances.labels.accessor<std::int16_t, 2>();
  auto evidence = instances.evidence.accessor<bool, 2>();
  std::vector<std::vector<std::int16_t>> symbol(cells);  // [cell][digit]
  for (std::size_t cell = 0; cell < cells; ++cell) {
    symbol[cell].push_back(-1);
    const std::size_t side =
        program_.positions[static_cast<std::size_t>(cell_positions[cell])].symbols.size();
    for (std::size_t digit = 1; digit <= side; ++digit) {
      symbol[cell].push_back(
          static_cast<std::int16_t>(program_.find_symbol(cell_positions[cell], std::to_string(digit))));
    }
  }
  for (std::int64_t b = 0; b < count; ++b) {
    const sudoku::Board& board = boards[static_cast<std::size_t>(b)];
    const sudoku::Grid& known = board.solution.empty() ? board.puzzle : board.solution;
    for (std::size_t cell = 0; cell < cells; ++cell) {
      labels[b][cell_positions[cell]] = symbol[cell][known[cell]];
      evidence[b][cell_positions[cell]] = board.puzzle[cell] != 0;
    }
  }
  return instances;
}

Instances Task::generated_boards(Part part, std::int64_t count) const {
  sudoku::GenerateOptions options;
  options.box = static_cast<int>(config_.data.box);
  options.min_clues = static_cast<int>(config_.data.min_clues);
  options.max_clues = static_cast<int>(config_.data.max_clues);
  options.seed = seed_of(part);
  std::ostringstream name;
  name << "boards-" << options.box << '-' << options.min_clues << '-' << options.max_clues << '-'
       << options.seed << '-' << count << ".safetensors";
  const fs::path path = fs::path(datasets::cache_folder()) / "boards" / name.str();
  std::error_code none;
  if (fs::exists(path, none)) {
    const formats::SafeTensorFile file = formats::read_safetensors(path);
    const formats::SafeTensor *labels = file.find("labels"), *evidence = file.find("evidence");
    if (labels && evidence && file.metadata.count("program") &&
        file.metadata.at("program") == program_.hash) {
      return {nn::unpack(*labels).to(torch::kInt16), nn::unpack(*evidence).to(torch::kBool), {}};
    }
  }
  const int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  if (options_.report && count > 20000) options_.report("generating " + std::to_string(count) + " boards");
  Instances instances = of_boards(sudoku::generate(options, 0, static_cast<std::size_t>(count), threads));
  if (count > 20000) {
    formats::SafeTensorFile file;
    file.metadata["program"] = program_.hash;
    file.tensors = {nn::pack("labels", instances.labels.to(torch::kUInt8)),
                    nn::pack("evidence", instances.evidence)};
    fs::create_directories(path.parent_path(), none);
    formats::write_safetensors(path, file);
  }
  return instances;
}

// MNIST's training and validation digits share one pool; this range keeps their examples apart.
std::pair<std::int64_t, std::int64_t> Task::picture_range(Part part) const {
  const std::int64_t all = parts_[static_cast<int>(part)].pixels.size(0);
  const bool shared = config_.images.source == "mnist";
  return {shared && part == Part::kValidation ? all - kValidationDigits : 0,
          shared && part == Part::kTrain ? all - kValidationDigits : all};
}

Instances Task::single_pictures(Part part, std::int64_t count) const {
  const auto [first, last] = picture_range(part);
  std::vector<std::vector<std::int64_t>> pictures;
  for (std::int64_t picture = first; picture < std::min(last, first + count); ++picture)
    pictures.push_back({picture});
  return of_tuples(pictures, part);
}

Instances Task::generated_tuples(Part part, std::int64_t count) const {
  const auto [first, last] = picture_range(part);
  std::vector<std::int64_t> order(static_cast<std::size_t>(last - first));
  std::iota(order.begin(), order.end(), first);
  Random random(seed_of(part));
  std::vector<std::vector<std::int64_t>> pictures(static_cast<std::size_t>(count));
  std::size_t next = order.size();
  for (auto& tuple : pictures) {
    for (std::size_t n = 0; n < map_.positions.size(); ++n) {
      if (next == order.size()) {  // every picture is used once before any is used again
        random.shuffle(order.begin(), static_cast<std::uint32_t>(order.size()));
        next = 0;
      }
      tuple.push_back(order[next++]);
    }
  }
  return of_tuples(pictures, part);
}

// The pictures' symbols are their classes; the other positions hold what the program then says.
Instances Task::of_tuples(const std::vector<std::vector<std::int64_t>>& pictures, Part part) const {
  const ImagePool& pool = parts_[static_cast<int>(part)];
  const auto count = static_cast<std::int64_t>(pictures.size()),
             width = static_cast<std::int64_t>(program_.max_symbols());
  const auto positions = static_cast<std::int64_t>(program_.positions.size());
  Instances instances = blank_instances(count, positions);
  instances.pictures = torch::full({count, positions}, -1, torch::kInt32);
  auto labels = instances.labels.accessor<std::int16_t, 2>();
  auto evidence = instances.evidence.accessor<bool, 2>();
  auto chosen = instances.pictures.accessor<std::int32_t, 2>();
  const auto place = pool.place.accessor<std::int64_t, 1>();
  const auto classes = pool.classes.accessor<std::int64_t, 1>();
  const auto class_of = map_.class_of.accessor<std::int64_t, 2>();
  const bool complete = static_cast<std::size_t>(positions) > map_.positions.size();
  const decode::Decoder decoder(program_);
  std::map<std::vector<std::int64_t>, compile::Assignment> completions;
  for (std::int64_t n = 0; n < count; ++n) {
    std::vector<std::int64_t> shown;
    for (std::size_t k = 0; k < map_.positions.size(); ++k) {
      const std::int64_t where = place[pictures[static_cast<std::size_t>(n)][k]];
      const int position = map_.positions[k];
      chosen[n][position] = static_cast<std::int32_t>(where);
      evidence[n][position] = true;
      std::int64_t symbol = 0;
      while (symbol < width && class_of[position][symbol] != classes[where]) ++symbol;
      if (symbol == width) {
        throw InputError("a picture of " + classes_[static_cast<std::size_t>(classes[where])] +
                         " cannot stand at " + program_.positions[static_cast<std::size_t>(position)].name);
      }
      labels[n][position] = static_cast<std::int16_t>(symbol);
      shown.push_back(symbol);
    }
    if (!complete) continue;
    compile::Assignment& whole = completions[shown];
    if (whole.empty()) {
      decode::Query query{decode::Beliefs(static_cast<std::size_t>(positions * width), 1.0)};
      for (std::size_t k = 0; k < shown.size(); ++k) {
        query.pins.push_back({map_.positions[k], static_cast<int>(shown[k])});
      }
      const decode::Decoded decoded = decoder.decode(query);
      if (decoded.models.empty()) {
        throw InputError("the program allows no answer for some of the tuples",
                         {"list examples that it allows with data.source = \"instances\""});
      }
      whole = decoded.models[0].assignment;
    }
    for (std::int64_t position = 0; position < positions; ++position) {
      labels[n][position] = static_cast<std::int16_t>(whole[static_cast<std::size_t>(position)]);
    }
  }
  return instances;
}

Instances Task::read_tuples(const std::string& path, Part part) const {
  const std::int64_t all = parts_[static_cast<int>(part)].pixels.size(0);
  const std::size_t arity = map_.positions.size();
  std::vector<std::vector<std::int64_t>> pictures;
  std::vector<std::int64_t> sums;
  std::vector<int> numbers;  // their line numbers
  std::istringstream lines(read_file(path));
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::vector<std::int64_t> values;
    for (std::int64_t value; words >> value;) values.push_back(value);
    if (!words.eof() || values.size() != arity + 1) {
      throw InputError({path, number}, "found '" + line + "', expected " + std::to_string(arity) +
                                           " picture indices and their sum");
    }
    sums.push_back(values.back());
    numbers.push_back(number);
    values.pop_back();
    for (const std::int64_t value : values) {
      if (value < 0 || value >= all) {
        throw InputError({path, number}, "picture " + std::to_string(value) + " is not one of 0 to " +
                                             std::to_string(all - 1));
      }
    }
    pictures.push_back(values);
  }
  if (pictures.empty()) throw InputError({path}, "has no line of picture indices and their sum");
  Instances instances = of_tuples(pictures, part);
  for (std::size_t position = 0; position < program_.positions.size(); ++position) {
    if (!observed_[static_cast<std::int64_t>(position)].item<bool>()) continue;
    const auto symbols = instances.labels.select(1, static_cast<std::int64_t>(position));
    for (std::size_t n = 0; n < sums.size(); ++n) {
      const auto symbol =
          static_cast<std::size_t>(symbols[static_cast<std::int64_t>(n)].item<std::int16_t>());
      if (program_.positions[position].symbols[symbol] != std::to_string(sums[n])) {
        throw InputError({path, numbers[n]}, "the sum is " + program_.positions[position].symbols[symbol] +
                                                 ", not " + std::to_string(sums[n]));
      }
    }
  }
  return instances;
}

Instances Task::read_instances(const std::string& path) const {
  std::vector<json> examples;
  std::istringstream lines(read_file(path));
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (line.empty()) continue;
    json example = json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!example.is_object() || !example.contains("labels") || !example["labels"].is_object()) {
      throw InputError({path, number}, "expected {\"labels\": {position: symbol, …}}");
    }
    const json evidence = example.value("evidence", json::array());
    if (!evidence.is_array() ||
        !std::all_of(evidence.begin(), evidence.end(), [](const json& name) { return name.is_string(); })) {
      throw InputError({path, number},
                       "\"evidence\" is " + evidence.dump() + ", expected a list of positions");
    }
    example["line"] = number;
    examples.push_back(std::move(example));
  }
  if (examples.empty())
    throw InputError({path}, "has no example", {"a line is {\"labels\": {position: symbol, …}}"});
  Instances instances = blank_instances(static_cast<std::int64_t>(examples.size()),
                                        static_cast<std::int64_t>(program_.positions.size()));
  for (std::size_t n = 0; n < examples.size(); ++n) {
    const json& example = examples[n];
    const SourceLocation where{path, example["line"]};
    const auto position_of = [&](const std::string& name) {
      const int position = program_.find_position(name);
      if (position < 0) {
        throw InputError(where, "the program has no position '" + name + "'",
                         {"positions are named like " + program_.positions.at(0).name});
      }
      return position;
    };
    for (const auto& [name, symbol] : example["labels"].items()) {
      const int position = position_of(name);
      const std::string text = symbol.is_string() ? symbol.get<std::string>() : symbol.dump();
      const int index = program_.find_symbol(position, text);
      if (index < 0) throw InputError(where, name + " has no symbol '" + text + "'");
      instances.labels[static_cast<std::int64_t>(n)][position] = index;
      const bool pictured =
          std::find(map_.positions.begin(), map_.positions.end(), position) != map_.positions.end();
      if (!example.contains("evidence") && pictured)
        instances.evidence[static_cast<std::int64_t>(n)][position] = true;
    }
    if (!example.contains("evidence")) continue;
    for (const json& name : example["evidence"]) {
      const int position = position_of(name.get<std::string>());
      if (instances.labels[static_cast<std::int64_t>(n)][position].item<std::int16_t>() < 0) {
        throw InputError(where, name.get<std::string>() + " is evidence but has no label");
      }
      instances.evidence[static_cast<std::int64_t>(n)][position] = true;
    }
  }
  return instances;
}

}  // namespace as2::train
