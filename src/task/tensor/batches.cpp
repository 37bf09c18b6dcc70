#include "task/tensor/batches.h"

#include <numeric>

#include "as2/error.h"
#include "task/drawing.h"

namespace as2::task {
namespace {

namespace F = torch::nn::functional;

}  // namespace

Batches::Batches(const Instances& instances, const ImagePool& pool, const infer::PictureMap& map,
                 const BatchOptions& options, torch::Device device, const ListedInstances& listed)
    : instances_(tensors_of(instances, device)),
      pixels_(pictures_of(pool.pixels, device)),
      options_(options),
      device_(device),
      generator_(at::globalContext().defaultGenerator(device).clone()) {
  AS2_REQUIRE(options_.batch % options_.world == 0, "the batch must divide evenly among the ranks");
  may_have_picture_ = torch::zeros({instances.positions()}, torch::kBool);
  for (const int position : map.positions) may_have_picture_[position] = true;
  may_have_picture_ = may_have_picture_.to(device);
  torch::Tensor slots = instances_.evidence & may_have_picture_;
  if (instances_.pictures.defined()) {
    no_picture_ = instances_.pictures == kNoPicture;
    instances_.pictures = instances_.pictures.masked_fill(no_picture_, -1);
    slots = slots & ~no_picture_;
  }
  // Under a symmetry evidence moves, and every cell may hold a picture: the count stays the same.
  slots_ = size() > 0 ? slots.sum(1).max().item<std::int64_t>() : 0;
  if (listed.share > 0) {
    AS2_REQUIRE(listed.instances.size() > 0, "a share of listed examples needs some");
    AS2_REQUIRE(!instances.pictures.defined() && !listed.instances.pictures.defined(),
                "listed examples have their pictures drawn");
    AS2_REQUIRE(!instances.atoms.defined(), "listed examples observe no derived atoms");
    listed_ = tensors_of(listed.instances, device);
    listed_share_ = listed.share;
    listed_hints_ = listed.hints;
    const torch::Tensor shown = (listed_.evidence & may_have_picture_).sum(1);
    const torch::Tensor hidden = (~listed_.evidence).sum(1);
    const torch::Tensor most = shown + (hidden * listed.hints).ceil().to(torch::kInt64);
    slots_ = std::min(std::max(slots_, most.max().item<std::int64_t>()),
                      static_cast<std::int64_t>(map.positions.size()));
  }
  class_of_ = infer::class_tensor(map, device);
  class_count_ = torch::bincount(torch::tensor(pool.classes, torch::kInt64), {}, map.classes + 1).to(device);
  class_begin_ = class_count_.cumsum(0) - class_count_;
  if (instances_.files.defined()) {
    pixels_ = pixels_.defined() ? torch::cat({pixels_, instances_.files}) : instances_.files;
    const torch::Tensor& named = instances_.pictures;
    instances_.pictures = torch::where(named <= kFirstFile, pool.size() + kFirstFile - named, named);
  }
  if (options_.symmetries) {
    const auto box = sudoku::box_of_cells(static_cast<std::size_t>(instances.positions()));
    if (!box) throw InputError("data.symmetries: the program's positions are not the cells of a Sudoku");
    symmetries_.emplace(*box, device);
  }
}

std::int64_t Batches::batches() const {
  if (!options_.shuffle) return (size() + options_.batch - 1) / options_.batch;
  return std::max<std::int64_t>(1, size() / options_.batch);
}

const torch::Tensor& Batches::order(std::int64_t epoch) {
  const std::int64_t wanted = options_.shuffle ? epoch : 0;
  if (order_epoch_ != wanted) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(size()));
    std::iota(order.begin(), order.end(), 0);
    if (options_.shuffle) {
      Random random(options_.seed, stream_of(epoch, 0, 0));
      random.shuffle(order.begin(), static_cast<std::uint32_t>(order.size()));
    }
    const std::size_t needed = static_cast<std::size_t>(batches() * options_.batch);
    for (std::size_t n = 0; order.size() < needed; ++n) order.push_back(order[n]);
    order_ = torch::tensor(order).to(device_);
    order_epoch_ = wanted;
  }
  return order_;
}

