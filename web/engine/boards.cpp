// A board in a picture, as the visitor sees it: what was read and how surely, what the rules made of it, and
// the same again whenever a cell is corrected. A correction is evidence that is certain.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "api.h"
#include "as2/resources.h"
#include "boards/boards.h"
#include "boards/photo_solver.h"
#include "cli/beliefs.h"
#include "cli/board_text.h"
#include "formats/image.h"
#include "infer/open.h"
#include "native/networks.h"
#include "native/soft_tp.h"

namespace as2::web {
namespace {

constexpr double kCertain = 1 - 1e-9;

native::EngineOptions one_thread() {
  native::EngineOptions engine;
  engine.threads = 1;
  return engine;
}

// As `as2 solve` has them.
infer::SolverOptions solver_options() {
  infer::SolverOptions options;
  options.threads = 1;
  options.unique = true;
  return options;
}

struct Model {
  std::shared_ptr<native::Networks> networks;  // kept for the film
  std::unique_ptr<infer::Solver> solver;
  int side = 0;  // of its board
  std::unique_ptr<boards::PhotoSolver> photos;
};
std::map<std::string, Model> models;

// The board that is shown.
struct Board {
  std::string model;
  vision::Lattice lattice;
  std::string saw;
  infer::Evidence evidence;  // what was read, and what the visitor says
  std::set<int> corrected;
  infer::Answer answer;
  std::vector<boards::Entry> entries;  // what a player wrote into a printed board
};
std::optional<Board> board;

Model& find_model(const std::string& name) {
  const auto found = models.find(name);
  if (found == models.end()) throw InputError("the model '" + name + "' is not loaded");
  return found->second;
}

Board& current_board() {
  if (!board) throw InputError("there is no board yet", {"choose a picture first"});
  return *board;
}

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

// The corners of a cell in the picture, without its lines, as the board lies: top left, top right, bottom
// right, bottom left.
Json corners_of(const vision::Lattice& lattice, int cell) {
  constexpr double kLines = 0.06;
  Json corners = Json::array();
  for (const auto& [u, v] : {std::pair{0, 0}, {1, 0}, {1, 1}, {0, 1}}) {
    const vision::Point p = lattice.at(cell % lattice.side + (u == 0 ? kLines : 1 - kLines),
                                       cell / lattice.side + (v == 0 ? kLines : 1 - kLines));
    corners.push_back({p.x, p.y});
  }
  return corners;
}

// The document of `as2 solve --json --explain` with what the page draws.
Json document_of(const Board& own) {
  const infer::Solver& solver = *find_model(own.model).solver;
  Json document = cli::board_json(solver, own.answer, /*explain=*/true);
  if (!own.answer.completable) document["error"] = cli::no_completion(solver, own.answer);
  document["groups"] =
      cli::groups_json(solver.program(), own.answer.explanation.broken_groups);  // that the reading breaks
  document["cells"] = Json::array();
  const auto& positions = solver.program().positions;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const int position = static_cast<int>(i);
    const bool given = std::binary_search(own.answer.evidence.begin(), own.answer.evidence.end(), position);
    Json cell = {{"position", positions[i].name},
                 {"corrected", own.corrected.count(position) > 0},
                 {"symbols", positions[i].symbols},
                 {"seen", nullptr},
                 {"believed", Json::array()}};
    if (given) cell["seen"] = Json::array();
    for (std::size_t s = 0; s < positions[i].symbols.size(); ++s) {
      const int symbol = static_cast<int>(s);
      if (given) cell["seen"].push_back(solver.belief(own.answer.beliefs, position, symbol));
      cell["believed"].push_back(solver.belief(own.answer.reasoned, position, symbol));
    }
    cell["corners"] = corners_of(own.lattice, position);
    document["cells"].push_back(std::move(cell));
  }
  document["saw"] = own.saw;
  if (own.answer.completable && !own.entries.empty())
    document["entries"] = cli::entries_json(solver, own.answer, own.entries);
  return document;
}

// Replaces what is known of a position; `row` empty: nothing is.
void set_evidence(infer::Evidence& evidence, const compile::ConstraintProgram& program, int position,
                  std::vector<double> row) {
  const auto at = std::lower_bound(evidence.positions.begin(), evidence.positions.end(), position);
  const bool given = at != evidence.positions.end() && *at == position;
  const std::size_t symbols = program.positions[static_cast<std::size_t>(position)].symbols.size();
  if (row.empty() && given) evidence.positions.erase(at);
  if (!row.empty() && !given) evidence.positions.insert(at, position);
  if (row.empty()) row.assign(symbols, 1.0 / static_cast<double>(symbols));
  std::copy(row.begin(), row.end(),
            evidence.beliefs.begin() + static_cast<std::ptrdiff_t>(position) * program.max_symbols());
}

infer::Solver open_cells() {
  const infer::Card card = infer::read_card(infer::default_model("cells"));
  return native::open_solver(card, infer::load_program(card.program), /*with_guide=*/false, solver_options(),
                             one_thread());
}

}  // namespace

