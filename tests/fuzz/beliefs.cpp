// Beliefs and assignments as JSON, and lines of examples, about a program that ships.
#include "cli/beliefs.h"
#include "as2/compile.h"
#include "fuzz/fuzz.h"
#include "infer/example_lines.h"

namespace {

const as2::compile::ConstraintProgram& program() {
  static const as2::compile::ConstraintProgram compiled =
      as2::compile::compile(
          as2::asp::load_compiled(as2::fuzz::shipped("programs/addition.as2c"), "addition.as2c"))
          .program;
  return compiled;
}

}  // namespace

AS2_FUZZ(bytes) {
  using as2::fuzz::refused_or_read;
  static const as2::infer::PictureMap pictures =
      as2::infer::map_pictures(program(), {"digit(*"}, {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"});
  static const as2::infer::ExampleReader examples(program(), pictures);
  refused_or_read([&] {
    as2::cli::Documents documents(bytes, "fuzz.json");
    while (const auto document = documents.next()) {
      std::vector<std::string> warnings;
      refused_or_read([&] { as2::cli::parse_beliefs(*document, program(), warnings); });
      refused_or_read([&] { as2::cli::parse_assignment(*document, program()); });
      refused_or_read([&] { examples.parse(document->text, document->location); });
    }
  });
}
