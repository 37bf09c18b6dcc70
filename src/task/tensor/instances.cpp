#include "task/tensor/instances.h"

#include <algorithm>

#include "infer/network_options.h"

namespace as2::task {
namespace {

template <class T>
torch::Tensor tensor_of(const Table<T>& table, torch::Device device) {
  if (!table.defined()) return {};
  torch::Tensor tensor = torch::empty({table.rows, table.columns}, c10::CppTypeToScalarType<T>::value);
  std::copy(table.cells.begin(), table.cells.end(), tensor.data_ptr<T>());
  return tensor.to(device);
}

}  // namespace

InstanceTensors tensors_of(const Instances& instances, torch::Device device) {
  const Instances whole = instances.completed();
  InstanceTensors tensors;
  tensors.labels = tensor_of(whole.labels, device);
  tensors.shows = tensor_of(whole.shows, device);
  tensors.evidence = tensor_of(whole.evidence, device).to(torch::kBool);
  tensors.known = tensor_of(whole.known, device).to(torch::kBool);
  tensors.observed = tensor_of(whole.observed, device).to(torch::kBool);
  tensors.pictures = tensor_of(whole.pictures, device);
  tensors.files = pictures_of(whole.files, device);
  tensors.atoms = tensor_of(whole.atoms, device);
  return tensors;
}

torch::Tensor pictures_of(const Table<std::uint8_t>& pixels, torch::Device device) {
  if (!pixels.defined()) return {};
  return tensor_of(pixels, device).view({pixels.rows, infer::kPictureSide, infer::kPictureSide});
}

}  // namespace as2::task
