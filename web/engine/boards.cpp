// A board in a picture, as the visitor sees it: what was read and how surely, what the rules made of it, and
// the same again whenever a cell is corrected. A correction is evidence that is certain: it stands in for
// perception at its position.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>

#include "api.h"
#include "as2/resources.h"
#include "boards/boards.h"
#include "cli/beliefs.h"
#include "cli/board_text.h"
#include "formats/image.h"
#include "native/networks.h"
#include "native/soft_tp.h"

namespace as2::web {
namespace {

constexpr double kCertain = 1 - 1e-9;

// A position's symbol as the visitor says it.
using Corrections = std::map<int, int>;

class CorrectedPerceiver : public infer::Perceiver {
 public:
  CorrectedPerceiver(std::shared_ptr<native::Networks> networks, std::shared_ptr<Corrections> corrections)
      : networks_(std::move(networks)), corrections_(std::move(corrections)) {}

  std::vector<std::vector<double>> perceive(const std::vector<const infer::Picture*>& pictures) override {
    std::vector<std::vector<double>> beliefs = networks_->perceive(pictures);
    for (std::size_t n = 0; n < pictures.size(); ++n) {
      const auto own = corrections_->find(pictures[n]->position);
      if (own == corrections_->end()) continue;
      const double rest = (1 - kCertain) / static_cast<double>(beliefs[n].size() - 1);
      beliefs[n].assign(beliefs[n].size(), rest);
      beliefs[n][static_cast<std::size_t>(own->second)] = kCertain;
    }
    return beliefs;
  }

 private:
  std::shared_ptr<native::Networks> networks_;
  std::shared_ptr<Corrections> corrections_;
};

class PlainGuide : public infer::Guide {
 public:
  explicit PlainGuide(std::shared_ptr<native::Networks> networks) : networks_(std::move(networks)) {}
  std::vector<decode::Beliefs> guide(const std::vector<infer::Evidence>& instances) override {
    return networks_->guide(instances);
  }

 private:
  std::shared_ptr<native::Networks> networks_;
};

struct Model {
  std::shared_ptr<native::Networks> networks;
  std::shared_ptr<Corrections> corrections;
  std::unique_ptr<infer::Solver> solver;
};
std::map<std::string, Model> models;

// The board that is shown.
struct Board {
  std::string model;
  vision::BoardReading reading;
  std::map<int, std::vector<std::uint8_t>> pictures;  // by position, drawn ones included
  infer::Answer answer;
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

// Solves the board as it is now; the document of `as2 solve --json --explain` with what the page draws.
Json solve_board(Board& own) {
  Model& model = find_model(own.model);
  infer::Scene scene;
  for (const auto& [position, pixels] : own.pictures) scene.push_back({position, pixels});
  own.answer = model.solver->solve({scene}).front();
  const infer::Solver& solver = *model.solver;
  Json document = cli::board_json(solver, own.answer, /*explain=*/true);
  if (!own.answer.completable) document["error"] = cli::no_completion(solver, own.answer);
  document["groups"] =
      cli::groups_json(solver.program(), own.answer.explanation.broken_groups);  // that the reading breaks
  document["cells"] = Json::array();
  const auto& positions = solver.program().positions;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const bool given = own.pictures.count(static_cast<int>(i)) > 0;
    Json cell = {{"position", positions[i].name},
                 {"corrected", model.corrections->count(static_cast<int>(i)) > 0},
                 {"symbols", positions[i].symbols},
                 {"seen", nullptr},
                 {"believed", Json::array()}};
    if (given) cell["seen"] = Json::array();
    for (std::size_t s = 0; s < positions[i].symbols.size(); ++s) {
      const int position = static_cast<int>(i), symbol = static_cast<int>(s);
      if (given) cell["seen"].push_back(solver.belief(own.answer.beliefs, position, symbol));
      cell["believed"].push_back(solver.belief(own.answer.reasoned, position, symbol));
    }
    const vision::CellPlace& place = own.reading.places[i];
    cell["place"] = {place.x, place.y, place.width, place.height};
    document["cells"].push_back(std::move(cell));
  }
  document["saw"] = own.reading.saw;
  return document;
}

}  // namespace

Json open_boards(const Json& request) {
  const std::string name = request.at("model");
  Model model;
  model.corrections = std::make_shared<Corrections>();
  const auto open = [&](const infer::Card& card, std::shared_ptr<const compile::ConstraintProgram> program) {
    native::EngineOptions engine;
    engine.threads = 1;
    model.networks = std::make_shared<native::Networks>(card, program, engine);
    infer::SolverOptions options;
    options.threads = 1;
    return infer::Solver(program, std::make_unique<CorrectedPerceiver>(model.networks, model.corrections),
                         model.networks->reasoner() ? std::make_unique<PlainGuide>(model.networks) : nullptr,
                         options);
  };
  boards::BoardSolver opened =
      boards::open_board_solver(shipped_file("models/" + name + ".safetensors"), 3, open);
  model.solver = std::make_unique<infer::Solver>(std::move(opened.solver));
  models[name] = std::move(model);
  return {{"model", name}};
}

Json solve_picture(const Json& request) {
  const auto start = std::chrono::steady_clock::now();
  const std::string file = request.at("file");
  Board own;
  own.model = request.value("model", "sudoku-best");
  own.reading = vision::read_board(formats::read_image(file), file, 3);
  find_model(own.model).corrections->clear();
  for (infer::Picture& picture : boards::scene_of(own.reading))
    own.pictures[picture.position] = std::move(picture.pixels);
  board = std::move(own);
  Json document = solve_board(*board);
  document["milliseconds"] = milliseconds_since(start);
  return document;
}

Json solve_again(const Json& request) {
  const auto start = std::chrono::steady_clock::now();
  Board& own = current_board();
  Model& model = find_model(own.model);
  const compile::ConstraintProgram& program = model.solver->program();
  for (const auto& [name, value] : request.at("corrections").items()) {
    const int position = cli::require_position(program, name, {});
    model.corrections->erase(position);
    if (value.is_array()) {  // a digit that was drawn
      own.pictures[position] = value.get<std::vector<std::uint8_t>>();
    } else if (value == "") {
      own.pictures.erase(position);
    } else {
      (*model.corrections)[position] = cli::require_symbol(program, position, value.get<std::string>(), {});
      own.pictures[position].resize(native::PerceptionNet::kPixels);
    }
  }
  Json document = solve_board(own);
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