torch::Tensor Batches::own_rows(const torch::Tensor& all) const {
  return all.slice(0, options_.rank, all.size(0), options_.world);
}

Batch Batches::batch(std::int64_t epoch, std::int64_t index) {
  torch::NoGradGuard no_grad;
  const torch::Tensor rows = own_rows(order(epoch).narrow(0, index * options_.batch, options_.batch));
  const auto taken = [&](const torch::Tensor& all) { return all.index_select(0, rows); };
  Batch batch;
  batch.labels = taken(instances_.labels).to(torch::kInt64);
  batch.shows = taken(instances_.shows).to(torch::kInt64);
  batch.evidence = taken(instances_.evidence);
  batch.known = taken(instances_.known);
  batch.observed = taken(instances_.observed);
  if (instances_.atoms.defined()) batch.atoms = taken(instances_.atoms);
  if (listed_share_ > 0) mix_in_listed(batch, epoch, index);
  if (symmetries_) apply_symmetry(batch, epoch, index);
  const torch::Tensor pictured = batch.evidence & may_have_picture(rows);
  batch.given = batch.evidence & (batch.shows >= 0) & (batch.known | ~pictured);
  batch.shows = batch.shows.clamp_min(0);
  // What may not be used goes no further.
  batch.labels = torch::where(batch.known | batch.observed, batch.labels, torch::zeros_like(batch.labels));
  if (own(options_.picture_rows) > 0 && pixels_.defined()) add_pictures(batch, rows, epoch, index);
  return batch;
}

torch::Tensor Batches::may_have_picture(const torch::Tensor& rows) const {
  return no_picture_.defined() ? may_have_picture_ & ~no_picture_.index_select(0, rows) : may_have_picture_;
}

torch::Tensor Batches::uniform(torch::IntArrayRef shape, std::uint64_t seed) {
  generator_.set_current_seed(seed);
  return torch::rand(shape, generator_, torch::TensorOptions().device(device_));
}

void Batches::mix_in_listed(Batch& batch, std::int64_t epoch, std::int64_t index) {
  const std::int64_t positions = batch.labels.size(1), count = listed_.size();
  const std::uint64_t seed = scatter(options_.seed ^ stream_of(epoch, index, 3));
  const torch::Tensor numbers = own_rows(uniform({options_.batch, positions + 3}, seed));
  const torch::Tensor here = numbers.narrow(1, 0, 1) < listed_share_;
  const torch::Tensor which = (numbers.select(1, 1) * count).to(torch::kInt64).clamp_max(count - 1);
  const auto taken = [&](const torch::Tensor& all) { return all.index_select(0, which); };
  torch::Tensor evidence = taken(listed_.evidence);
  const torch::Tensor shows = taken(listed_.shows).to(torch::kInt64);
  if (listed_hints_ > 0) {
    // The hidden positions in a random order, of which the first become evidence.
    const torch::Tensor hidden = ~evidence & (shows >= 0);
    const torch::Tensor order =
        numbers.narrow(1, 3, positions).masked_fill(~hidden, 2.0).argsort(1, false).argsort(1, false);
    const torch::Tensor share = (numbers.narrow(1, 2, 1) * 2 - 1).clamp_min(0) * listed_hints_;
    evidence = evidence | (order < (hidden.sum(1, true) * share).to(torch::kInt64));
  }
  batch.labels = torch::where(here, taken(listed_.labels).to(torch::kInt64), batch.labels);
  batch.shows = torch::where(here, shows, batch.shows);
  batch.evidence = torch::where(here, evidence, batch.evidence);
  batch.known = torch::where(here, taken(listed_.known), batch.known);
  batch.observed = torch::where(here, taken(listed_.observed), batch.observed);
}

void Batches::apply_symmetry(Batch& batch, std::int64_t epoch, std::int64_t index) {
  const std::uint64_t seed = scatter(options_.seed ^ stream_of(epoch, index, 1));
  const torch::Tensor numbers = own_rows(uniform({options_.batch, symmetries_->numbers()}, seed));
  const Symmetries::Drawn drawn = symmetries_->draw(numbers);
  for (torch::Tensor* digits : {&batch.labels, &batch.shows}) *digits = drawn.moved_digits(*digits);
  for (torch::Tensor* flags : {&batch.evidence, &batch.known, &batch.observed}) *flags = drawn.moved(*flags);
}

