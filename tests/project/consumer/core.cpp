#include <as2/compile.h>
#include <as2/decoder.h>
#include <as2/resources.h>

#include <iostream>

int main() {
  const auto program =
      as2::compile::compile_text("{ p(X,V) : V=1..2 } = 1 :- X=1..2. :- p(1,V), p(2,V).").program;
  const auto decoded = as2::decode::Decoder(program).decode({{0.9, 0.1, 0.6, 0.4}});
  for (const auto& atom : as2::compile::shown_atoms(program, decoded.models.at(0).assignment))
    std::cout << atom << ' ';
  std::cout << as2::data_dir() << '\n';
}
