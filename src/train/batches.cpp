#include "train/batches.h"

#include <numeric>

#include "as2/error.h"
#include "random.h"

namespace as2::train {
namespace {

namespace F = torch::nn::functional;

std::uint64_t stream_of(std::int64_t epoch, std::int64_t index, std::uint64_t purpose) {
  return scatter(scatter(static_cast<std::uint64_t>(epoch) * 8 + purpose) ^
                 static_cast<std::uint64_t>(index));
}

// Uniform numbers in 0 … 1 on the device, from the device's own generator seeded afresh.
torch::Tensor uniform(torch::IntArrayRef shape, std::uint64_t seed, torch::Device device) {
  at::Generator generator = at::globalContext().defaultGenerator(device);
  generator.set_current_seed(seed);
  return torch::rand(shape, torch::TensorOptions().device(device));
}

// All orders of the lines of a Sudoku of this box that keep bands together: every order of bands times every
// order within each. Box 4 has eight million; four thousand drawn at random stand for them.
torch::Tensor line_orders(int box) {
  const int side = box * box;
  std::vector<std::int64_t> rows;
  const auto add = [&](const std::vector<std::vector<int>>& within, const std::vector<int>& bands) {
    for (int b = 0; b < box; ++b) {
      for (int l = 0; l < box; ++l) rows.push_back(bands[b] * box + within[b][l]);
    }
  };
  std::vector<int> identity(box);
  std::iota(identity.begin(), identity.end(), 0);
  if (box > 3) {
    Random random(0);
    for (int n = 0; n < 4096; ++n) {
      std::vector<std::vector<int>> within(box, identity);
      std::vector<int> bands = identity;
      for (auto& order : within) random.shuffle(order.begin(), box);
      random.shuffle(bands.begin(), box);
      add(within, bands);
    }
  } else {
    std::vector<std::vector<int>> orders;
    std::vector<int> order = identity;
    do orders.push_back(order);
    while (std::next_permutation(order.begin(), order.end()));
    const int count = static_cast<int>(orders.size());
    int total = count;
    for (int b = 0; b < box; ++b) total *= count;
    for (int n = 0; n < total; ++n) {
      std::vector<std::vector<int>> within;
      int rest = n / count;
      for (int b = 0; b < box; ++b, rest /= count) within.push_back(orders[rest % count]);
      add(within, orders[n % count]);
    }
  }
  return torch::tensor(rows).view({-1, side});
}

}  // namespace

ImagePool ImagePool::of(const torch::Tensor& pixels, const torch::Tensor& classes,
                        std::vector<std::string> names) {
  const torch::Tensor order = std::get<1>(torch::sort(classes, /*stable=*/true, 0, /*descending=*/false));
  torch::Tensor place = torch::empty_like(order);
  place.index_put_({order}, torch::arange(order.size(0)));
  return {pixels.index_select(0, order).contiguous(), classes.index_select(0, order), std::move(names),
          place};
}

ImagePool ImagePool::to(torch::Device device) const {
  return pixels.defined() ? ImagePool{pixels.to(device), classes.to(device), names, place} : *this;
}

Instances Instances::to(torch::Device device) const {
  return {labels.to(device), evidence.to(device), pictures.defined() ? pictures.to(device) : pictures};
}

void Batch::copy_from(const Batch& other) {
  const auto load = [](torch::Tensor& to, const torch::Tensor& from) {
    if (!from.defined()) return;
    if (to.defined()) {
      to.copy_(from);
    } else {
      to = from.clone();
    }
  };
  load(labels, other.labels);
  load(known, other.known);
  load(evidence, other.evidence);
  load(slot_positions, other.slot_positions);
  load(slot_mask, other.slot_mask);
  load(pixels, other.pixels);
}

torch::Tensor Batch::shown(const torch::Tensor& class_of) const {
  const torch::Tensor symbols = labels.narrow(0, 0, slot_positions.size(0)).gather(1, slot_positions);
  const torch::Tensor cells = (slot_positions * class_of.size(1) + symbols).flatten();
  return class_of.flatten().index_select(0, cells).view_as(symbols);
}

Batches::Batches(Instances instances, ImagePool pool, PictureMap map, const BatchOptions& options,
                 torch::Device device)
    : instances_(instances.to(device)),
      pool_(pool.to(device)),
      map_(std::move(map)),
      options_(options),
      device_(device) {
  AS2_REQUIRE(options_.batch % options_.world == 0, "the batch must divide evenly among the ranks");
  const std::int64_t positions = instances.labels.size(1);
  may_have_picture_ = torch::zeros({positions}, torch::kBool);
  for (const int position : map_.positions) may_have_picture_[position] = true;
  const torch::Tensor slots = instances.evidence & may_have_picture_;
  slots_ = instances.size() > 0 ? slots.sum(1).max().item<std::int64_t>() : 0;
  // Under a symmetry evidence moves, and every cell may hold a picture: the count stays the same.
  may_have_picture_ = may_have_picture_.to(device);
  map_.class_of = map_.class_of.to(device);
  if (pool_.pixels.defined()) {
    const auto classes = static_cast<std::int64_t>(pool_.names.size());
    const torch::Tensor counts = torch::bincount(pool_.classes, {}, classes + 1);
    class_count_ = counts;
    class_begin_ = counts.cumsum(0) - counts;
  }
  if (options_.symmetry_box > 0) line_orders_ = line_orders(options_.symmetry_box).to(device);
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
  Batch batch;
  batch.labels = instances_.labels.index_select(0, rows).to(torch::kInt64);
  batch.evidence = instances_.evidence.index_select(0, rows);
  if (options_.symmetry_box > 0) apply_symmetry(batch, epoch, index);
  batch.known = batch.labels >= 0;
  batch.labels = batch.labels.clamp_min(0);
  if (own(options_.picture_rows) > 0 && pool_.pixels.defined()) add_pictures(batch, rows, epoch, index);
  return batch;
}

void Batches::apply_symmetry(Batch& batch, std::int64_t epoch, std::int64_t index) const {
  const std::int64_t side = options_.symmetry_box * options_.symmetry_box;
  const std::uint64_t seed = scatter(options_.seed ^ stream_of(epoch, index, 1));
  const torch::Tensor numbers = own_rows(uniform({options_.batch, side + 3}, seed, device_));
  const auto orders = [&](std::int64_t column) {
    const std::int64_t count = line_orders_.size(0);
    const torch::Tensor choice = (numbers.select(1, column) * count).to(torch::kInt64).clamp_max(count - 1);
    return line_orders_.index_select(0, choice);
  };
  const torch::Tensor down = orders(0).unsqueeze(2), across = orders(1).unsqueeze(1);
  const torch::Tensor transpose = (numbers.select(1, 2) < 0.5).view({-1, 1, 1});
  const torch::Tensor from = torch::where(transpose, across * side + down, down * side + across).flatten(1);
  batch.labels = batch.labels.gather(1, from);
  batch.evidence = batch.evidence.gather(1, from);
  const torch::Tensor renamed =
      numbers.narrow(1, 3, side).argsort(1, false).gather(1, batch.labels.clamp_min(0));
  batch.labels = torch::where(batch.labels < 0, batch.labels, renamed);
}

void Batches::add_pictures(Batch& batch, const torch::Tensor& rows, std::int64_t epoch,
                           std::int64_t index) const {
  const std::int64_t with_all = std::min(options_.picture_rows, options_.batch), with = own(with_all);
  const torch::Tensor here = (batch.evidence & may_have_picture_).narrow(0, 0, with);
  // Positions with a picture come first, in order; the rest of the slots is padding.
  const torch::Tensor slots =
      std::get<1>(here.to(torch::kUInt8).sort(/*stable=*/true, 1, /*descending=*/true)).narrow(1, 0, slots_);
  batch.slot_mask = here.gather(1, slots);
  batch.slot_positions = torch::where(batch.slot_mask, slots, torch::zeros_like(slots));
  const std::uint64_t seed = scatter(options_.seed ^ stream_of(epoch, index, 2));
  const std::int64_t numbers_each = 1 + (options_.distortion > 0 ? kDistortionNoise : 0);
  const torch::Tensor numbers = own_rows(uniform({with_all, slots_, numbers_each}, seed, device_));
  torch::Tensor picture;
  if (instances_.pictures.defined()) {
    picture = instances_.pictures.index_select(0, rows.narrow(0, 0, with)).gather(1, batch.slot_positions);
    picture = picture.to(torch::kInt64).clamp_min(0);
  } else {
    const torch::Tensor shown = batch.shown(map_.class_of).flatten();
    const torch::Tensor count = class_count_.index_select(0, shown),
                        first = class_begin_.index_select(0, shown);
    const torch::Tensor nth = (numbers.select(2, 0).flatten() * count).to(torch::kInt64);
    picture = (first + nth.minimum((count - 1).clamp_min(0)))
                  .clamp_max(pool_.pixels.size(0) - 1)
                  .view({with, slots_});
  }
  torch::Tensor pixels = pool_.pixels.index_select(0, picture.flatten()).to(torch::kFloat32).div_(255);
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

}  // namespace as2::train
