// The values that say how a token is chosen, as generation_config.json has them.
#pragma once
#include <cstdint>
#include <map>

namespace wick {

/// How a token is chosen from the logits; SampleOptions (ops/sample.h) defines the steps and their
/// order.
struct Sampling {
  double temperature = 1;  // 0: greedy
  int64_t top_k = 0;       // keep the k most likely tokens; 0: all
  double top_p = 1;        // keep the most likely tokens that together reach probability p
  double min_p = 0;        // keep tokens of at least min_p times the largest probability
  // The next three look at all tokens of the sequence, its prompt included.
  double repetition_penalty = 1;  // divides positive logits of tokens that occurred, multiplies
                                  // negative ones
  double frequency_penalty = 0;   // subtracted once per occurrence
  double presence_penalty = 0;    // subtracted from tokens that occurred
  std::map<int64_t, double> logit_bias = {};  // added to the logits of these tokens
};

}  // namespace wick
