// as2 solve: pictures of boards in, solved boards out.
#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "as2/error.h"
#include "boards/boards.h"
#include "boards/photo_solver.h"
#include "cli/board_text.h"
#include "cli/engines.h"
#include "cli/photo_score.h"
#include "cli/print_document.h"
#include "cli/program_options.h"
#include "cli/validators.h"
#include "cli/verbs.h"
#include "files.h"
#include "formats/image.h"
#include "infer/card.h"
#include "native/threads.h"
#include "peak_memory.h"

namespace as2::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

constexpr std::size_t kBoardsAtOnce = 100, kBytesAtOnce = 64'000'000;

struct SolveArguments {
  std::vector<std::string> images;
  std::string model, out, debug_dir;
  std::optional<double> threshold;
  std::optional<sudoku::Box> box;
  EngineChoice engine;
  GroundingLimits grounding;
  bool explain = false, json = false, verbose = false, score = false;
};

struct Picture {
  std::string file;      // the image's bytes
  formats::Image image;  // both kept where the answer is to be drawn into it
  vision::Photo photo;
  vision::DebugPictures debug;
  std::string error;

  std::size_t bytes() const {
    std::size_t sum = file.size() + image.pixels.size() + photo.picture.pixels.size();
    for (const auto& [step, shown] : debug) sum += shown.pixels.size();
    return sum;
  }
};

Picture read_picture(const std::string& path, int side, const SolveArguments& arguments) {
  Picture picture;
  try {
    std::string file = read_file(path);
    formats::Image image = formats::decode_image(file, path);
    if (!arguments.out.empty()) {
      picture.file = std::move(file);
      picture.image = image;
    }
    picture.photo = vision::read_photo(std::move(image), path, side,
                                       arguments.debug_dir.empty() ? nullptr : &picture.debug);
  } catch (const InputError& error) {
    picture.error = error.what();
  }
  return picture;
}

// Where the answer to an image is drawn: the file `--out`, or a file with the image's name in the folder
// `--out`.
fs::path drawn_path(const std::string& image, const SolveArguments& arguments) {
  if (arguments.images.size() == 1 && !fs::is_directory(arguments.out)) return arguments.out;
  return fs::path(arguments.out) / fs::path(image).filename().replace_extension(".png");
}

fs::path weights_of(const SolveArguments& arguments) {
  return arguments.model.empty() ? infer::default_model("sudoku") : infer::find_model(arguments.model);
}

// Refuses, before the work, several images whose answers would have the same name, and an answer that would
// replace an image or the model.
void check_names(const SolveArguments& arguments) {
  if (arguments.out.empty() && arguments.debug_dir.empty()) return;
  std::vector<std::string> inputs = arguments.images;
  inputs.push_back(weights_of(arguments).string());
  inputs.push_back(infer::card_path(weights_of(arguments)).string());
  std::set<std::string> names;
  for (const std::string& image : arguments.images) {
    if (!names.insert(fs::path(image).stem().string()).second)
      throw UsageError("two images are named " + fs::path(image).stem().string() +
                       ": their pictures would overwrite one another; solve them one at a time");
    if (!arguments.out.empty()) refuse_to_overwrite(inputs, drawn_path(image, arguments).string());
  }
}

void write_debug(const std::string& image, const Picture& picture, const SolveArguments& arguments) {
  if (arguments.debug_dir.empty()) return;
  fs::create_directories(arguments.debug_dir);
  const std::string stem = fs::path(image).stem().string();
  for (const auto& [step, shown] : picture.debug)
    formats::write_png((fs::path(arguments.debug_dir) / (stem + "-" + step + ".png")).string(), shown);
}

EngineChoice for_solving(const SolveArguments& arguments, int threads) {
  EngineChoice options = arguments.engine;
  options.threads = threads;
  options.solver.unique = true;
  options.solver.reasoned = arguments.json;
  return options;
}

class Solving {
 public:
  Solving(const SolveArguments& arguments, const Engine& engine)
      : arguments_(arguments),
        threads_(arguments.engine.threads),
        board_(boards::open_board_solver(weights_of(arguments), arguments.box,
                                         opener(engine, for_solving(arguments, threads_.count())),
                                         arguments.grounding.options())),
        photo_solver_(solver_, [this, &engine] {
          const infer::Card card = infer::read_card(infer::default_model("cells"));
          EngineChoice options = for_solving(arguments_, threads_.count());
          options.solver.restarts = 1;
          return open_solver(engine, options, card, infer::load_program(card.program), /*with_guide=*/false);
        }) {}

