// A decoder whose weights several ranks share.
#pragma once
#include <memory>

#include "wick/models/decoder.h"

namespace wick {

/// Errors: kUnsupported, naming the part, if ranks cannot share the weights of such a model.
void require_parallel(const DecoderConfig& config);

/// On rank 0 a Decoder like any other: before each call, and before each change of its caches, it
/// tells the other ranks, whose `follow` makes the same call on their parts of the weights. Inside
/// of a call the layers exchange tensors. Calls from several threads take turns.
class ParallelDecoder final : public Decoder {
 public:
  ParallelDecoder(const DecoderConfig& config, Parameters& parameters, int64_t positions);

  bool follows() const;
  void follow() const;

  std::shared_ptr<const CausalModel> shared() const override;
  Tensor logits(const Tensor& hidden) const override;
  Tensor embed(const Tensor& ids) const override;
  std::unique_ptr<ModelCache> make_cache(const CacheOptions& options) const override;
  std::unique_ptr<CapturedWork> capture(const std::function<void()>& work) const override;

 protected:
  Tensor hidden_of(const TokenGrid& grid, ModelCache* cache,
                   std::vector<Tensor>* all) const override;

 private:
  struct Lead;
  struct LedCache;
  class LedWork;
  class Follower;

  const std::shared_ptr<const Ranks> ranks_;
  const std::shared_ptr<Lead> lead_;  // of rank 0
};

}  // namespace wick
