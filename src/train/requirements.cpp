#include "train/requirements.h"

#include <algorithm>

#include "as2/error.h"

namespace as2::train {
namespace {

using compile::Group;

bool some(const torch::Tensor& flags) {
  return flags.any().item<bool>();
}

// A constraint that reads a picture and a position which nothing tells the beliefs of: fuzzy truth takes
// these as they are, so it would stay what it is.
void refuse_hidden_positions(const compile::ConstraintProgram& program, const torch::Tensor& pictured,
                             const task::InstanceTensors& examples) {
  const torch::Tensor told = (examples.evidence | examples.observed).any(0);
  for (const Group& group : program.groups) {
    const auto first = [&](const torch::Tensor& flags, bool value) {
      return std::find_if(group.positions.begin(), group.positions.end(),
                          [&](int position) { return flags[position].item<bool>() == value; });
    };
    const auto hidden = first(told, false);
    if (hidden == group.positions.end() || first(pictured, true) == group.positions.end()) continue;
    const compile::Family& family = program.families[static_cast<std::size_t>(group.family)];
    const std::string& name = program.positions[static_cast<std::size_t>(*hidden)].name;
    throw InputError(
        family.location,
        "losses.ltn cannot learn from `" + family.name + "`, which depends on " + name +
            ": no picture shows it, it is not observed, and fuzzy truth does not sum over the unknown",
        {"name it in labels.observed if it is known, or use losses.query"});
  }
}

}  // namespace

torch::Tensor says_something(const task::InstanceTensors& examples, bool with_labels) {
  torch::Tensor said = (with_labels ? examples.known | examples.observed : examples.observed).any(1);
  return examples.atoms.defined() ? said | (examples.atoms >= 0).any(1) : said;
}

void check_losses(const Config& config, const task::Task& task, const nn::Model& model,
                  const task::Instances& given, const task::Instances& validation) {
  const task::InstanceTensors examples = task::tensors_of(given, torch::kCPU);
  const auto weighs = [&](const char* term) { return config.losses.weight(term) > 0; };
  const std::vector<Group>& groups = task.program().groups;
  const std::vector<task::ObservedAtom>& atoms = task.supervision().atoms;
  const bool reads = !model.perception.is_empty() && !task.pictures().positions.empty();
  torch::Tensor pictured = torch::zeros({examples.labels.size(1)}, torch::kBool);
  for (const int position : task.pictures().positions) pictured[position] = true;
  torch::Tensor with_picture = examples.evidence & pictured;
  if (examples.pictures.defined()) with_picture = with_picture & (examples.pictures != task::kNoPicture);

  for (const char* term : {"perception", "query", "a-nesi"}) {
    if (!weighs(term) || reads) continue;
    throw InputError(
        std::string("losses.") + term +
            " has a weight, but there is no perception or no position has pictures",
        {std::string("set images.positions and model.perception.preset, or losses.") + term + ".weight = 0"});
  }
  if (model.perception.is_empty() && !model.reasoner)
    throw InputError("there is nothing to train: the network has neither a perception nor a reasoner",
                     {"set images.positions, or model.reasoner.kind"});
  if (config.train.freeze_epochs < 0 && (weighs("query") || weighs("a-nesi") || !model.reasoner))
    throw InputError(
        "train.freeze_epochs = -1 freezes perception for good, and nothing else is there for the losses to "
        "train",
        {"set train.freeze_epochs = 0"});
  const std::pair<const char*, torch::Tensor> labelled[] = {
      {"perception", with_picture}, {"evidence", examples.evidence}, {"latent", ~examples.evidence}};
  for (const auto& [term, where] : labelled) {
    if (!weighs(term) || !some(where) || some(where & examples.known)) continue;
    const std::string loss = std::string("losses.") + term, none = "set " + loss + ".weight = 0, or ";
    if (!some(where & (examples.labels >= 0)))
      throw InputError(loss + " has a weight, but no example labels a position that it reads",
                       {none + "add \"labels\" to the lines"});
    throw InputError(loss + " has a weight, but labels.positions and labels.at leave it no label",
                     {none + "name its positions"});
  }
  if (weighs("satisfaction") && std::none_of(groups.begin(), groups.end(), [](const Group& group) {
        return std::holds_alternative<compile::Linears>(group.content);
      })) {
    throw InputError("losses.satisfaction covers no family: the program bounds no sum and no count",
                     {"losses.query is the likelihood of anything that labels.observed names"});
  }
  for (const char* term : {"constraint", "semantic", "ltn"}) {
    if (!weighs(term) || !groups.empty() || (term != std::string("constraint") && !atoms.empty())) continue;
    throw InputError(std::string("losses.") + term + " covers no family: the program has no constraint",
                     {std::string("set losses.") + term + ".weight = 0"});
  }
  if (weighs("ltn") && !model.reasoner) refuse_hidden_positions(task.program(), pictured, examples);
  torch::Tensor open = ~examples.observed;
  if (!model.reasoner) open = open & with_picture;
  for (const char* term : {"constraint", "satisfaction", "semantic", "ltn"}) {
    if (!weighs(term) || some(open)) continue;
    throw InputError(
        std::string("losses.") + term +
            " would be given the label of every position it reads: "
            "labels.observed leaves it nothing to learn from",
        {"name in labels.observed what is known without the pictures, such as the sum of an addition"});
  }
  if (!atoms.empty() && !config.losses.reads_atoms()) {
    throw InputError("labels.observed names the derived atom " + atoms.front().name +
                         ", which only losses.query can be given, or semantic, ltn or a-nesi",
                     {"set losses.query.weight above 0"});
  }
  if (!atoms.empty() && config.losses.searches()) {
    throw InputError(
        "losses.query.approx is \"search\", which fixes observed positions, and labels.observed names the "
        "derived atom " +
            atoms.front().name,
        {"observe positions alone, or choose another losses.query.approx"});
  }
  if (model.reasoner && reads && config.train.perceived_share < 1) {
    for (const char* term : {"query", "a-nesi"}) {
      if (weighs(term))
        throw InputError(std::string("losses.") + term +
                             " reads pictures, and train.perceived_share below 1 leaves some unread",
                         {"set train.perceived_share = 1"});
    }
    if (some(with_picture & ~examples.known))
      throw InputError(
          "train.perceived_share below 1 gives the reasoner labels in place of pictures, and "
          "labels.positions hides some of them",
          {"set train.perceived_share = 1, or let those labels be used"});
  }
  const auto refuse = [&](const torch::Tensor& rows, const std::string& what,
                          const std::vector<std::string>& notes) {
    const std::int64_t count = rows.sum().item<std::int64_t>();
    if (count == 0) return;
    SourceLocation place;
    if (given.lines.defined())
      place = {config.data.path, given.lines[rows.nonzero()[0][0].item<std::int64_t>()][0]};
    throw InputError(
        place, std::to_string(count) + " of " + std::to_string(examples.size()) + " examples " + what, notes);
  };
  for (const char* term : {"query", "a-nesi"}) {
    if (!weighs(term)) continue;
    const std::string to = std::string(" to losses.") + term;
    if (!config.losses.searches() || term == std::string("a-nesi"))
      refuse(~says_something(examples, false), "observe nothing, and say nothing" + to,
             {"name positions or derived atoms in labels.observed, for example total(_)",
              "labels that leave an example's derived atoms open need \"observed\" in its line"});
    if (given.lines.defined())
      refuse(~with_picture.any(1), "have no picture, and can teach nothing" + to,
             {"name one: \"images\": {\"" +
              task.program().positions[static_cast<std::size_t>(task.pictures().positions[0])].name +
              "\": \"a.png\"}, or leave the line out"});
  }
  // The rules alone may teach, and then say how well: the program has an answer with what is read, or none.
  const bool rules_alone = (weighs("semantic") || config.losses.searches()) && !model.reasoner;
  if (!rules_alone && !some(says_something(task::tensors_of(validation, torch::kCPU), true)))
    throw InputError(
        "nothing may be known of the validation examples, so there is nothing to choose a model by",
        {"name positions in labels.positions, or what is observed in labels.observed"});
}

}  // namespace as2::train
