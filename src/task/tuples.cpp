#include <algorithm>
#include <map>
#include <numeric>

#include "as2/decoder.h"
#include "datasets/addition.h"
#include "random.h"
#include "task/examples.h"

namespace as2::task {
namespace {

// What the program says at every position when pictures show these symbols, once for each way they do. Throws
// where it forbids one.
std::map<std::vector<std::int64_t>, compile::Assignment> completions(
    const Task& task, const std::vector<std::vector<std::int64_t>>& shown) {
  std::map<std::vector<std::int64_t>, compile::Assignment> completed;
  for (const std::vector<std::int64_t>& symbols : shown) completed[symbols];
  const compile::ConstraintProgram& program = task.program();
  const std::size_t size = program.positions.size() * static_cast<std::size_t>(program.max_symbols());
  std::vector<decode::Query> queries;
  for (const auto& [symbols, whole] : completed) {
    decode::Query& query = queries.emplace_back();
    query.beliefs.assign(size, 1.0);
    for (std::size_t k = 0; k < symbols.size(); ++k)
      query.pins.push_back({task.pictures().positions[k], static_cast<int>(symbols[k])});
  }
  decode::DecodeOptions options;
  options.minimal_conflict = false;
  std::vector<decode::Decoded> decoded =
      decode::Decoder(task.shared_program()).decode_batch(queries, options);
  auto own = decoded.begin();
  for (auto& [symbols, whole] : completed) {
    if (own->models.empty()) {
      throw InputError("the program allows no answer for some of the tuples",
                       {"list examples that it allows with data.source = \"instances\""});
    }
    whole = std::move(own->models[0].assignment);
    ++own;
  }
  return completed;
}

// The pictures' symbols are their classes; the other positions hold what the program then says.
Instances of_tuples(const Task& task, const std::vector<std::vector<std::int64_t>>& pictures, Part part) {
  const ImagePool& pool = task.pool(part);
  const compile::ConstraintProgram& program = task.program();
  const infer::PictureMap& map = task.pictures();
  const auto count = static_cast<std::int64_t>(pictures.size());
  const auto positions = static_cast<std::int64_t>(program.positions.size());
  Instances instances = Instances::blank(count, positions);
  instances.pictures = {count, positions, -1};
  std::vector<std::vector<std::int64_t>> shown(pictures.size());
  for (std::int64_t n = 0; n < count; ++n) {
    for (std::size_t k = 0; k < map.positions.size(); ++k) {
      const std::int64_t where =
          pool.place[static_cast<std::size_t>(pictures[static_cast<std::size_t>(n)][k])];
      const int position = map.positions[k], shown_class = pool.classes[static_cast<std::size_t>(where)];
      instances.pictures[n][position] = static_cast<std::int32_t>(where);
      instances.evidence[n][position] = 1;
      const std::vector<int>& shows = map.class_of[static_cast<std::size_t>(position)];
      const auto found = std::find(shows.begin(), shows.end(), shown_class);
      if (found == shows.end()) {
        throw InputError("a picture of " + task.classes()[static_cast<std::size_t>(shown_class)] +
                         " cannot stand at " + program.positions[static_cast<std::size_t>(position)].name);
      }
      const std::int64_t symbol = found - shows.begin();
      instances.labels[n][position] = static_cast<std::int16_t>(symbol);
      shown[static_cast<std::size_t>(n)].push_back(symbol);
    }
  }
  if (static_cast<std::size_t>(positions) == map.positions.size() && program.groups.empty()) return instances;
  const auto completed = completions(task, shown);
  for (std::int64_t n = 0; n < count; ++n) {
    const compile::Assignment& whole = completed.at(shown[static_cast<std::size_t>(n)]);
    std::copy(whole.begin(), whole.end(), instances.labels[n]);
  }
  return instances;
}

}  // namespace

// Folders come class by class: fewer pictures than there are must not be the first classes alone.
Instances single_pictures(const Task& task, Part part, std::int64_t count) {
  const auto [first, last] = task.picture_range(part);
  std::vector<std::vector<std::int64_t>> pictures;
  for (std::int64_t picture = first; picture < last; ++picture) pictures.push_back({picture});
  if (count < last - first) {
    Random random(part_seed(part));
    random.shuffle(pictures.begin(), static_cast<std::uint32_t>(pictures.size()));
    pictures.resize(static_cast<std::size_t>(count));
  }
  return of_tuples(task, pictures, part);
}

Instances generated_tuples(const Task& task, Part part, std::int64_t count) {
  const auto [first, last] = task.picture_range(part);
  std::vector<std::int64_t> order(static_cast<std::size_t>(last - first));
  std::iota(order.begin(), order.end(), first);
  Random random(part_seed(part));
  std::vector<std::vector<std::int64_t>> pictures(static_cast<std::size_t>(count));
  std::size_t next = order.size();
  for (auto& tuple : pictures) {
    for (std::size_t n = 0; n < task.pictures().positions.size(); ++n) {
      if (next == order.size()) {  // every picture is used once before any is used again
        random.shuffle(order.begin(), static_cast<std::uint32_t>(order.size()));
        next = 0;
      }
      tuple.push_back(order[next++]);
    }
  }
  return of_tuples(task, pictures, part);
}

Instances read_tuples(const Task& task, const std::string& path, const ListOptions& options) {
  const compile::ConstraintProgram& program = task.program();
  const auto all = static_cast<std::size_t>(task.pool(options.part).size());
  const std::size_t arity = task.pictures().positions.size();
  const datasets::Addition list = datasets::read_addition(path, static_cast<int>(arity), all);
  if (list.size() == 0) throw InputError({path}, "has no line of picture indices and their sum");
  std::vector<std::vector<std::int64_t>> pictures;
  for (auto index = list.indices.begin(); index != list.indices.end(); index += static_cast<int>(arity))
    pictures.emplace_back(index, index + static_cast<int>(arity));
  Instances instances = of_tuples(task, pictures, options.part);
  for (std::size_t position = 0; position < program.positions.size(); ++position) {
    if (!task.supervision().observed[position]) continue;
    for (std::size_t n = 0; n < list.size(); ++n) {
      const std::int16_t symbol = instances.labels[static_cast<std::int64_t>(n)][position];
      const std::string& sum = program.positions[position].symbols[static_cast<std::size_t>(symbol)];
      if (sum != std::to_string(list.sums[n])) {
        throw InputError({path, list.lines[n]},
                         "the sum is " + sum + ", not " + std::to_string(list.sums[n]));
      }
    }
  }
  return instances;
}

}  // namespace as2::task
