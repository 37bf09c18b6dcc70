// Cards of weights; what a card says of the weights' program is compared with one that ships.
#include "infer/card.h"

#include "as2/compile.h"
#include "fuzz/fuzz.h"

AS2_FUZZ(bytes) {
  static const as2::compile::ConstraintProgram program =
      as2::compile::compile(as2::asp::load_compiled(as2::fuzz::shipped("programs/digit.as2c"), "digit.as2c"))
          .program;
  as2::fuzz::as_file("fuzz.json", bytes);
  static const std::string weights = as2::fuzz::as_file("fuzz.safetensors", "");
  as2::fuzz::refused_or_read([&] { as2::infer::check_program(as2::infer::read_card(weights), program); });
}
