// as2 data: fetches and checks MNIST, generates boards and tuples, renders images.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "as2/error.h"
#include "cli/interrupt.h"
#include "cli/print_document.h"
#include "cli/progress.h"
#include "cli/validators.h"
#include "cli/verbs.h"
#include "datasets/addition.h"
#include "datasets/mnist.h"
#include "files.h"
#include "sudoku/board.h"
#include "sudoku/board_list.h"
#include "sudoku/hard.h"
#include "sudoku/render.h"
#include "vision/board_photos.h"
#include "vision/symbol_set.h"

namespace as2::cli {
namespace {

using Json = nlohmann::ordered_json;

// CLI11 reads `-1` into an unsigned number as the largest one.
const CLI::Range kCounts(std::int64_t{0}, std::int64_t{1'000'000'000});

constexpr std::size_t kMostPictures =
    100'000'000;  // of the tuples of one list, which memory holds as a whole

// The options that every subverb has.
struct Common {
  bool json = false;
  bool quiet = false;
  std::string out = "-";

  void declare(CLI::App& command) {
    command.add_flag("--json", json, "One JSON document about what was done on standard output");
    command.add_flag("--quiet", quiet, "Say nothing but results and errors");
  }
  void declare_out(CLI::App& command) {
    command.add_option("--out", out, "File to write; - is standard output")->capture_default_str();
  }
  // Called before the work, so that a mistake costs no time.
  void check() const {
    if (json && out == "-") throw UsageError("--json needs --out FILE: both would go to standard output");
  }
  void write(const std::string& text) const {
    if (out == "-") {
      std::cout << text << std::flush;
    } else {
      write_file(out, text);
    }
  }
  void tell(const std::string& text) const {
    if (!quiet) std::cerr << text << '\n';
  }
  int finish(const Json& document, const std::string& sentence) const {
    if (json) {
      print_document(document);
    } else {
      tell(sentence);
    }
    return kDone;
  }
};

struct MnistArguments {
  std::string dir;

  void declare(CLI::App& command) {
    command.add_option("--dir", dir, "Folder with MNIST's idx files; else $AS2_DATA, then the cache");
  }
  datasets::MnistFiles find(const Common& common, bool fetch = true) const {
    return datasets::find_mnist(
        {dir, fetch, [&](const std::string& text) { common.tell(text); }, &stop_on_interrupt()});
  }
};

void declare_split(CLI::App& command, datasets::Split& split) {
  command.add_option("--split", split, "Digits to use: train or test")
      ->transform(CLI::CheckedTransformer(std::map<std::string, datasets::Split>{
          {"train", datasets::Split::kTrain}, {"test", datasets::Split::kTest}}))
      ->required();
}

std::string name_of(datasets::Split split) {
  return split == datasets::Split::kTrain ? "train" : "test";
}

Action declare_mnist(CLI::App& command) {
  struct Options : Common {
    MnistArguments mnist;
    bool offline = false;
  };
  auto options = std::make_shared<Options>();
  options->declare(command);
  options->mnist.declare(command);
  command.add_flag("--offline", options->offline, "Only look and check, never fetch");
  command.footer("Fetched files go to --dir if given, else to the cache.");
  return [options] {
    const datasets::MnistFiles files = options->mnist.find(*options, !options->offline);
    const datasets::Mnist mnist = datasets::read_mnist(files);
    if (!options->json) {
      std::cout << files.folder << ": MNIST, " << mnist.train.size() << " train and " << mnist.test.size()
                << " test digits, checksums right\n";
      return static_cast<int>(kDone);
    }
    return options->finish({{"folder", files.folder},
                            {"files", files.paths},
                            {"train", mnist.train.size()},
                            {"test", mnist.test.size()}},
                           "");
  };
}

// `36` or `17-45`.
void parse_clues(const std::string& text, sudoku::GenerateOptions& options) {
  const std::size_t dash = text.find('-');
  const std::string low = text.substr(0, dash),
                    high = dash == std::string::npos ? low : text.substr(dash + 1);
  for (const std::string& number : {low, high}) {
    if (number.empty() || number.size() > 3 || number.find_first_not_of("0123456789") != std::string::npos)
      throw UsageError("--clues " + text + ": expected a number or a range like 17-45");
  }
  options.min_clues = std::stoi(low);
  options.max_clues = std::stoi(high);
}

std::vector<sudoku::Grid> puzzles_of_side_9(const std::string& path) {
  std::vector<sudoku::Grid> puzzles;
  for (sudoku::Board& board : sudoku::read_boards(path)) {
    if (board.puzzle.size() != 81)
      throw InputError({path}, "--near takes 9x9 puzzles, and puzzle " + std::to_string(puzzles.size() + 1) +
                                   " has " + std::to_string(board.puzzle.size()) + " cells");
    puzzles.push_back(std::move(board.puzzle));
  }
  if (puzzles.empty()) throw InputError({path}, "has no puzzle", {"--near changes puzzles that are there"});
  return puzzles;
}

Action declare_sudoku(CLI::App& command) {
  struct Options : Common {
    sudoku::GenerateOptions generate;
    std::size_t count = 1000;
    std::string clues, near;
    int guesses = 0;
    int threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  };
  auto options = std::make_shared<Options>();
  options->declare(command);
  options->declare_out(command);
  command.add_option("--count", options->count, "Puzzles to make")->check(kCounts)->capture_default_str();
  auto* range = command.add_option(
      "--clues", options->clues,
      "Clues per puzzle: a number or a range A-B; if not given, clues in 4 cells of 9, 36 on 9x9");
  auto* hard =
      command
          .add_option(
              "--hard", options->guesses,
              "Hard puzzles instead: at least this many guesses in a plain search (9x9 only). Digging "
              "gives 0 to 10; lists of the hardest hold 60 to 400")
          ->check(CLI::Range(1, 10000))
          ->excludes(range);
  command
      .add_option(
          "--near", options->near,
          "List of hard puzzles: new ones differ in a clue or two from these, or from one another, which "
          "is much faster")
      ->needs(hard);
  command.add_option("--seed", options->generate.seed, "The same seed gives the same list on any machine")
      ->check(a_seed())
      ->capture_default_str();
  command
      .add_option_function<std::string>(
          "--box", [options](const std::string& name) { options->generate.box = *sudoku::find_box(name); },
          "Side of a square box: 2, 3 or 4 (4x4, 9x9, 16x16); or its rows and columns: 2x3, 2x4, 2x5, 3x4 or "
          "3x5 (6x6, 8x8, 10x10, 12x12, 15x15)")
      ->check(a_box())
      ->default_str(sudoku::name_of(options->generate.box));
  command.add_option("--threads", options->threads, "Threads")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command.footer(
      "Every puzzle has exactly one solution. Solved grids are random but not uniform; the clue count is "
      "drawn\n"
      "uniformly from the range, then clues are dug out while the solution stays unique; where digging "
      "stops\n"
      "short, the puzzle is kept if its count is in the range. 21 clues are rare on 9x9, 20 take seconds "
      "each,\n"
      "fewer are out of reach: take a public list. Writes `puzzle,solution` lines.\n"
      "Ctrl-C ends a search for hard puzzles and writes those there are, which are the first of the list.");
  return [options] {
    options->check();
    if (options->guesses > 0 && options->generate.box != 3)
      throw UsageError("--hard makes 9x9 puzzles: leave --box out");
    const int usual = (4 * options->generate.box.cells() + 4) / 9;  // 36 of 81
    parse_clues(options->clues.empty() ? std::to_string(usual) : options->clues, options->generate);
    ProgressBar progress("puzzles", static_cast<std::int64_t>(options->count), options->quiet);
    std::string text;
    std::size_t made = 0;
    std::map<int, int> clues;
    const auto take = [&](const std::vector<sudoku::Board>& boards) {
      for (const sudoku::Board& board : boards) ++clues[sudoku::clue_count(board.puzzle)];
      made += boards.size();
      text += sudoku::format_boards(boards);
    };
    if (options->guesses > 0) {
      sudoku::HardOptions wanted{options->guesses, options->generate.seed};
      wanted.stop = &stop_on_interrupt();
      std::size_t before = 0;
      const auto found = [&](std::size_t now) {
        progress.advance(static_cast<std::int64_t>(now - before));
        before = now;
      };
      if (options->near.empty())
        take(sudoku::generate_hard(wanted, options->count, options->threads, found));
      else
        take(sudoku::vary_hard(wanted, puzzles_of_side_9(options->near), options->count, options->threads,
                               found));
    } else {
      for (std::size_t first = 0; first < options->count;) {
        const std::size_t chunk = std::min<std::size_t>(options->count - first, 256 * options->threads);
        take(sudoku::generate(options->generate, first, chunk, options->threads));
        first += chunk;
        progress.advance(static_cast<std::int64_t>(chunk));
      }
    }
    const bool interrupted = made < options->count;
    // A file of that name may be worth more than nothing.
    if (made > 0 || !interrupted) options->write(text);
    const sudoku::Box box = options->generate.box;
    Json histogram = Json::object();
    for (const auto& [count, puzzles] : clues) histogram[std::to_string(count)] = puzzles;
    return options->finish({{"out", options->out},
                            {"count", made},
                            {"seed", options->generate.seed},
                            {"box", box.is_square() ? Json(box.rows) : Json(sudoku::name_of(box))},
                            {"clues", histogram},
                            {"interrupted", interrupted}},
                           std::to_string(made) +
                               (interrupted ? " of " + std::to_string(options->count) : "") +
                               " puzzles, seed " + std::to_string(options->generate.seed) +
                               (!interrupted ? ""
                                : made > 0   ? "; stopped: these are the first of the list"
                                             : "; stopped, nothing is written"));
  };
}

Action declare_render(CLI::App& command) {
  struct Options : Common {
    MnistArguments mnist;
    std::string boards, face;
    datasets::Split split = datasets::Split::kTest;
    std::uint64_t seed = 0;
    bool photos = false;
    int entries = 0;
  };
  auto options = std::make_shared<Options>();
  options->declare(command);
  options->mnist.declare(command);
  command.add_option("boards", options->boards, "List of boards, one per line, plain or gzipped")->required();
  declare_split(command, options->split);
  command.add_option("--seed", options->seed, "Seed that decides which digit image each clue gets")
      ->check(a_seed())
      ->capture_default_str();
  auto* photos = command.add_flag("--photos", options->photos,
                                  "Photos of printed sheets instead: board-00000.jpg, …, and the clues of "
                                  "each in a .dat file, as `as2 solve --score` reads them");
  command.add_option("--face", options->face, "Typeface (.ttf, .otf) of the photos; else straight strokes")
      ->needs(photos);
  command
      .add_option("--entries", options->entries,
                  "Digits that a player has written into each photographed board, the first of them wrong")
      ->check(CLI::Range(0, 81))
      ->needs(photos);
  command.add_option("--out", options->out, "Folder for board-00000.png, … and labels.jsonl")->required();
  command.footer(
      "A 9x9 board is 252x252 gray pixels: one 28x28 MNIST digit per clue, blank cells black, no lines.\n"
      "labels.jsonl has one line per board; `images` holds the index of the digit in each cell, -1 for "
      "blanks.");
  return [options] {
    const auto boards = sudoku::read_boards(options->boards);
    const datasets::Mnist mnist = datasets::read_mnist(options->mnist.find(*options));
    const std::filesystem::path folder = options->out;
    const std::string name = std::filesystem::path(options->boards).filename().string();
    refuse_to_overwrite({options->boards}, (folder / "labels.jsonl").string());
    if (name.rfind("board-", 0) == 0) refuse_to_overwrite({options->boards}, (folder / name).string());
    ProgressBar progress("boards", static_cast<std::int64_t>(boards.size()), options->quiet);
    const auto done = [&] { progress.advance(); };
    if (options->photos) {
      std::optional<formats::Typeface> face;
      if (!options->face.empty() && !(face = formats::Typeface::read(options->face)))
        throw InputError({options->face}, "is not a typeface with all ten digits",
                         {"give a .ttf or .otf file"});
      vision::photograph_boards(boards, mnist.of(options->split),
                                {options->seed, options->entries, face ? &*face : nullptr}, options->out,
                                done);
    } else {
      sudoku::render_boards(boards, mnist, options->split, options->seed, options->out, done);
    }
    return options->finish({{"out", options->out},
                            {"count", boards.size()},
                            {"split", name_of(options->split)},
                            {"seed", options->seed}},
                           options->out + ": " + std::to_string(boards.size()) +
                               (options->photos ? " photos with their clues" : " boards, labels.jsonl"));
  };
}

Action declare_addition(CLI::App& command) {
  struct Options : Common {
    MnistArguments mnist;
    int addends = 2;
    std::size_t count = 30000;
    datasets::Split split = datasets::Split::kTrain;
    std::uint64_t seed = 0;
  };
  auto options = std::make_shared<Options>();
  options->declare(command);
  options->declare_out(command);
  options->mnist.declare(command);
  command.add_option("--n", options->addends, "Digits a tuple")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command.add_option("--count", options->count, "Tuples to make")->check(kCounts)->capture_default_str();
  declare_split(command, options->split);
  command.add_option("--seed", options->seed, "The same seed gives the same list on any machine")
      ->check(a_seed())
      ->capture_default_str();
  command.footer(
      "A line is the MNIST indices, then the sum; each index occurs at most once per pass over the split.");
  return [options] {
    options->check();
    if (options->count > kMostPictures / static_cast<std::size_t>(options->addends)) {
      throw UsageError("--count " + std::to_string(options->count) + " with --n " +
                       std::to_string(options->addends) + ": more than " + std::to_string(kMostPictures) +
                       " pictures; make fewer at a time, each with its own --seed");
    }
    const datasets::Mnist mnist = datasets::read_mnist(options->mnist.find(*options));
    const auto addition = datasets::generate_addition(mnist.of(options->split), options->addends,
                                                      options->count, options->seed);
    options->write(datasets::format_addition(addition));
    return options->finish(
        {{"out", options->out},
         {"count", addition.size()},
         {"n", options->addends},
         {"split", name_of(options->split)},
         {"seed", options->seed}},
        std::to_string(addition.size()) + " tuples of " + std::to_string(options->addends));
  };
}

struct FontArguments {
  std::string fonts = "/usr/share/fonts";

  void declare(CLI::App& command) {
    command.add_option("--fonts", fonts, "Folder of typefaces (.ttf, .otf), searched to the bottom")
        ->capture_default_str();
  }
  std::vector<vision::Family> find(const Common& common) const {
    return vision::find_typefaces(fonts, [&](const std::string& text) { common.tell(text); });
  }
};

// One sub-folder per class under options.out, as `as2 train` reads a folder of pictures.
int write_set(const Common& options, const vision::CellSet& set, std::size_t families, std::uint64_t seed,
              const std::string& what) {
  Json classes = Json::object();
  std::size_t count = 0;
  for (const auto& [name, pixels] : set) {
    const std::filesystem::path folder = std::filesystem::path(options.out) / name;
    std::filesystem::create_directories(folder);
    write_file((folder / "cells.idx3-ubyte").string(), datasets::format_idx_images(pixels));
    classes[name] = pixels.size() / datasets::kDigitPixels;
    count += pixels.size() / datasets::kDigitPixels;
  }
  return options.finish({{"out", options.out}, {"families", families}, {"classes", classes}, {"seed", seed}},
                        options.out + ": " + std::to_string(count) + " pictures of " + what);
}

Action declare_symbols(CLI::App& command) {
  struct Options : Common {
    MnistArguments mnist;
    FontArguments fonts;
    vision::SymbolSetOptions symbols;
  };
  auto options = std::make_shared<Options>();
  options->declare(command);
  options->mnist.declare(command);
  options->fonts.declare(command);
  command.add_option("--per-class", options->symbols.per_class, "Pictures of each digit and operator")
      ->check(CLI::Range(10, 1000000))
      ->capture_default_str();
  command.add_option("--seed", options->symbols.seed, "The same seed and typefaces give the same pictures")
      ->check(a_seed())
      ->capture_default_str();
  command.add_option("--out", options->out, "Folder for one sub-folder per class")->required();
  command.footer(
      "28x28 pictures of the classes 0 to 9, which are MNIST's digits, and plus, minus and times, drawn in "
      "every\n"
      "typeface found, turned, slanted and stretched: what `as2 train formula` reads. Of every ten pictures "
      "one shows\n"
      "digits and typefaces kept for validation, and one those kept for the test.");
  return [options] {
    const auto families = options->fonts.find(*options);
    const datasets::Mnist mnist = datasets::read_mnist(options->mnist.find(*options));
    return write_set(*options, vision::make_symbols(families, mnist, options->symbols), families.size(),
                     options->symbols.seed, "symbols");
  };
}

Action declare_photos(CLI::App& command) {
  struct Options : Common {
    MnistArguments mnist;
    FontArguments fonts;
    vision::CellSetOptions cells;
  };
  auto options = std::make_shared<Options>();
  options->cells.threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  options->declare(command);
  options->mnist.declare(command);
  options->fonts.declare(command);
  command.add_option("--per-class", options->cells.per_class, "Pictures of each digit, printed and written")
      ->check(CLI::Range(10, 1000000))
      ->capture_default_str();
  command.add_option("--seed", options->cells.seed, "The same seed and typefaces give the same pictures")
      ->check(a_seed())
      ->capture_default_str();
  command.add_option("--threads", options->cells.threads, "Threads")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command.add_option("--out", options->out, "Folder for one sub-folder per class")->required();
  command.footer(
      "Draws pages with printed digits in every typeface found and with MNIST's handwritten ones, "
      "photographs\n"
      "them (perspective, uneven light, blur, noise, JPEG) and cuts out their cells: 28x28 pictures of the\n"
      "classes blank, printed(0) to printed(9) and written(0) to written(9), as `as2 train cells` reads "
      "them.\n"
      "A quarter of the handwritten ones are MNIST's pictures as they are. Of every ten\n"
      "pictures one shows typefaces kept for validation, and one those kept for the test.");
  return [options] {
    const auto families = options->fonts.find(*options);
    const datasets::Mnist mnist = datasets::read_mnist(options->mnist.find(*options));
    ProgressBar progress("pages", 0, options->quiet);
    const vision::CellSet set = vision::make_cells(families, mnist, options->cells, [&](std::size_t pages) {
      progress.advance(static_cast<std::int64_t>(pages));
    });
    return write_set(*options, set, families.size(), options->cells.seed, "cells");
  };
}

}  // namespace

Action declare_data(CLI::App& command) {
  command.require_subcommand(1);
  auto actions = std::make_shared<std::vector<std::pair<CLI::App*, Action>>>();
  const auto add = [&](const char* name, const char* summary, Action (*declare)(CLI::App&)) {
    CLI::App* subverb = command.add_subcommand(name, summary);
    actions->emplace_back(subverb, declare(*subverb));
  };
  add("mnist", "Finds MNIST, or fetches it, and checks it", declare_mnist);
  add("sudoku", "Generates puzzles with exactly one solution", declare_sudoku);
  add("render", "Draws boards with MNIST digits, as in the paper", declare_render);
  add("photos", "Draws cells of photographed boards, for training", declare_photos);
  add("symbols", "Draws digits and operators of formulas, for training", declare_symbols);
  add("addition", "Generates tuples of digits and their sums", declare_addition);
  return [actions] {
    for (const auto& [subverb, action] : *actions) {
      if (subverb->parsed()) return action();
    }
    return static_cast<int>(kUsage);
  };
}

}  // namespace as2::cli
