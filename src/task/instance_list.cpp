// Examples that a file lists; infer/example_lines.h says what a line may hold.
#include <algorithm>
#include <map>
#include <set>

#include "infer/example_lines.h"
#include "task/contradictions.h"
#include "task/examples.h"
#include "text.h"

namespace as2::task {
namespace {

using infer::ExampleLine;

// The picture files of all examples, each read once; none where the task is made without pictures.
class PictureFiles {
 public:
  explicit PictureFiles(bool read) : read_(read) {}

  // What Instances::pictures says for this file, the picture of a line.
  std::int32_t add(const std::string& file, const ExampleLine& line) {
    if (!read_) return -1;
    const auto [at, fresh] = numbers_.emplace(file, static_cast<std::int32_t>(numbers_.size()));
    if (fresh) {
      try {
        const std::vector<std::uint8_t> picture = infer::read_picture(file);
        pixels_.columns = static_cast<std::int64_t>(picture.size());
        pixels_.add_row(picture.data());
        if (!infer::has_ink(picture)) blank_.insert(file);
      } catch (const InputError& error) {
        throw InputError(line.place, "a picture cannot be used", {error.what()});
      }
    }
    if (!line.lists_evidence && blank_.count(file) > 0)
      throw InputError(line.place, "a picture without ink is no evidence: " + file,
                       {"leave it out, or list in \"evidence\" what is to be read all the same"});
    return kFirstFile - at->second;
  }
  // [files, 28 · 28]; undefined: none.
  const Table<std::uint8_t>& pixels() const { return pixels_; }

 private:
  std::map<std::string, std::int32_t> numbers_;
  std::set<std::string> blank_;
  Table<std::uint8_t> pixels_;
  bool read_;
};

// What lines observe, as the task's observed positions and atoms.
class LineObservations {
 public:
  explicit LineObservations(const Task& task) : task_(task) {
    const auto& atoms = task.supervision().atoms;
    for (std::size_t a = 0; a < atoms.size(); ++a) columns_.emplace(atoms[a].name, a);
  }

  // Sets row n as the line says.
  void set(const ExampleLine& line, std::int64_t n, Instances& instances) const {
    std::fill_n(instances.observed[n], instances.positions(), std::uint8_t{0});
    std::fill_n(instances.atoms[n], instances.atoms.columns, std::int8_t{-1});
    for (const std::string& literal : line.observed) {
      prob::Observation observation;
      try {
        observation = prob::parse_observation(task_.program(), literal);
      } catch (const InputError& error) {
        throw InputError(line.place, "\"observed\" has " + in_quotes(literal), {error.what()});
      }
      if (observation.size() != 1)
        throw InputError(line.place, "\"observed\" has " + in_quotes(literal) + ", expected one literal",
                         {"list them one by one"});
      if (!set_atom(line, literal, n, instances) &&
          !set_position(observation[0], line, literal, n, instances))
        refuse(line, literal, observation[0]);
    }
  }

 private:
  bool set_atom(const ExampleLine& line, const std::string& literal, std::int64_t n,
                Instances& instances) const {
    std::string atom = as_printed(literal);
    const bool negated = atom.rfind("not ", 0) == 0;
    if (negated) atom.erase(0, 4);
    const auto column = columns_.find(atom);
    if (column == columns_.end()) return false;
    std::int8_t& truth = instances.atoms[n][column->second];
    const std::int8_t now = negated ? 0 : 1;
    if (truth >= 0 && truth != now)
      throw InputError(line.place, in_quotes(atom) + " is observed to hold and not to hold");
    truth = now;
    return true;
  }

  bool set_position(const prob::Observable& about, const ExampleLine& line, const std::string& literal,
                    std::int64_t n, Instances& instances) const {
    if (about.kind != prob::Observable::Kind::kSet || about.set.symbols.size() != 1 ||
        !task_.supervision().observed[static_cast<std::size_t>(about.set.position)])
      return false;
    std::int16_t& label = instances.labels[n][about.set.position];
    const int symbol = about.set.symbols[0];
    if (label >= 0 && label != symbol)
      throw InputError(line.place, in_quotes(literal) + " contradicts the position's label");
    label = static_cast<std::int16_t>(symbol);
    instances.observed[n][about.set.position] = 1;
    return true;
  }

  [[noreturn]] static void refuse(const ExampleLine& line, const std::string& literal,
                                  const prob::Observable& about) {
    if (!about.known && about.kind == prob::Observable::Kind::kAlways)
      throw InputError(line.place,
                       in_quotes(literal) + " is observed, but the program has no atom " + about.text,
                       {"it is misspelt, or #show hides it"});
    if (!about.known || about.kind == prob::Observable::Kind::kNever)
      throw InputError(line.place, in_quotes(literal) + " is observed, and can never hold",
                       {"the program has no such atom, or #show hides it"});
    throw InputError(line.place, in_quotes(literal) + " is observed, but labels.observed does not name it",
                     {"add it there: a position's name, an atom, or a family of atoms like total(_)"});
  }

  const Task& task_;
  std::map<std::string, std::size_t> columns_;
};

}  // namespace

Instances read_instances(const Task& task, const std::string& path, const ListOptions&) {
  const compile::ConstraintProgram& program = task.program();
  const std::vector<int>& may_have_picture = task.pictures().positions;
  const infer::ExampleReader reader(program, task.pictures());
  const std::vector<ExampleLine> lines = reader.read(path);
  const auto count = static_cast<std::int64_t>(lines.size()),
             positions = static_cast<std::int64_t>(program.positions.size());
  Instances instances = Instances::blank(count, positions);
  instances.lines = {count, 1, 0};
  Table<std::int32_t> pictures(count, positions, -1);
  PictureFiles files(task.options().with_pictures);
  const bool none_drawn = task.config().images.source == kNamedPictures;
  for (std::int64_t n = 0; n < count; ++n) {
    const ExampleLine& line = lines[static_cast<std::size_t>(n)];
    instances.lines[n][0] = line.place.line;
    for (const auto& [position, symbol] : line.labels)
      instances.labels[n][position] = static_cast<std::int16_t>(symbol);
    for (const auto& [position, file] : line.images) pictures[n][position] = files.add(file, line);
    for (const int position : line.evidence) {
      instances.evidence[n][position] = 1;
      if (!none_drawn || line.images.count(position) > 0) continue;
      if (!line.lists_evidence &&
          std::binary_search(may_have_picture.begin(), may_have_picture.end(), position))
        throw InputError(line.place, "the line names no picture",
                         {"images.source is \"files\", so that none is drawn; add \"images\", or list in "
                          "\"evidence\" the labels that are given as they are"});
      pictures[n][position] = kNoPicture;
    }
  }
  instances.files = files.pixels();
  if (none_drawn || instances.files.defined()) instances.pictures = pictures;
  const bool says =
      std::any_of(lines.begin(), lines.end(), [](const ExampleLine& line) { return !line.observed.empty(); });
  if (!says) {
    refuse_contradictions(task, lines,
                          supervised(task.shared_program(), task.supervision(), instances, /*use_all=*/true));
    return instances;
  }
  // Lines that do not say what is observed of them are as the settings say.
  instances = supervised(task.shared_program(), task.supervision(), instances, /*use_all=*/true);
  const LineObservations observations(task);
  for (std::int64_t n = 0; n < count; ++n) {
    const ExampleLine& line = lines[static_cast<std::size_t>(n)];
    if (!line.observed.empty()) observations.set(line, n, instances);
  }
  refuse_contradictions(task, lines, instances);
  return instances;
}

}  // namespace as2::task
