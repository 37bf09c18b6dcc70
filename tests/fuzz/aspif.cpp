// `.as2c` files, which are aspif with comments: read, and compiled as any program is.
#include "as2/compile.h"
#include "fuzz/fuzz.h"

AS2_FUZZ(bytes) {
  as2::fuzz::refused_or_read([&] { as2::compile::compile(as2::asp::load_compiled(bytes, "fuzz.as2c")); });
}
