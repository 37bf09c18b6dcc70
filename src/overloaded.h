// One lambda per alternative of a variant: `std::visit(Overloaded{…}, variant)`. Without a generic lambda
// among them, an alternative that nobody handles does not compile.
#pragma once

namespace as2 {

template <class... Lambdas>
struct Overloaded : Lambdas... {
  using Lambdas::operator()...;
};
template <class... Lambdas>
Overloaded(Lambdas...) -> Overloaded<Lambdas...>;

}  // namespace as2
