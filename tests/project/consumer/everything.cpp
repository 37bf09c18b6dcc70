#include <ATen/ATen.h>
#include <as2/compile.h>
#include <as2/soft_tp.h>

#include <iostream>

int main() {
  const auto program =
      as2::compile::compile_text("{ p(X,V) : V=1..2 } = 1 :- X=1..2. :- p(1,V), p(2,V).").program;
  const as2::tp::SoftTp soft_tp(program);
  std::cout << soft_tp.loss(at::tensor({1.0, 0.0, 0.0, 1.0}).view({1, 2, 2})).item<double>() << '\n';
}