void Batches::add_pictures(Batch& batch, const torch::Tensor& rows, std::int64_t epoch, std::int64_t index) {
  const std::int64_t with_all = std::min(options_.picture_rows, options_.batch), with = own(with_all);
  const torch::Tensor here = (batch.evidence & may_have_picture(rows)).narrow(0, 0, with);
  // Positions with a picture come first, in order; the rest of the slots is padding.
  const torch::Tensor slots =
      std::get<1>(here.to(torch::kUInt8).sort(/*stable=*/true, 1, /*descending=*/true)).narrow(1, 0, slots_);
  batch.slot_mask = here.gather(1, slots);
  batch.slot_positions = torch::where(batch.slot_mask, slots, torch::zeros_like(slots));
  const std::uint64_t seed = picture_seed(options_.seed, epoch, index);
  const std::int64_t numbers_each = 1 + (options_.distortion > 0 ? kDistortionNoise : 0);
  const torch::Tensor numbers = own_rows(uniform({with_all, slots_, numbers_each}, seed));
  const torch::Tensor shown = batch.classes_at_slots(batch.shows, class_of_).flatten();
  const torch::Tensor count = class_count_.index_select(0, shown),
                      first = class_begin_.index_select(0, shown);
  const torch::Tensor nth = (numbers.select(2, 0).flatten() * count).to(torch::kInt64);
  torch::Tensor picture =
      (first + nth.minimum((count - 1).clamp_min(0))).clamp_max(pixels_.size(0) - 1).view({with, slots_});
  if (instances_.pictures.defined()) {
    const torch::Tensor named = instances_.pictures.index_select(0, rows.narrow(0, 0, with))
                                    .gather(1, batch.slot_positions)
                                    .to(torch::kInt64);
    picture = torch::where(named >= 0, named, picture);
  }
  torch::Tensor pixels = pixels_.index_select(0, picture.flatten()).to(torch::kFloat32).div_(255);
  if (options_.distortion > 0) {
    pixels = distorted(pixels, numbers.narrow(2, 1, kDistortionNoise).flatten(0, 1), options_.distortion);
  }
  pixels = pixels.view({with, slots_, 28, 28});
  batch.pixels = pixels * batch.slot_mask.view({with, slots_, 1, 1});
}

torch::Tensor distorted(const torch::Tensor& images, const torch::Tensor& noise, double strength) {
  const std::int64_t n = images.size(0);
  const torch::Tensor u = (noise.narrow(1, 0, 6) * 2 - 1) * strength;
  const torch::Tensor turn = u.select(1, 0) * 0.25, shear = u.select(1, 1) * 0.2;
  const torch::Tensor wide = torch::exp(u.select(1, 2) * 0.15), high = torch::exp(u.select(1, 3) * 0.15);
  const torch::Tensor c = torch::cos(turn), s = torch::sin(turn);
  const torch::Tensor theta =
      torch::stack({torch::stack({wide * c, wide * (shear * c - s), u.select(1, 4) * 0.14}, 1),
                    torch::stack({high * s, high * (shear * s + c), u.select(1, 5) * 0.14}, 1)},
                   1);
  torch::Tensor grid = F::affine_grid(theta, {n, 1, 28, 28}, /*align_corners=*/false);
  const torch::Tensor field = (noise.narrow(1, 6, 2 * 49).view({n, 2, 7, 7}) * 2 - 1) * (0.09 * strength);
  const torch::Tensor smooth =
      F::interpolate(F::avg_pool2d(field, F::AvgPool2dFuncOptions(3).stride(1).padding(1)),
                     F::InterpolateFuncOptions()
                         .size(std::vector<std::int64_t>{28, 28})
                         .mode(torch::kBilinear)
                         .align_corners(false));
  grid = grid + smooth.permute({0, 2, 3, 1});
  return F::grid_sample(images.unsqueeze(1), grid,
                        F::GridSampleFuncOptions()
                            .mode(torch::kBilinear)
                            .padding_mode(torch::kZeros)
                            .align_corners(false))
      .squeeze(1);
}

}  // namespace as2::task
