// A picture of a board in, its answer out: solver WEIGHTS.safetensors PICTURE.
#include <as2/error.h>
#include <as2/open_solver.h>

#include <iostream>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    as2::infer::Solver solver = as2::native::open_solver(argv[1]);
    const as2::infer::Answer answer = solver.solve({as2::boards::read_scene(argv[2])}).front();
    if (!answer.completable) {
      std::cerr << "no board fits what the picture shows\n";
      return 1;
    }
    const auto& positions = solver.program().positions;
    for (std::size_t cell = 0; cell < positions.size(); ++cell) {
      const int symbol = answer.assignment()[cell];
      std::cout << positions[cell].symbols[static_cast<std::size_t>(symbol)] << (cell % 9 == 8 ? "\n" : " ");
    }
  } catch (const as2::InputError& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
