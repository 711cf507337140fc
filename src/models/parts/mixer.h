// The part of a block that mixes a sequence's tokens: attention, or a layer that keeps a state.
#pragma once
#include <map>
#include <memory>

#include "models/caches/layer_cache.h"
#include "models/parts/norm.h"
#include "models/parts/rotary.h"
#include "wick/models/causal_model.h"

// Shapes: B sequences, T tokens each.
namespace wick {

/// The tokens of each row that states do not have yet, the first so many, [B] i64; the others
/// repeat the row's last one. Empty: all `tokens` of a row. cache: prepared for them; may be
/// nullptr.
Tensor new_tokens(const ModelCache* cache, int64_t tokens, const Device& device);

/// The outputs [B, T, E] of a layer with a state, of which those after a row's new tokens are the
/// last new one's: attention of later layers writes the keys of a repeated token again. A row
/// without new tokens has the output of the token before, which state `index` of the cache, [1, E],
/// keeps. Without a cache, the outputs as they are.
Tensor held_outputs(const Tensor& y, const Tensor& new_tokens, StateCache* cache, int64_t index);

/// Keys and values of layers that later layers read too, by the number of the layer.
using KeptKeysValues = std::map<int64_t, AttentionCache::KeysValues>;

/// Whether ops write a layer's new state into the memory of the old one: while a graph is captured,
/// which runs again on the same memory. cache: may be nullptr.
bool overwrites_state(const StateCache* cache);

/// Inputs of a layer other than the hidden states, on the layer's device.
struct Step {
  Tensor positions;                // [B, T]
  Tensor visible;                  // [B, T]: the last positions that the tokens attend to
  Tensor seen_from;                // [B, T]: the first ones that no window hides; may be empty
  Rotation rope, local_rope;       // of full and of sliding layers
  ModelCache* cache;               // may be nullptr
  Tensor new_tokens;               // [B], for layers that keep a state: see new_tokens
  Tensor per_layer_inputs = {};    // [B, T, layers, size]; empty for models without them
  KeptKeysValues* kept = nullptr;  // of the layers before; nullptr for models without such ones

  /// The layer's cache, which is a C; nullptr without one.
  template <class C>
  C* cache_of(int64_t layer) const {
    return cache ? &static_cast<C&>(cache->layer(layer)) : nullptr;
  }
};

class Mixer {
 public:
  virtual ~Mixer() = default;
  /// x [B, T, hidden]; adds the residual of that shape, unless it is empty.
  virtual Tensor operator()(const Normalized& x, const Step& step,
                            const Tensor& residual = {}) const = 0;
  /// The states of a sequence, of a layer that keeps such. dtype: of the computation.
  virtual std::vector<StateCache::Kind> state_kinds(DType) const { return {}; }
  /// The layer's cache: a StateCache of state_kinds, unless the layer overrides this and
  /// cache_bytes. table: of the model's blocks; nullptr without blocks. options: of the
  /// computation.
  virtual std::unique_ptr<LayerCache> make_cache(const CacheOptions& cache,
                                                 const std::shared_ptr<BlockTable>& table,
                                                 const TensorOptions& options) const;
  /// The bytes of that on the device. dtype: of the computation.
  virtual int64_t cache_bytes(const CacheOptions& cache, DType dtype) const;
  /// Whether that is a StateCache.
  virtual bool keeps_state() const { return false; }
  /// Adds the work that a token's cache takes, if its text has `before` tokens.
  virtual void add_work(double before, const TensorOptions& options, TokenWork* work) const = 0;
};

}  // namespace wick
