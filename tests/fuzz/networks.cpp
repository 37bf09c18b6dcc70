// Networks of native code: the first line is what a card says of the network and of its pictures, the rest is
// the weights. The target makes it a card of 4 × 4 Sudoku whose checksum fits.
#include "native/networks.h"

#include <nlohmann/json.hpp>

#include "formats/sha256.h"
#include "fuzz/fuzz.h"
#include "infer/program.h"

namespace {

using nlohmann::json;

std::shared_ptr<const as2::compile::ConstraintProgram> program() {
  static const auto loaded = [] {
    as2::infer::ProgramSource source;
    source.compiled = as2::shipped_file("programs/sudoku-b2.as2c").string();
    return as2::infer::load_program(source);
  }();
  return loaded;
}

// A card with nothing but the program.
json empty_card() {
  as2::infer::Card card;
  card.weights = as2::fuzz::as_file("empty.safetensors", "");
  card.program.file = "sudoku.lp";
  card.shape = as2::infer::ProgramShape::of(*program());
  as2::infer::write_card(card);
  return json::parse(as2::read_file(as2::infer::card_path(card.weights)));
}

}  // namespace

AS2_FUZZ(bytes) {
  static const json empty = empty_card();
  const std::size_t end = std::min(bytes.find('\n'), bytes.size());
  const json given = json::parse(bytes.substr(0, end), nullptr, false);
  if (!given.is_object()) return;
  const std::string weights = end < bytes.size() ? bytes.substr(end + 1) : "";
  json card = empty;
  for (const char* part : {"model", "pictures"}) {
    if (given.contains(part)) card[part] = given[part];
  }
  card["weights"]["sha256"] = as2::formats::sha256(weights);
  const std::string path = as2::fuzz::as_file("fuzz.safetensors", weights);
  as2::fuzz::as_file("fuzz.json", card.dump(-1, ' ', false, json::error_handler_t::replace));
  as2::fuzz::refused_or_read([&] {
    const as2::infer::Card read = as2::infer::read_card(path);
    as2::native::EngineOptions options;
    options.threads = 1;
    as2::native::Networks networks(read, program(), options);
    if (networks.perception()) {
      const as2::infer::PictureMap map =
          as2::infer::map_pictures(*program(), read.pictures.positions, read.pictures.classes);
      as2::infer::Picture picture{-1, std::vector<std::uint8_t>(as2::native::PerceptionNet::kPixels, 100)};
      if (!map.positions.empty()) {
        picture.position = map.positions.front();
        networks.perceive({&picture});
      }
    }
    if (networks.reasoner()) {
      as2::native::ReasonerLimits limits;
      limits.passes = 2;
      networks.guide({{as2::infer::uniform_beliefs(*program()), {0}}}, limits);
    }
  });
}