Json open_boards(const Json& request) {
  const std::string name = request.at("model");
  Model model;
  const auto open = [&](const infer::Card& card, std::shared_ptr<const compile::ConstraintProgram> program) {
    model.networks = std::make_shared<native::Networks>(card, program, one_thread());
    return infer::make_solver(card, program, native::perceiver_and_guide(model.networks),
                              /*with_guide=*/true, solver_options());
  };
  boards::BoardSolver opened =
      boards::open_board_solver(shipped_file("models/" + name + ".safetensors"), std::nullopt, open);
  model.solver = std::make_unique<infer::Solver>(std::move(opened.solver));
  model.side = opened.side;
  model.photos = std::make_unique<boards::PhotoSolver>(*model.solver, open_cells);
  models[name] = std::move(model);
  return {{"model", name}};
}

Json solve_picture(const Json& request) {
  const auto start = std::chrono::steady_clock::now();
  const std::string file = request.at("file");
  Board own;
  own.model = request.value("model", "sudoku-best");
  Model& model = find_model(own.model);
  const vision::Photo photo = vision::read_photo(formats::read_image(file), file, model.side);
  boards::PhotoAnswer found = model.photos->solve(photo, file);
  own.lattice = std::move(found.lattice);
  own.saw = std::move(found.saw);
  own.answer = std::move(found.answer);
  own.entries = std::move(found.entries);
  own.evidence = {own.answer.beliefs, own.answer.evidence};
  board = std::move(own);
  Json document = document_of(*board);
  document["milliseconds"] = milliseconds_since(start);
  return document;
}

Json solve_again(const Json& request) {
  const auto start = std::chrono::steady_clock::now();
  Board& own = current_board();
  infer::Solver& solver = *find_model(own.model).solver;
  const compile::ConstraintProgram& program = solver.program();
  for (const auto& [name, value] : request.at("corrections").items()) {
    const int position = cli::require_position(program, name, {});
    const auto symbols = program.positions[static_cast<std::size_t>(position)].symbols.size();
    own.corrected.erase(position);
    own.entries.erase(std::remove_if(own.entries.begin(), own.entries.end(),
                                     [&](const boards::Entry& entry) { return entry.position == position; }),
                      own.entries.end());
    std::vector<double> row;
    if (value.is_array()) {  // a digit that was drawn
      const infer::Evidence seen =
          solver.look({{{position, value.get<std::vector<std::uint8_t>>()}}}).front();
      const auto begin = seen.beliefs.begin() + static_cast<std::ptrdiff_t>(position) * program.max_symbols();
      row.assign(begin, begin + static_cast<std::ptrdiff_t>(symbols));
    } else if (value != "") {
      const int symbol = cli::require_symbol(program, position, value.get<std::string>(), {});
      row.assign(symbols, (1 - kCertain) / static_cast<double>(symbols - 1));
      row[static_cast<std::size_t>(symbol)] = kCertain;
      own.corrected.insert(position);
    }
    set_evidence(own.evidence, program, position, std::move(row));
  }
  own.answer = solver.answer({own.evidence}).front();
  Json document = document_of(own);
  document["milliseconds"] = milliseconds_since(start);
  return document;
}

// Beliefs as whole numbers from 0 to 255: a film has some 50,000 of them.
Json film(const Json& request) {
  Model& model = find_model(request.value("model", "sudoku-best"));
  Board& own = current_board();
  const compile::ConstraintProgram& program = model.solver->program();
  const auto symbols = static_cast<std::size_t>(program.max_symbols());
  const native::SoftTp soft_tp(program);
  native::SoftTp::Scratch scratch = soft_tp.scratch();
  std::vector<float> factors(program.families.size() * program.positions.size() * symbols);
  Json frames = Json::array();
  const auto add_frame = [&](const std::vector<float>& beliefs) {
    Json shown = Json::array(), residuals = Json::array();
    for (const float belief : beliefs) shown.push_back(static_cast<int>(belief * 255 + 0.5f));
    soft_tp.leave_one_out(beliefs.data(), factors.data(), scratch);
    for (const compile::Group& group : program.groups) {
      float largest = 0;
      for (const int i : group.positions) {
        for (std::size_t s = 0; s < symbols; ++s) {
          const std::size_t at = static_cast<std::size_t>(i) * symbols + s;
          const float factor =
              factors[static_cast<std::size_t>(group.family) * program.positions.size() * symbols + at];
          largest = std::max(largest, beliefs[at] * (1 - factor));
        }
      }
      residuals.push_back(std::round(largest * 1000) / 1000);
    }
    frames.push_back({{"beliefs", std::move(shown)}, {"residuals", std::move(residuals)}});
  };
  add_frame({own.answer.beliefs.begin(), own.answer.beliefs.end()});
  native::ReasonerLimits limits;
  limits.watch = [&](const float* logits) {
    std::vector<float> beliefs(program.positions.size() * symbols);
    for (std::size_t i = 0; i < program.positions.size(); ++i) {
      const float* row = logits + i * symbols;
      const float most = *std::max_element(row, row + symbols);
      float sum = 0;
      for (std::size_t s = 0; s < symbols; ++s) sum += beliefs[i * symbols + s] = std::exp(row[s] - most);
      for (std::size_t s = 0; s < symbols; ++s) beliefs[i * symbols + s] /= sum;
    }
    add_frame(beliefs);
  };
  if (!model.networks->reasoner()) throw InputError("this model has no reasoner");
  model.networks->guide({{own.answer.beliefs, own.answer.evidence}}, limits);
  std::vector<int> all(program.groups.size());
  for (std::size_t g = 0; g < all.size(); ++g) all[g] = static_cast<int>(g);
  return {{"frames", std::move(frames)}, {"groups", cli::groups_json(program, all)}};
}

}  // namespace as2::web
