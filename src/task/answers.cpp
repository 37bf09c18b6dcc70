#include "task/answers.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "as2/decoder.h"
#include "random.h"
#include "share_work.h"

namespace as2::task {
namespace {

// Beliefs that are random leave the decoder nothing to go by: past this many steps a better answer is not
// worth the search for it, and any answer will do.
constexpr std::int64_t kNodes = 1000;

// The likeliest answer under random beliefs, or one that is nearly so; empty: the program has none.
compile::Assignment random_answer(const decode::Decoder& decoder, std::size_t beliefs_size, Random& random) {
  decode::Query query{decode::Beliefs(beliefs_size)};
  for (double& belief : query.beliefs) belief = random.unit() + 1e-3;
  decode::DecodeOptions options;
  options.node_budget = kNodes;
  decode::Decoded decoded = decoder.decode(query, options);
  if (decoded.status == decode::Status::kUnknown) decoded = decoder.decode(query);
  return decoded.models.empty() ? compile::Assignment() : decoded.models[0].assignment;
}

// Positions whose symbols, once given, leave only this answer; grown from a random choice by positions at
// which another answer differs.
std::vector<int> unique_evidence(const decode::Decoder& decoder, const compile::Assignment& answer,
                                 std::vector<int> candidates, std::size_t wanted, std::size_t beliefs_size,
                                 Random& random) {
  random.shuffle(candidates.begin(), static_cast<std::uint32_t>(candidates.size()));
  std::vector<int> evidence(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(wanted));
  const decode::Beliefs uniform(beliefs_size, 1.0);
  for (;;) {
    decode::DecodeOptions options;
    options.models = 2;
    decode::Query query{uniform};
    for (const int position : evidence)
      query.pins.push_back({position, answer[static_cast<std::size_t>(position)]});
    const decode::Decoded decoded = decoder.decode(query, options);
    const auto other = std::find_if(decoded.models.begin(), decoded.models.end(),
                                    [&](const decode::Model& model) { return model.assignment != answer; });
    if (other == decoded.models.end()) return evidence;
    const auto telling = std::find_if(candidates.begin(), candidates.end(), [&](int position) {
      return other->assignment[static_cast<std::size_t>(position)] !=
             answer[static_cast<std::size_t>(position)];
    });
    if (telling == candidates.end()) return evidence;  // they differ where no evidence can be given
    evidence.push_back(*telling);
  }
}

}  // namespace

Instances sampled_answers(const std::shared_ptr<const compile::ConstraintProgram>& program,
                          const std::vector<int>& candidates, std::int64_t count, int min_evidence,
                          int max_evidence, std::uint64_t seed) {
  const auto positions = static_cast<std::int64_t>(program->positions.size());
  const std::size_t size = program->positions.size() * static_cast<std::size_t>(program->max_symbols());
  if (min_evidence > static_cast<int>(candidates.size())) {
    throw InputError("data.min_clues is " + std::to_string(min_evidence) + ", and only " +
                         std::to_string(candidates.size()) + " positions can be evidence",
                     {"set data.min_clues and data.max_clues to what the program has room for"});
  }
  const decode::Decoder decoder(program);
  Instances instances = Instances::blank(count, positions);
  std::atomic<std::int64_t> next{0};
  share_work(std::thread::hardware_concurrency(), [&] {
    for (std::int64_t n; (n = next++) < count;) {
      Random random(seed, static_cast<std::uint64_t>(n));
      const compile::Assignment answer = random_answer(decoder, size, random);
      if (answer.empty()) throw InputError("the program has no answer set, so there is nothing to train on");
      std::copy(answer.begin(), answer.end(), instances.labels[n]);
      const int most = std::min(max_evidence, static_cast<int>(candidates.size()));
      const auto wanted =
          static_cast<std::size_t>(random.between(min_evidence, std::max(min_evidence, most)));
      for (const int i : unique_evidence(decoder, answer, candidates, wanted, size, random))
        instances.evidence[n][i] = 1;
    }
  });
  return instances;
}

}  // namespace as2::task
