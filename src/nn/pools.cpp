// Composed of LibTorch's operations, pooling gathers every member into memory, several times over, and the
// gradient that autograd derives scatters with atomic additions. Here forward and backward are each one walk
// over lists: a pool reads its members, and an atom reads the few pools that hold it,
//
//   ∂x(a) = Σ_{g ∋ a} ∂mean_g / |g| + [x(a) = max_g] · ∂max_g / |{b ∈ g : x(b) = max_g}|
//
// so that nothing is scattered and a result does not depend on the order in which threads run.
#include "nn/pools.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <map>

#include "as2/error.h"
#include "nn/cuda_call.h"
#include "nn/pools_cuda.h"
#include "once_differentiable.h"

namespace as2::nn {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

// Rows of different length as one tensor [rows, longest].
template <class T>
Tensor padded(const std::vector<std::vector<T>>& rows, T padding, torch::ScalarType type) {
  std::size_t width = 1;
  for (const auto& row : rows) width = std::max(width, row.size());
  Tensor tensor =
      torch::empty({static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(width)}, type);
  T* to = tensor.data_ptr<T>();
  for (const auto& row : rows) {
    std::fill(std::copy(row.begin(), row.end(), to), to + width, padding);
    to += width;
  }
  return tensor;
}

tensor_list tables_of(const Pools& pools) {
  return {pools.members, pools.member_share, pools.inverse_size, pools.holders, pools.holder_share};
}

// The pools' tables among the saved tensors, which start at index `first`.
PoolLists lists_of(const tensor_list& tensors, std::size_t first = 0) {
  const Tensor *t = tensors.data() + first, &members = t[0], &holders = t[3];
  PoolLists lists;
  lists.pools = members.size(0);
  lists.width = static_cast<int>(members.size(1));
  lists.atoms = holders.size(0);
  lists.degree = static_cast<int>(holders.size(1));
  lists.members = elements<std::int32_t>(members);
  lists.member_share = elements<float>(t[1]);
  lists.inverse_size = elements<float>(t[2]);
  lists.holders = elements<std::int32_t>(holders);
  lists.holder_share = elements<float>(t[4]);
  return lists;
}

// Runs visit(element, row) for every batch element and row, in parallel.
template <class Visit>
void for_each_row(std::int64_t batch, std::int64_t rows, Visit visit) {
  at::parallel_for(0, batch * rows, 64, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) visit(n / rows, n % rows);
  });
}

void pool_on_cpu(const PoolLists& lists, std::int64_t batch, std::int64_t channels, const float* x,
                 float* pooled, std::uint16_t* ties) {
  for_each_row(batch, lists.pools, [&](std::int64_t element, std::int64_t pool) {
    const std::int32_t* members = lists.members + pool * lists.width;
    const float* from = x + element * lists.atoms * channels;
    const std::int64_t item = pool * batch + element;
    float* __restrict mean = pooled + item * 2 * channels;
    float* __restrict maximum = mean + channels;
    std::fill_n(mean, 2 * channels, 0.f);
    for (int j = 0; j < lists.width && members[j] >= 0; ++j) {
      const float* value = from + members[j] * channels;
      if (j == 0) {
        std::copy_n(value, channels, mean);
        std::copy_n(value, channels, maximum);
        continue;
      }
      for (std::int64_t c = 0; c < channels; ++c) {
        mean[c] += value[c];
        maximum[c] = value[c] > maximum[c] ? value[c] : maximum[c];
      }
    }
    for (std::int64_t c = 0; c < channels; ++c) mean[c] *= lists.inverse_size[pool];
    if (!ties) return;
    std::uint16_t* __restrict count = ties + item * channels;
    std::fill_n(count, channels, std::uint16_t{0});
    for (int j = 0; j < lists.width && members[j] >= 0; ++j) {
      const float* value = from + members[j] * channels;
      for (std::int64_t c = 0; c < channels; ++c) count[c] += value[c] == maximum[c];
    }
  });
}

void pool_backward_on_cpu(const PoolLists& lists, std::int64_t batch, std::int64_t channels, const float* x,
                          const float* pooled, const std::uint16_t* ties, const float* upstream,
                          float* gradient) {
  for_each_row(batch, lists.atoms, [&](std::int64_t element, std::int64_t atom) {
    const std::int32_t* holders = lists.holders + atom * lists.degree;
    const float* value = x + (element * lists.atoms + atom) * channels;
    float* __restrict sum = gradient + (element * lists.atoms + atom) * channels;
    std::fill_n(sum, channels, 0.f);
    for (int k = 0; k < lists.degree && holders[k] >= 0; ++k) {
      const float share = lists.inverse_size[holders[k]];
      const std::int64_t item = holders[k] * batch + element;
      const float *to_mean = upstream + item * 2 * channels, *to_maximum = to_mean + channels;
      const float* maximum = pooled + item * 2 * channels + channels;
      const std::uint16_t* count = ties + item * channels;
      for (std::int64_t c = 0; c < channels; ++c) {
        sum[c] += share * to_mean[c] + (value[c] == maximum[c] ? to_maximum[c] / count[c] : 0.f);
      }
    }
  });
}