  int run() {
    const auto& images = arguments_.images;
    if (!arguments_.out.empty() && images.size() > 1) fs::create_directories(arguments_.out);
    const auto start = Clock::now();
    for (std::size_t first = 0; first < images.size();) first += solve_some(first);
    if (arguments_.score) score_.print();
    if (arguments_.verbose) report(std::chrono::duration<double>(Clock::now() - start).count());
    return failed_ ? kInputAtFault : kDone;
  }

 private:
  // As many of the images from the first one on as are held at once, one per thread at a time.
  std::vector<Picture> read_some(std::size_t first) {
    const auto threads = static_cast<std::size_t>(threads_.count());
    std::vector<Picture> pictures;
    for (std::size_t bytes = 0; pictures.size() < kBoardsAtOnce && bytes < kBytesAtOnce;) {
      const std::size_t done = pictures.size(), next = first + done;
      const std::size_t count = std::min({threads, kBoardsAtOnce - done, arguments_.images.size() - next});
      if (count == 0) break;
      pictures.resize(done + count);
      threads_.run(static_cast<std::int64_t>(count), [&](std::int64_t n, int) {
        const auto k = static_cast<std::size_t>(n);
        pictures[done + k] = read_picture(arguments_.images[next + k], board_.side, arguments_);
      });
      for (std::size_t k = done; k < pictures.size(); ++k) bytes += pictures[k].bytes();
    }
    return pictures;
  }

  // Solves some of the images from the first one on, and says how many.
  std::size_t solve_some(std::size_t first) {
    const auto start = Clock::now();
    const std::vector<Picture> pictures = read_some(first);
    reading_seconds_ += std::chrono::duration<double>(Clock::now() - start).count();
    // Boards without lines need no other network, so that many are answered together.
    const auto is_plain = [this](const Picture& picture) {
      return !boards::has_long_numbers(solver_.program()) && picture.error.empty() &&
             picture.photo.straight && !picture.photo.straight->lines;
    };
    std::vector<infer::Scene> scenes;
    for (const Picture& picture : pictures) {
      if (is_plain(picture)) scenes.push_back(boards::scene_of(*picture.photo.straight));
    }
    std::vector<infer::Answer> answers = solver_.solve(scenes, &times_);
    auto next = answers.begin();
    for (std::size_t k = 0; k < pictures.size(); ++k) {
      const std::string& image = arguments_.images[first + k];
      write_debug(image, pictures[k], arguments_);
      std::string error = pictures[k].error;
      boards::PhotoAnswer answer;
      try {
        if (is_plain(pictures[k])) {
          answer = boards::PhotoSolver::answered(pictures[k].photo, std::move(*next++));
        } else if (error.empty()) {
          answer = photo_solver_.solve(pictures[k].photo, image, &times_);
        }
      } catch (const InputError& unreadable) {
        error = unreadable.what();
      }
      if (arguments_.score) score_.add(image, error.empty() ? &answer : nullptr, solver_, error);
      if (!error.empty()) {
        fail(image, error, Json::object());
      } else {
        show(image, pictures[k], answer);
      }
    }
    return pictures.size();
  }

  void show(const std::string& image, const Picture& picture, const boards::PhotoAnswer& found) {
    const infer::Answer& answer = found.answer;
    Json json = arguments_.json ? board_json(solver_, answer, arguments_.explain) : Json::object();
    if (arguments_.json) json["timed_out"] = found.timed_out;
    if (!answer.completable) {
      std::vector<std::string> notes{"saw " + found.saw};
      if (found.timed_out) notes.push_back(out_of_time());
      const InputError error({image}, no_completion(solver_, answer), notes);
      fail(image, error.what(), json);
      return;
    }
    if (!arguments_.out.empty()) {
      const formats::Image drawn =
          vision::draw_answer(picture.image, found.lattice, found.blank, boards::digits_of(solver_, answer),
                              picture.photo.dark_ink);
      write_file(drawn_path(image, arguments_).string(),
                 formats::encode_png_over(picture.file, picture.image, drawn));
    }
    if (arguments_.json) {
      if (!found.entries.empty()) json["entries"] = entries_json(solver_, answer, found.entries);
      print(image, json);
    } else {
      std::cout << image << ": " << found.saw << '\n'
                << board_text(solver_, answer,
                              {arguments_.threshold.value_or(BoardTextOptions{}.threshold),
                               arguments_.explain, colour_wanted()})
                << entries_text(solver_, answer, found.entries)
                << (found.timed_out ? "  " + out_of_time() + "\n" : "") << std::flush;
    }
  }

  static std::string out_of_time() {
    return "time ran out before everything was tried: searches for one photo end after " +
           in_digits(boards::kPhotoSeconds) + " s";
  }

  void fail(const std::string& image, const std::string& error, Json json) {
    failed_ = true;
    if (arguments_.json) {
      json["error"] = error;
      print(image, json);
    } else {
      std::cerr << error << '\n';
    }
  }

