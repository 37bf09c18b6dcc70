// Variables in order of decreasing activity; equally active ones in order of index.
#pragma once

#include <utility>
#include <vector>

namespace as2::decode {

class ActivityHeap {
 public:
  explicit ActivityHeap(const std::vector<double>& activity) : activity_(activity) {}

  bool empty() const { return heap_.empty(); }
  bool contains(int variable) const {
    return variable < static_cast<int>(place_.size()) && place_[variable] >= 0;
  }
  void insert(int variable) {
    if (contains(variable)) return;
    if (variable >= static_cast<int>(place_.size()))
      place_.resize(static_cast<std::size_t>(variable) + 1, -1);
    place_[variable] = static_cast<int>(heap_.size());
    heap_.push_back(variable);
    rise(place_[variable]);
  }
  int pop() {
    const int top = heap_.front();
    place_[top] = -1;
    const int last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) {
      heap_.front() = last;
      place_[last] = 0;
      sink(0);
    }
    return top;
  }
  // To be called when the variable's activity has grown.
  void grown(int variable) {
    if (contains(variable)) rise(place_[variable]);
  }

 private:
  bool before(int a, int b) const {
    return activity_[a] > activity_[b] || (activity_[a] == activity_[b] && a < b);
  }
  void put(int place, int variable) {
    heap_[place] = variable;
    place_[variable] = place;
  }
  void rise(int place) {
    const int variable = heap_[place];
    for (; place > 0 && before(variable, heap_[(place - 1) / 2]); place = (place - 1) / 2) {
      put(place, heap_[(place - 1) / 2]);
    }
    put(place, variable);
  }
  void sink(int place) {
    const int variable = heap_[place];
    const int size = static_cast<int>(heap_.size());
    for (int child; (child = 2 * place + 1) < size; place = child) {
      if (child + 1 < size && before(heap_[child + 1], heap_[child])) ++child;
      if (!before(heap_[child], variable)) break;
      put(place, heap_[child]);
    }
    put(place, variable);
  }

  const std::vector<double>& activity_;
  std::vector<int> heap_;
  std::vector<int> place_;  // per variable: its index in the heap, or -1
};

}  // namespace as2::decode