void spread_on_cpu(const PoolLists& lists, std::int64_t batch, std::int64_t channels, const float* x,
                   const float* messages, float* output) {
  for_each_row(batch, lists.atoms, [&](std::int64_t element, std::int64_t atom) {
    const std::int32_t* holders = lists.holders + atom * lists.degree;
    const float* shares = lists.holder_share + atom * lists.degree;
    float* __restrict sum = output + (element * lists.atoms + atom) * channels;
    std::copy_n(x + (element * lists.atoms + atom) * channels, channels, sum);
    for (int k = 0; k < lists.degree && holders[k] >= 0; ++k) {
      const float* message = messages + (holders[k] * batch + element) * channels;
      for (std::int64_t c = 0; c < channels; ++c) sum[c] += shares[k] * message[c];
    }
  });
}

void spread_backward_on_cpu(const PoolLists& lists, std::int64_t batch, std::int64_t channels,
                            const float* upstream, float* gradient) {
  for_each_row(batch, lists.pools, [&](std::int64_t element, std::int64_t pool) {
    const std::int32_t* members = lists.members + pool * lists.width;
    const float* shares = lists.member_share + pool * lists.width;
    float* __restrict sum = gradient + (pool * batch + element) * channels;
    std::fill_n(sum, channels, 0.f);
    for (int j = 0; j < lists.width && members[j] >= 0; ++j) {
      const float* value = upstream + (element * lists.atoms + members[j]) * channels;
      for (std::int64_t c = 0; c < channels; ++c) sum[c] += shares[j] * value[c];
    }
  });
}

struct Pool : torch::autograd::Function<Pool> {
  static Tensor forward(AutogradContext* context, const Tensor& given, const tensor_list& tables,
                        bool differentiate) {
    const Tensor x = given.contiguous();
    const auto lists = lists_of(tables);
    const std::int64_t batch = x.size(0), channels = x.size(2);
    const Tensor pooled = torch::empty({lists.pools, batch, 2 * channels}, x.options());
    Tensor ties;
    if (differentiate) ties = torch::empty({lists.pools, batch, channels}, x.options().dtype(torch::kInt16));
    auto* const counts = ties.defined() ? elements<std::uint16_t>(ties) : nullptr;
    if (x.is_cuda()) {
      cuda_call(x, [&](auto type, void* stream) {
        using T = decltype(type);
        cuda::pool<T>(lists, batch, channels, elements<T>(x), elements<T>(pooled), counts, stream);
      });
    } else {
      pool_on_cpu(lists, batch, channels, elements<float>(x), elements<float>(pooled), counts);
    }
    tensor_list saved = {x, pooled, ties};
    saved.insert(saved.end(), tables.begin(), tables.end());
    if (differentiate) context->save_for_backward(std::move(saved));
    keep_edges(context, {given});
    return pooled;
  }

  static tensor_list backward(AutogradContext* context, const tensor_list& gradients) {
    const auto saved = context->get_saved_variables();
    const Tensor &x = saved[0], &pooled = saved[1], upstream = gradients[0].contiguous();
    const auto* const counts = elements<std::uint16_t>(saved[2]);
    const auto lists = lists_of(saved, 3);
    const std::int64_t batch = x.size(0), channels = x.size(2);
    const Tensor gradient = torch::empty_like(x);
    if (x.is_cuda()) {
      cuda_call(x, [&](auto type, void* stream) {
        using T = decltype(type);
        cuda::pool_backward<T>(lists, batch, channels, elements<T>(x), elements<T>(pooled), counts,
                               elements<T>(upstream), elements<T>(gradient), stream);
      });
    } else {
      pool_backward_on_cpu(lists, batch, channels, elements<float>(x), elements<float>(pooled), counts,
                           elements<float>(upstream), elements<float>(gradient));
    }
    return once_differentiable(context, gradients, {gradient, {}, {}});
  }
};

