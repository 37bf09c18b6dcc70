// Pictures of boards in, solved boards out, on the native engine: torch.ops.as2.solve. And what ships or is
// fetched: torch.ops.as2.shipped_file, torch.ops.as2.mnist.
#include <torch/library.h>

#include "as2/resources.h"
#include "boards/boards.h"
#include "boards/photo_solver.h"
#include "datasets/mnist.h"
#include "formats/image.h"
#include "library/json.h"
#include "library/program.h"
#include "native/networks.h"
#include "stop.h"
#include "vision/photo.h"

namespace as2::python {
namespace {

// As `as2 solve --json --explain` has it.
Json solution(const infer::Solver& solver, const infer::Answer& answer) {
  const bool refuted = !answer.completable && !answer.decoded.models.empty();
  Json json{{"status", refuted ? "unsatisfiable" : decode::name_of(answer.decoded.status)},
            {"read", Json::array()},
            {"changed", changes(answer.explanation.changed)},
            {"conflicts", Json::array()},
            {"assignment", nullptr},
            {"confidence", Json::array()},
            {"unique", nullptr},
            {"margin", nullptr},
            {"reread", nullptr}};
  for (const int position : answer.evidence)
    json["read"].push_back({position, solver.read_at(answer, position)});
  for (const int group : solver.conflict(answer)) json["conflicts"].push_back(group);
  if (!answer.completable) return json;
  json["assignment"] = answer.assignment();
  for (std::size_t i = 0; i < answer.assignment().size(); ++i)
    json["confidence"].push_back(solver.confidence(answer, static_cast<int>(i), answer.assignment()[i]));
  if (answer.unique) json["unique"] = *answer.unique;
  if (answer.margin) json["margin"] = *answer.margin;
  if (answer.reread) json["reread"] = unique_reading(*answer.reread);
  return json;
}

formats::Image image_of(const torch::Tensor& gray) {
  formats::Image image(static_cast<int>(gray.size(1)), static_cast<int>(gray.size(0)));
  const torch::Tensor rows = gray.contiguous();
  std::copy_n(rows.data_ptr<std::uint8_t>(), rows.numel(), image.pixels.begin());
  return image;
}

// The program that the boards obey, and one object per image: the file of that name, or `pixels` [height,
// width] uint8 on the CPU where they are not empty. `weights` empty: the shipped ones. `box` empty, `passes`
// 0: as their card says.
std::string solve(const std::vector<std::string>& names, const std::vector<torch::Tensor>& pixels,
                  const std::string& weights, const std::string& box, std::int64_t threads,
                  std::int64_t passes, std::int64_t restarts, const StopPtr& stop) {
  return reported([&] {
    const std::optional<sudoku::Box> asked = sudoku::find_box(box);
    if (!box.empty() && !asked)
      throw InputError("box is " + box + ", expected one of " + sudoku::box_names());
    infer::SolverOptions options;
    options.threads = static_cast<int>(threads);
    options.passes = static_cast<int>(passes);
    options.restarts = static_cast<int>(restarts);
    native::EngineOptions engine;
    engine.threads = static_cast<int>(threads);
    options.unique = true;
    options.stop = &stop->asked;
    boards::BoardSolver board = boards::open_board_solver(
        weights.empty() ? infer::default_model("sudoku") : std::filesystem::path(weights), asked,
        [&](const infer::Card& card, std::shared_ptr<const compile::ConstraintProgram> program) {
          return native::open_solver(card, std::move(program), /*with_guide=*/true, options, engine);
        });
    boards::PhotoSolver photos(board.solver, [&] {
      const infer::Card card = infer::read_card(infer::default_model("cells"));
      infer::SolverOptions once = options;
      once.restarts = 1;
      return native::open_solver(card, infer::load_program(card.program), /*with_guide=*/false, once, engine);
    });
    Json list = Json::array();
    for (std::size_t k = 0; k < names.size(); ++k) {
      throw_if_stopped(options.stop, "solving");
      formats::Image image = pixels[k].numel() > 0 ? image_of(pixels[k]) : formats::read_image(names[k]);
      const vision::Photo photo = vision::read_photo(std::move(image), names[k], board.side);
      const boards::PhotoAnswer found = photos.solve(photo, names[k]);
      list.push_back(solution(board.solver, found.answer));
      list.back()["timed_out"] = found.timed_out;
    }
    const sudoku::Box shown = boards::shown_box(board.solver.program(), board.side);
    return text_of(
        {{"program", program_source(board.source)}, {"box", {shown.rows, shown.columns}}, {"boards", list}});
  });
}

std::string shipped(const std::string& relative) {
  return reported([&] { return shipped_file(relative).string(); });
}

// Pictures [digits, 28, 28] uint8, ink 255, and labels [digits] int64. `folder` empty: as `as2 data mnist`.
std::tuple<torch::Tensor, torch::Tensor> mnist(const std::string& folder, bool train, const StopPtr& stop) {
  return reported([&] {
    datasets::MnistOptions options;
    options.dir = folder;
    options.stop = &stop->asked;
    const datasets::Mnist read = datasets::load_mnist(options);
    const datasets::Digits& digits = train ? read.train : read.test;
    const auto count = static_cast<std::int64_t>(digits.size());
    torch::Tensor pictures = torch::empty({count, datasets::kDigitSide, datasets::kDigitSide}, torch::kUInt8);
    std::copy(digits.pixels.begin(), digits.pixels.end(), pictures.data_ptr<std::uint8_t>());
    torch::Tensor labels = torch::empty({count}, torch::kInt64);
    std::copy(digits.labels.begin(), digits.labels.end(), labels.data_ptr<std::int64_t>());
    return std::make_tuple(pictures, labels);
  });
}

}  // namespace

void register_solve(torch::Library& m) {
  m.def("solve", solve);
  m.def("shipped_file", shipped);
  m.def("mnist", mnist);
}

}  // namespace as2::python
