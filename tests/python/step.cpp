// What bench/python_module.py times, without Python: the same operator of the same library, and the same
// convolution, called from C++. Usage: python_step LIBRARY PROGRAM THREADS INPUT INPUT, the positions that
// beliefs are about; prints milliseconds, the least of many: a step, and of it the call, of either.
#include <dlfcn.h>
#include <torch/custom_class.h>
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <limits>

namespace {

using torch::Tensor;

torch::jit::IValue call(const std::string& name, torch::jit::Stack arguments) {
  c10::Dispatcher::singleton().findSchemaOrThrow(("as2::" + name).c_str(), "").callBoxed(&arguments);
  return arguments.at(0);
}

// [batch, 19]
Tensor convolution(const Tensor& p, const Tensor& totals) {
  const Tensor outer = p.select(1, 0).unsqueeze(2) * p.select(1, 1).unsqueeze(1);
  return torch::zeros({p.size(0), 19}).index_add(1, totals, outer.flatten(1));
}

template <class Function>
double least_milliseconds(const Function& function) {
  double least = std::numeric_limits<double>::infinity();
  for (int k = 0; k < 3000; ++k) {
    const auto began = std::chrono::steady_clock::now();
    function();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
    least = std::min(least, took.count());
  }
  return least;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6 || dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    std::cerr << "usage: python_step LIBRARY PROGRAM THREADS INPUT INPUT\n";
    return 2;
  }
  torch::set_num_threads(std::atoi(argv[3]));
  const std::string options =
      R"({"constants":{},"assume":[],"grounding_seconds":60,"grounding_mib":4096,"grounding_size":10000000})";
  const auto stop_class = torch::getCustomClass("__torch__.torch.classes.as2.Stop");
  const auto stop = c10::ivalue::Object::create(c10::StrongTypePtr(nullptr, stop_class), 1);
  stop_class->getMethod("__init__")({stop}, {});
  const auto program = call("compile", {std::vector<std::string>{argv[2]}, "", "", options, stop});
  const auto questions = call(
      "ask", {program, std::vector<std::string>{}, std::vector<std::string>{"total(_)"},
              std::vector<std::int64_t>{std::atoi(argv[4]), std::atoi(argv[5])}, 1e-30, 60.0, 2048.0, stop});
  const std::int64_t number = questions.toObjectRef().type()->getMethod("number")({questions}, {}).toInt();
  const auto distribution = c10::Dispatcher::singleton()
                                .findSchemaOrThrow("as2::distribution", "")
                                .typed<Tensor(const Tensor&, std::int64_t, std::int64_t)>();
  const Tensor p = torch::rand({256, 2, 10}).softmax(-1).requires_grad_();
  const Tensor label = torch::randint(19, {256, 1});
  const Tensor totals = (torch::arange(10).unsqueeze(1) + torch::arange(10)).flatten();
  const std::function<Tensor()> functions[] = {[&] { return distribution.call(p, number, 0); },
                                               [&] { return convolution(p, totals); }};
  for (const auto& function : functions) {
    const double step = least_milliseconds([&] { (-function().gather(1, label).log().mean()).backward(); });
    const torch::NoGradGuard no_gradient;
    std::cout << step << ' ' << least_milliseconds(function) << '\n';
  }
}
