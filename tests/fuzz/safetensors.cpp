// safetensors files: as such, and as the beliefs that one may hold.
#include "formats/safetensors.h"

#include "as2/compile.h"
#include "cli/beliefs.h"
#include "fuzz/fuzz.h"

AS2_FUZZ(bytes) {
  using as2::fuzz::refused_or_read;
  static const as2::compile::ConstraintProgram program =
      as2::compile::compile(as2::asp::load_compiled(as2::fuzz::shipped("programs/digit.as2c"), "digit.as2c"))
          .program;
  const std::string path = as2::fuzz::as_file("fuzz.safetensors", bytes);
  refused_or_read([&] { as2::formats::read_safetensors(path); });
  refused_or_read([&] {
    as2::cli::BeliefsReader reader(path, program);
    while (!reader.some().empty()) {
    }
  });
}