  static void print(const std::string& image, const Json& answer) {
    Json json{{"file", image}};
    json.update(answer);
    print_document(json);
  }

  void report(double total) const {
    const auto line = [&](const char* step, double seconds) {
      std::fprintf(stderr, "%-11s %8.3f s %5.1f %%\n", step, seconds, 100 * seconds / total);
    };
    line("pictures", reading_seconds_);
    line("perception", times_.perception);
    line("reasoning", times_.reasoning);
    line("decoding", times_.decoding);
    std::fprintf(stderr, "boards: %zu, questions to the reasoner: %zu\n", arguments_.images.size(),
                 times_.asked);
    std::fprintf(stderr, "%.1f boards per second\n", static_cast<double>(arguments_.images.size()) / total);
    if (const double most = peak_memory(); most > 0)
      std::fprintf(stderr, "memory at most %.1f MB\n", most / 1e6);
  }

  const SolveArguments& arguments_;
  native::Threads threads_;
  boards::BoardSolver board_;
  infer::Solver& solver_ = board_.solver;
  boards::PhotoSolver photo_solver_;
  PhotoScore score_;
  infer::SolveTimes times_;
  double reading_seconds_ = 0;
  bool failed_ = false;
};

}  // namespace

Action declare_solve(CLI::App& command) {
  return declare_solve_on(command, {kNativeEngine});
}

Action declare_solve_on(CLI::App& command, const std::vector<Engine>& engines) {
  auto arguments = std::make_shared<SolveArguments>();
  command.add_option("images", arguments->images, "Pictures of boards: PNG, JPEG, BMP or PGM")
      ->required()
      ->type_name("IMAGE");
  command.add_flag("--json", arguments->json, "One JSON document per image, one per line");
  command.add_flag("--explain", arguments->explain, "Also which rules the reading conflicts with");
  command
      .add_option("--out", arguments->out,
                  "Draws the answer into the picture and writes it here; a folder for several images")
      ->check(png_file())
      ->type_name("PNG");
  command.add_option(
      "--model", arguments->model,
      "Weights (.safetensors, with the card beside it), the folder of a run, or the name of a shipped model; "
      "default: the shipped ones");
  command
      .add_option("--threshold", arguments->threshold,
                  "Lists digits read with less confidence than this; default: 0.9")
      ->check(number_between(0, 1));
  command
      .add_option_function<std::string>(
          "--box", [arguments](const std::string& name) { arguments->box = sudoku::find_box(name); },
          "Side of a Sudoku's box: 2 for 4x4 boards; or its rows and columns: 2x3 for 6x6; without it the "
          "board is the one of the model's card")
      ->check(a_box());
  command
      .add_option("--passes", arguments->engine.solver.passes,
                  "The most passes of the reasoner; default: eval_passes of its card")
      ->check(CLI::Range(1, 1000000));
  command
      .add_option("--restarts", arguments->engine.solver.restarts,
                  "The most trajectories of the reasoner, from different noise; the one that the rules "
                  "object to least says what it believes")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command.add_option("--debug-dir", arguments->debug_dir,
                     "Folder for pictures of what was seen in each image: ink, grid, cells");
  declare_engine(command, arguments->engine);
  declare_grounding(command, arguments->grounding);
  command.add_flag("--score", arguments->score,
                   "Compares with the clues in the .dat file beside each picture; the tally goes to standard "
                   "error");
  command.add_flag("--verbose", arguments->verbose, "Boards per second, what each step takes, and memory");
  command.footer(
      "Reads photos and scans of one board with drawn lines, any way up, printed or handwritten, dark ink on "
      "light\n"
      "paper or the reverse, and boards of 28-pixel cells without lines (`as2 data render`). The answer is "
      "the\n"
      "most probable reading that has a solution, so a misread digit is put right where the rules show it; "
      "where\n"
      "the digits as read have several solutions, the most probable reading nearby that has exactly one. "
      "Digits\n"
      "that a pen added to a printed board are not clues: those that the solution contradicts are named.\n"
      "In JSON `confidence` is perception's belief in a clue and the reasoner's in a filled cell, `margin` "
      "the\n"
      "difference in log p to the next best answer. Without --json the reasoner is asked only where the "
      "answer "
      "may\n"
      "hang on it: where a short search without it does not prove one answer the best. A picture that cannot "
      "be\n"
      "solved gives an error in its place, and exit code 1 at the end.");
  return [arguments, engines] {
    if (arguments->threshold && arguments->json)
      throw UsageError("--threshold does not apply: with --json every digit has its confidence");
    check_names(*arguments);
    const Engine* engine = find_engine(engines, arguments->engine);
    return engine ? Solving(*arguments, *engine).run() : continue_in_tensor_program();
  };
}

}  // namespace as2::cli
