// Shipped and trained weights: torch.classes.as2.Network, whose parameters Python's nn.Module shares.
#include "nn/model.h"

#include <torch/custom_class.h>
#include <torch/library.h>

#include "infer/pictures.h"
#include "infer/tensor/network.h"
#include "library/json.h"
#include "library/operators.h"
#include "library/program.h"

namespace as2::python {
namespace {

using torch::Tensor;

struct Network : torch::CustomClassHolder {
  Network(const infer::Card& card, std::shared_ptr<ProgramParts> given)
      : parts(std::move(given)),
        model(nn::load_model(card, parts->program())),
        mask(nn::Structure::of(parts->program()).mask) {
    if (card.network.perception)
      map = infer::map_pictures(parts->program(), card.pictures.positions, card.pictures.classes);
  }

  std::shared_ptr<ProgramParts> parts;
  std::shared_ptr<nn::Model> model;
  infer::PictureMap map;
  Tensor mask;  // [positions, symbols] bool
};
using NetworkPtr = c10::intrusive_ptr<Network>;

// What the card beside the weights says of them.
std::string card(const std::string& weights) {
  return reported([&] {
    const infer::Card read = infer::read_card(weights);
    return text_of({{"task", read.task}, {"preset", read.preset}, {"program", program_source(read.program)}});
  });
}

// The weights that ship for a task, as the command line chooses them.
std::string default_model(const std::string& task) {
  return reported([&] { return infer::default_model(task).string(); });
}

NetworkPtr load(const std::string& weights, const ProgramPtr& program) {
  return reported([&] { return c10::make_intrusive<Network>(infer::read_card(weights), program->parts); });
}

void check_given(const Tensor& pictures, const Tensor& given) {
  if (given.scalar_type() == torch::kBool && given.sizes() == pictures.sizes().slice(0, 2)) return;
  throw InputError("`given` must be bool [batch, " + std::to_string(pictures.size(1)) + "]",
                   {"it says which positions have a picture"});
}

void check_pictures(const Network& self, const Tensor& pictures) {
  if (!self.model->perception) {
    throw InputError("these weights have no perception, so they read no pictures",
                     {"load weights whose card has `pictures`"});
  }
  const auto slots = static_cast<std::int64_t>(self.map.positions.size());
  const auto side = static_cast<std::int64_t>(infer::kPictureSide);
  const bool fits = pictures.dim() == 4 && pictures.size(1) == slots && pictures.size(2) == side &&
                    pictures.size(3) == side;
  if (!fits || !at::isFloatingType(pictures.scalar_type())) {
    throw InputError("pictures are " + std::string(c10::toString(pictures.scalar_type())) + " " +
                         c10::str(pictures.sizes()) + ", expected floating-point numbers [batch, " +
                         std::to_string(slots) + ", 28, 28]",
                     {"ink is 1 and paper 0; one picture per position of `pictured`"});
  }
  const auto parameters = self.model->parameters();
  if (!parameters.empty() && parameters.front().device() != pictures.device()) {
    throw InputError("the pictures are on " + pictures.device().str() + ", the weights on " +
                         parameters.front().device().str(),
                     {"move one of them with .to(device)"});
  }
  if (!pictures.is_cpu()) return;
  const Tensor broken = pictures.detach().isfinite().all(-1).all(-1).logical_not().nonzero();
  if (broken.size(0) == 0) return;
  const int position = self.map.positions[static_cast<std::size_t>(broken[0][1].item<std::int64_t>())];
  throw InputError("the picture of '" +
                       self.parts->program().positions[static_cast<std::size_t>(position)].name +
                       "' in row " + std::to_string(broken[0][0].item<std::int64_t>()) +
                       " has pixels that are NaN or infinite",
                   {"a division by 0 makes such numbers; look at what gave the pictures"});
}

// [batch, pictured positions] bool: which pictures have ink, as infer::has_ink() says of bytes.
Tensor inked(const Tensor& pictures) {
  std::uint8_t faintest = 0;
  while (!infer::has_ink({faintest})) ++faintest;
  return pictures.amax({2, 3}) * 255 > faintest - 0.5;
}

// Pictures [batch, pictured positions, 28, 28] in 0 … 1 and which of them are given [batch, pictured
// positions] bool, by default those with ink → the evidence and the network's beliefs, both [batch,
// positions, symbols], computed in float32.
std::tuple<Tensor, Tensor> forward(const NetworkPtr& self, const Tensor& pictures,
                                   const compat::Optional<Tensor>& chosen) {
  return reported([&] {
    check_pictures(*self, pictures);
    const Tensor given = chosen ? *chosen : inked(pictures);
    check_given(pictures, given);
    const torch::Device device = pictures.device();
    const std::int64_t batch = pictures.size(0), slots = pictures.size(1), positions = self->mask.size(0);
    infer::Batch input;
    input.slot_positions =
        torch::tensor(std::vector<std::int64_t>(self->map.positions.begin(), self->map.positions.end()),
                      torch::kInt64)
            .to(device)
            .expand({batch, slots});
    input.slot_mask = given;
    input.pixels = pictures.to(torch::kFloat32);
    input.shows = torch::zeros({batch, positions}, torch::TensorOptions(torch::kInt64).device(device));
    input.given = torch::zeros({batch, positions}, torch::TensorOptions(torch::kBool).device(device));
    input.evidence = input.given.scatter(1, input.slot_positions, given);
    infer::Network network(*self->model, self->map, self->mask.to(device));
    infer::ForwardOptions options;
    options.perceived_rows = batch;
    options.evidence_gradient = true;
    const infer::Prediction prediction = network.forward(input, options);
    const auto dtype = result_options(pictures).dtype();
    return std::make_tuple(prediction.evidence.to(dtype),
                           torch::softmax(prediction.logits.back(), -1).to(dtype));
  });
}

std::tuple<std::vector<std::string>, std::vector<Tensor>> listed(
    const torch::OrderedDict<std::string, Tensor>& tensors) {
  std::vector<std::string> names;
  std::vector<Tensor> values;
  for (const auto& item : tensors) {
    names.push_back(item.key());
    values.push_back(item.value());
  }
  return {names, values};
}

}  // namespace

void register_model(torch::Library& m) {
  m.class_<Network>("Network")
      .def("pictured",
           [](const NetworkPtr& self) {
             return std::vector<std::int64_t>(self->map.positions.begin(), self->map.positions.end());
           })
      .def("parameters", [](const NetworkPtr& self) { return listed(self->model->named_parameters()); })
      .def("buffers", [](const NetworkPtr& self) { return listed(self->model->named_buffers()); })
      .def("train", [](const NetworkPtr& self, bool on) { self->model->train(on); })
      .def("to",
           [](const NetworkPtr& self, const std::string& device) { self->model->to(torch::Device(device)); })
      .def("forward", forward);
  m.def("card", card);
  m.def("default_model", default_model);
  m.def("load", load);
}

}  // namespace as2::python