struct Spread : torch::autograd::Function<Spread> {
  static Tensor forward(AutogradContext* context, const Tensor& given, const Tensor& given_messages,
                        const tensor_list& tables) {
    const Tensor x = given.contiguous(), messages = given_messages.contiguous();
    const auto lists = lists_of(tables);
    const std::int64_t batch = x.size(0), channels = x.size(2);
    const Tensor output = torch::empty_like(x);
    if (x.is_cuda()) {
      cuda_call(x, [&](auto type, void* stream) {
        using T = decltype(type);
        cuda::spread<T>(lists, batch, channels, elements<T>(x), elements<T>(messages), elements<T>(output),
                        stream);
      });
    } else {
      spread_on_cpu(lists, batch, channels, elements<float>(x), elements<float>(messages),
                    elements<float>(output));
    }
    context->save_for_backward(tables);
    keep_edges(context, {given, given_messages});
    return output;
  }

  static tensor_list backward(AutogradContext* context, const tensor_list& gradients) {
    const auto saved = context->get_saved_variables();
    const Tensor upstream = gradients[0].contiguous();
    const auto lists = lists_of(saved);
    const std::int64_t batch = upstream.size(0), channels = upstream.size(2);
    const Tensor messages = torch::empty({lists.pools, batch, channels}, upstream.options());
    if (upstream.is_cuda()) {
      cuda_call(upstream, [&](auto type, void* stream) {
        using T = decltype(type);
        cuda::spread_backward<T>(lists, batch, channels, elements<T>(upstream), elements<T>(messages),
                                 stream);
      });
    } else {
      spread_backward_on_cpu(lists, batch, channels, elements<float>(upstream), elements<float>(messages));
    }
    return once_differentiable(context, gradients, {upstream, messages, {}});
  }
};

}  // namespace

Pools Pools::of(std::int64_t atoms, const std::vector<std::vector<std::int32_t>>& lists,
                const std::vector<std::int64_t>& kinds) {
  std::vector<std::map<std::int64_t, int>> holding(static_cast<std::size_t>(atoms));  // kind → pools
  for (std::size_t pool = 0; pool < lists.size(); ++pool) {
    for (const std::int32_t atom : lists[pool]) ++holding[atom][kinds[pool]];
  }
  std::vector<std::vector<std::int32_t>> holders(holding.size());
  std::vector<std::vector<float>> holder_share(holding.size()), member_share(lists.size());
  std::vector<float> inverse_size;
  for (std::size_t pool = 0; pool < lists.size(); ++pool) {
    for (const std::int32_t atom : lists[pool]) {
      const float share = 1.f / static_cast<float>(holding[atom][kinds[pool]]);
      holders[atom].push_back(static_cast<std::int32_t>(pool));
      holder_share[atom].push_back(share);
      member_share[pool].push_back(share);
    }
    inverse_size.push_back(lists[pool].empty() ? 0.f : 1.f / static_cast<float>(lists[pool].size()));
  }
  Pools pools;
  pools.atoms = atoms;
  pools.pools = static_cast<std::int64_t>(lists.size());
  pools.members = padded(lists, std::int32_t{-1}, torch::kInt32);
  pools.member_share = padded(member_share, 0.f, torch::kFloat32);
  pools.inverse_size = torch::tensor(inverse_size);
  pools.holders = padded(holders, std::int32_t{-1}, torch::kInt32);
  pools.holder_share = padded(holder_share, 0.f, torch::kFloat32);
  return pools;
}

Pools Pools::to(torch::Device device) const {
  return {atoms,
          pools,
          members.to(device),
          member_share.to(device),
          inverse_size.to(device),
          holders.to(device),
          holder_share.to(device)};
}

// A tensor that the kernels do not take is converted to float32 on the CPU.
Tensor pool(const Tensor& x, const Pools& pools) {
  AS2_REQUIRE(x.dim() == 3 && x.size(1) == pools.atoms, "pooling takes [batch, atoms, channels]");
  if (!kernels_take(x)) {
    const Tensor plain = x.to(torch::kCPU, torch::kFloat32);
    return pool(plain, pools.to(torch::kCPU)).to(x.device(), x.scalar_type());
  }
  return Pool::apply(x, tables_of(pools), torch::GradMode::is_enabled() && x.requires_grad());
}

Tensor spread(const Tensor& x, const Tensor& messages, const Pools& pools) {
  AS2_REQUIRE(x.dim() == 3 && x.size(1) == pools.atoms && messages.dim() == 3 &&
                  messages.size(0) == pools.pools && messages.size(1) == x.size(0) &&
                  messages.size(2) == x.size(2) && messages.scalar_type() == x.scalar_type(),
              "spreading takes one message per pool and batch element, of x's type and channels");
  if (!kernels_take(x)) {
    const Tensor plain = x.to(torch::kCPU, torch::kFloat32);
    return spread(plain, messages.to(torch::kCPU, torch::kFloat32), pools.to(torch::kCPU))
        .to(x.device(), x.scalar_type());
  }
  return Spread::apply(x, messages, tables_of(pools));
}

}  // namespace as2::nn
