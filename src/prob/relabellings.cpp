#include "prob/relabellings.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <unordered_map>

namespace as2::prob {
namespace {

constexpr std::size_t kNamed = 3;  // relabellings that are kept, to be shown
constexpr int kUndecided = -1;

class Search {
 public:
  Search(const RelabellingQuestion& question, double seconds)
      : question_(question),
        examples_of_(static_cast<std::size_t>(question.classes)),
        sigma_(static_cast<std::size_t>(question.classes), kUndecided),
        taken_(static_cast<std::size_t>(question.classes), 0),
        deadline_(std::chrono::steady_clock::now() +
                  std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                      std::chrono::duration<double>(seconds))) {
    for (std::size_t n = 0; n < question.examples.size(); ++n) {
      std::vector<int> classes;
      for (const auto& [position, shown] : question.examples[n].shown) classes.push_back(shown);
      std::sort(classes.begin(), classes.end());
      classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
      for (const int shown : classes) examples_of_[static_cast<std::size_t>(shown)].push_back(n);
      classes_in_.push_back(std::move(classes));
    }
    // Few classes first: those are decided early.
    for (auto& list : examples_of_) {
      std::stable_sort(list.begin(), list.end(), [&](std::size_t a, std::size_t b) {
        return classes_in_[a].size() < classes_in_[b].size();
      });
    }
    for (int c = 0; c < question.classes; ++c) {
      if (!examples_of_[static_cast<std::size_t>(c)].empty()) shown_.push_back(c);
    }
    memory_.resize(question.examples.size());
  }

  Relabellings run() {
    descend(0);
    return found_;
  }

 private:
  // What no example shows has no other name to be taken for.
  void descend(std::size_t depth) {
    if (!found_.complete || out_of_time()) return;
    if (depth == shown_.size()) {
      ++found_.count;
      std::vector<int> whole = sigma_;
      bool identity = true;
      for (int c = 0; c < question_.classes; ++c) {
        int& read = whole[static_cast<std::size_t>(c)];
        if (read == kUndecided) read = c;
        identity = identity && read == c;
      }
      if (!identity && found_.some.size() < kNamed) found_.some.push_back(std::move(whole));
      return;
    }
    const int next = shown_[depth];
    int& image = sigma_[static_cast<std::size_t>(next)];
    for (int c = 0; c < question_.classes; ++c) {
      if (taken_[static_cast<std::size_t>(c)]) continue;
      image = c;
      taken_[static_cast<std::size_t>(c)] = 1;
      const auto& asked = examples_of_[static_cast<std::size_t>(next)];
      if (std::all_of(asked.begin(), asked.end(), [&](std::size_t n) { return possible(n); }))
        descend(depth + 1);
      taken_[static_cast<std::size_t>(c)] = 0;
    }
    image = kUndecided;
  }

  bool out_of_time() {
    if (++asked_ % 256 == 0 && std::chrono::steady_clock::now() > deadline_) found_.complete = false;
    return !found_.complete;
  }

  bool possible(std::size_t n) {
    std::string key;
    for (const int shown : classes_in_[n])
      key += static_cast<char>(sigma_[static_cast<std::size_t>(shown)] + 1);
    const auto known = memory_[n].find(key);
    if (known != memory_[n].end()) return known->second;
    const bool answer = ask(question_.examples[n]);
    memory_[n].emplace(std::move(key), answer);
    return answer;
  }

  bool ask(const ObservedExample& example) const {
    const Circuit& circuit = *question_.circuit;
    Weights weights(static_cast<std::size_t>(circuit.inputs()), 1.0);
    const auto hold = [&](int position, int symbol) {
      for (int s = 0; s < circuit.symbols; ++s) {
        if (s != symbol) weights[static_cast<std::size_t>(circuit.input(position, s))] = 0;
      }
    };
    for (const decode::Pin& pin : example.given) hold(pin.position, pin.symbol);
    for (const auto& [position, shown] : example.shown) {
      const int read = sigma_[static_cast<std::size_t>(shown)];
      if (read == kUndecided) continue;
      const int symbol =
          question_.symbol_of[static_cast<std::size_t>(position)][static_cast<std::size_t>(read)];
      if (symbol < 0) return false;
      hold(position, symbol);
    }
    return observe(circuit, example.observed, weights) && !std::isinf(log_value(circuit, weights));
  }

  const RelabellingQuestion& question_;
  std::vector<std::vector<int>> classes_in_;           // per example
  std::vector<std::vector<std::size_t>> examples_of_;  // per class
  std::vector<int> shown_;                             // classes that some example shows
  std::vector<int> sigma_;
  std::vector<char> taken_;
  std::vector<std::unordered_map<std::string, bool>> memory_;  // per example: readings of its classes
  std::chrono::steady_clock::time_point deadline_;
  std::int64_t asked_ = 0;
  Relabellings found_;
};

}  // namespace

Relabellings find_relabellings(const RelabellingQuestion& question, double seconds) {
  AS2_REQUIRE(question.circuit && question.classes > 0 && question.classes < 120,
              "some classes, not too many");
  return Search(question, seconds).run();
}

}  // namespace as2::prob
