// Program text: tokens, statements, tags. gringo, which reads what comes out, is not ours.
#include "asp/tagging.h"
#include "fuzz/fuzz.h"

AS2_FUZZ(bytes) {
  as2::fuzz::refused_or_read(
      [&] { as2::asp::tag(as2::asp::read_program_text(bytes, "fuzz.lp", /*includes=*/false)); });
}
