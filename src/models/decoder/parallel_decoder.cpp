#include "models/decoder/parallel_decoder.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>

#include "wick/models/tensor_parallel.h"
#include "wick/nn/ranks.h"
#include "wick/ops/autograd.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

/// The first number of a message from rank 0; the others are the call's arguments.
enum Call : int64_t {
  kEnd,
  kHidden,
  kLogits,
  kEmbed,
  kMakeCache,
  kChangeCache,
  kDropCache,
  kCapture,   // the calls up to kCaptured are to be captured
  kCaptured,  // its argument: whether rank 0 could
  kLaunch,
  kDropCaptured
};

// Of kHidden, the tensors that a call has.
constexpr int64_t kIds = 1, kEmbeddings = 2, kVisible = 4, kSeenFrom = 8;

constexpr int64_t kNoCache = -1;

/// Whether all ranks say yes.
bool all_say(const Ranks& ranks, bool yes) {
  return ranks.sum(Tensor::from({int64_t(!yes)})).item<int64_t>() == 0;
}

using Numbers = std::vector<int64_t>;

void append(Numbers& numbers, const Shape& shape) {
  numbers.push_back(shape.size());
  numbers.insert(numbers.end(), shape.begin(), shape.end());
}

/// Reads the arguments of a call in order.
class Arguments {
 public:
  explicit Arguments(const Numbers& numbers) : numbers_(numbers) {}

  int64_t next() { return at_ < numbers_.size() ? numbers_[at_++] : 0; }
  Numbers rest() {
    return {numbers_.begin() + ptrdiff_t(std::min(at_, numbers_.size())), numbers_.end()};
  }
  Shape shape() {
    Shape shape;
    for (int64_t left = next(); left > 0; left--) shape.push_back(next());
    return shape;
  }

 private:
  const Numbers& numbers_;
  size_t at_ = 0;
};

}  // namespace

void require_parallel(const DecoderConfig& c) {
  const auto refuse = [&](const std::string& part) {
    fail(ErrorCode::kUnsupported, "tensor parallel", "several ranks cannot share a model of type ",
         c.model_type, ": ", part);
  };
  for (const auto& [type, name] : {std::pair(LayerType::kRecurrent, "recurrent layers"),
                                   {LayerType::kMamba, "Mamba layers"},
                                   {LayerType::kConv, "layers of short convolutions"},
                                   {LayerType::kDelta, "layers of the gated delta rule"}})
    if (std::count(c.layer_types.begin(), c.layer_types.end(), type) > 0)
      refuse(std::string(name) + " keep a state that is not split");
  if (c.qk_norm == QkNorm::kProjection && c.norm_type != NormType::kRms)
    refuse("its attention normalizes the queries of all heads together by another norm than RMS");
}

/// Rank 0's side of the calls.
struct ParallelDecoder::Lead {
  explicit Lead(std::shared_ptr<const Ranks> ranks) : ranks(std::move(ranks)) {}
  ~Lead() { tell_end({kEnd}); }

  /// Sends it unless the group has failed, which the next call says.
  void tell_end(const Numbers& call) const {
    try {
      ranks->send(call);
    } catch (const Error&) {  // see above
    }
  }

  const std::shared_ptr<const Ranks> ranks;
  std::recursive_mutex mutex;
  std::map<const ModelCache*, int64_t> caches;  // their numbers
  int64_t next_cache = 0, next_captured = 0;
  Tensor last;  // the result of the last hidden_of
};

/// Rank 0's side of a cache: tells the other ranks of its changes and of its end.
struct ParallelDecoder::LedCache {
  LedCache(std::shared_ptr<Lead> lead, const ModelCache* cache, int64_t number)
      : lead(std::move(lead)), cache(cache), number(number) {
    this->lead->caches[cache] = number;
  }
  LedCache(LedCache&&) = delete;
  ~LedCache() {
    const std::lock_guard lock(lead->mutex);
    lead->caches.erase(cache);
    lead->tell_end({kDropCache, number});
  }

  const std::shared_ptr<Lead> lead;
  const ModelCache* const cache;
  const int64_t number;
};

ParallelDecoder::ParallelDecoder(const DecoderConfig& config, Parameters& parameters,
                                 int64_t positions)
    : Decoder(config, parameters, positions),
      ranks_(parameters.options().ranks),
      lead_(ranks_->rank() == 0 ? std::make_shared<Lead>(ranks_) : nullptr) {}

std::shared_ptr<const CausalModel> ParallelDecoder::shared() const {
  return std::make_shared<ParallelDecoder>(*this);
}

bool ParallelDecoder::follows() const { return !lead_; }

// ---- rank 0

namespace {

[[noreturn]] void fail_follower() {
  fail(ErrorCode::kInvalidArgument, "tensor parallel",
       "rank 0 alone takes calls; the others follow it");
}

}  // namespace

Tensor ParallelDecoder::hidden_of(const TokenGrid& grid, ModelCache* cache,
                                  std::vector<Tensor>* all) const {
  if (!lead_) fail_follower();
  const std::lock_guard lock(lead_->mutex);
  const auto known = lead_->caches.find(cache);
  check(!cache || known != lead_->caches.end(), ErrorCode::kInvalidArgument, "tensor parallel",
        "expected a cache that this model made");
  const bool sees_itself = grid.visible.data() == grid.positions.data();
  const int64_t has = kIds * bool(grid.ids) + kEmbeddings * bool(grid.embeddings) +
                      kVisible * !sees_itself + kSeenFrom * bool(grid.seen_from);
  Numbers call = {kHidden,       cache ? known->second : kNoCache,
                  has,           grid.batch(),
                  grid.tokens(), grid.embeddings ? int64_t(grid.embeddings.dtype()) : 0};
  call.insert(call.end(), grid.lengths.begin(), grid.lengths.end());
  ranks_->send(call);
  for (const Tensor* x : {&grid.ids, &grid.embeddings, &grid.positions, &grid.seen_from})
    if (*x) (void)ranks_->of_first(*x);
  if (!sees_itself) (void)ranks_->of_first(grid.visible);
  Tensor y = Decoder::hidden_of(grid, cache, all);
  lead_->last = y;
  return y;
}

Tensor ParallelDecoder::logits(const Tensor& hidden) const {
  if (!lead_) fail_follower();
  const std::lock_guard lock(lead_->mutex);
  const Tensor& last = lead_->last;
  const bool is_last = last && hidden.data() == last.data() && hidden.numel() == last.numel() &&
                       hidden.is_contiguous();
  Numbers call = {kLogits, is_last, int64_t(hidden.dtype())};
  append(call, hidden.shape());
  ranks_->send(call);
  if (!is_last) (void)ranks_->of_first(hidden);
  return Decoder::logits(hidden);
}

Tensor ParallelDecoder::embed(const Tensor& ids) const {
  if (!lead_) fail_follower();
  const std::lock_guard lock(lead_->mutex);
  Numbers call = {kEmbed, int64_t(ids.dtype())};
  append(call, ids.shape());
  ranks_->send(call);
  (void)ranks_->of_first(ids);
  return Decoder::embed(ids);
}

std::unique_ptr<ModelCache> ParallelDecoder::make_cache(const CacheOptions& o) const {
  if (!lead_) fail_follower();
  const std::lock_guard lock(lead_->mutex);
  std::unique_ptr<ModelCache> cache = Decoder::make_cache(o);
  const int64_t number = lead_->next_cache++;
  ranks_->send({kMakeCache, number, o.sequences, o.capacity, o.chunk, o.block, o.blocks,
                int64_t(o.type), o.spans_capacity, o.marks});
  cache->observe(
      [led = std::make_shared<LedCache>(lead_, cache.get(), number)](const Numbers& change) {
        const std::lock_guard lock(led->lead->mutex);
        Numbers call = {kChangeCache, led->number};
        call.insert(call.end(), change.begin(), change.end());
        led->lead->ranks->send(call);
      });
  return cache;
}

/// Rank 0's part of captured work: the others launch theirs with it.
class ParallelDecoder::LedWork final : public CapturedWork {
 public:
  LedWork(std::shared_ptr<Lead> lead, std::unique_ptr<CapturedWork> own, int64_t number)
      : lead_(std::move(lead)), own_(std::move(own)), number_(number) {}
  ~LedWork() override {
    const std::lock_guard lock(lead_->mutex);
    lead_->tell_end({kDropCaptured, number_});
  }
  void launch() override {
    const std::lock_guard lock(lead_->mutex);
    lead_->ranks->send({kLaunch, number_});
    own_->launch();
  }

 private:
  const std::shared_ptr<Lead> lead_;
  const std::unique_ptr<CapturedWork> own_;
  const int64_t number_;
};

std::unique_ptr<CapturedWork> ParallelDecoder::capture(const std::function<void()>& work) const {
  if (!lead_) fail_follower();
  if (options().device.is_cpu()) return Decoder::capture(work);
  const std::lock_guard lock(lead_->mutex);
  const int64_t number = lead_->next_captured++;
  ranks_->send({kCapture, number});
  std::unique_ptr<CapturedWork> own;
  std::exception_ptr failure;
  try {
    own = Decoder::capture(work);
  } catch (const Error&) {
    failure = std::current_exception();
  }
  ranks_->send({kCaptured, own != nullptr});
  const bool all_can = all_say(*ranks_, own != nullptr);
  if (failure) std::rethrow_exception(failure);
  check(all_can, ErrorCode::kUnsupported, "tensor parallel",
        "another rank could not record a step");
  return std::make_unique<LedWork>(lead_, std::move(own), number);
}

// ---- the others

/// Repeats rank 0's calls.
class ParallelDecoder::Follower {
 public:
  explicit Follower(const ParallelDecoder& model) : model_(model) {}

  void repeat(const Numbers& numbers) {
    Arguments in(numbers);
    switch (in.next()) {
      case kCapture:
        capture(in.next());
        return;
      case kLaunch: {
        const auto found = captured_.find(in.next());
        check(found != captured_.end(), ErrorCode::kInvalidArgument, "tensor parallel",
              "this rank has not recorded the step");
        found->second->launch();
        return;
      }
      case kDropCaptured:
        captured_.erase(in.next());
        return;
      case kHidden:
        last_ = Tensor();
        last_ = hidden(in);
        return;
      case kLogits:
        logits(in);
        return;
      case kEmbed: {
        const DType dtype = DType(in.next());
        model_.Decoder::embed(received(in.shape(), dtype));
        return;
      }
      case kMakeCache: {
        const int64_t number = in.next();
        CacheOptions o{.sequences = in.next(), .capacity = in.next(), .chunk = in.next()};
        o.block = in.next(), o.blocks = in.next(), o.type = CacheType(in.next());
        o.spans_capacity = in.next() != 0, o.marks = in.next();
        caches_[number] = model_.Decoder::make_cache(o);
        return;
      }
      case kChangeCache: {
        ModelCache& cache = *cache_of(in.next());
        cache.repeat(in.rest());
        return;
      }
      case kDropCache:
        caches_.erase(in.next());
        return;
      default:
        fail(ErrorCode::kInvalidArgument, "tensor parallel", "rank 0 has another version of wick");
    }
  }

 private:
  /// Captures the calls that follow, up to kCaptured, once all are known: nothing waits for another
  /// rank's host while a graph is recorded.
  void capture(int64_t number) {
    std::vector<Numbers> calls;
    Numbers last;
    while ((last = model_.ranks_->receive())[0] != kCaptured) calls.push_back(std::move(last));
    std::unique_ptr<CapturedWork> own;
    const bool first_could = last[1] != 0;
    try {
      if (first_could)
        own = model_.Decoder::capture([&] {
          for (const Numbers& call : calls) repeat(call);
        });
    } catch (const Error&) {  // rank 0 hears of it
    }
    if (all_say(*model_.ranks_, own != nullptr)) captured_[number] = std::move(own);
  }

  ModelCache* cache_of(int64_t number) {
    const auto found = caches_.find(number);
    check(found != caches_.end(), ErrorCode::kInvalidArgument, "tensor parallel",
          "this rank has no cache ", number);
    return found->second.get();
  }

  Tensor received(const Shape& shape, DType dtype) const {
    return model_.ranks_->of_first(
        Tensor::empty(shape, {.dtype = dtype, .device = model_.options().device}));
  }

  Tensor hidden(Arguments& in) {
    const int64_t number = in.next(), has = in.next(), batch = in.next(), tokens = in.next();
    const DType dtype = DType(in.next());
    const auto grid_of = [&](bool is_there) {
      return is_there ? received({batch, tokens}, DType::kI64) : Tensor();
    };
    TokenGrid grid;
    grid.ids = grid_of((has & kIds) != 0);
    if (has & kEmbeddings)
      grid.embeddings = received({batch, tokens, model_.facts().hidden_size}, dtype);
    grid.positions = grid_of(true);
    grid.seen_from = grid_of((has & kSeenFrom) != 0);
    grid.visible = (has & kVisible) != 0 ? grid_of(true) : grid.positions;
    grid.lengths = in.rest();
    return model_.Decoder::hidden_of(grid, number == kNoCache ? nullptr : caches_.at(number).get(),
                                     nullptr);
  }

  void logits(Arguments& in) {
    const bool is_last = in.next() != 0;
    const DType dtype = DType(in.next());
    const Shape shape = in.shape();
    model_.Decoder::logits(is_last ? reshape(last_, shape) : received(shape, dtype));
  }

  const ParallelDecoder& model_;
  std::map<int64_t, std::unique_ptr<ModelCache>> caches_;
  std::map<int64_t, std::unique_ptr<CapturedWork>> captured_;
  Tensor last_;  // the result of the last hidden_of
};

namespace {

/// Whether the ranks wait for each other inside of the call.
bool exchanges(int64_t call) {
  return call == kHidden || call == kLogits || call == kEmbed || call == kLaunch;
}

/// Whether the arguments of a call have caused the error, so that all ranks have the same one.
bool is_of_arguments(ErrorCode code) {
  return code == ErrorCode::kInvalidArgument || code == ErrorCode::kOutOfRange ||
         code == ErrorCode::kShapeMismatch || code == ErrorCode::kDTypeMismatch ||
         code == ErrorCode::kUnsupported;
}

}  // namespace

void ParallelDecoder::follow() const {
  check(follows(), ErrorCode::kInvalidArgument, "follow", "rank 0 follows no other rank");
  const NoGrad off;
  Follower follower(*this);
  std::exception_ptr failure;  // of the last call
  for (;;) {
    Numbers call;
    try {
      call = ranks_->receive();
    } catch (const Error& error) {
      // Rank 0 waits inside of the call: it failed here alone.
      if (failure && error.code() == ErrorCode::kInvalidArgument) std::rethrow_exception(failure);
      throw;
    }
    if (call[0] == kEnd) return;
    failure = {};
    try {
      follower.repeat(call);
    } catch (const Error& error) {
      if (exchanges(call[0]) && !is_of_arguments(error.code())) throw;
      failure = std::current_exception();  // if it is rank 0's too, the next call follows
    }
  }
}

bool follows(const CausalModel& model) {
  const auto* const parallel = dynamic_cast<const ParallelDecoder*>(&model);
  return parallel && parallel->follows();
}

void follow(const CausalModel& model) {
  const auto* const parallel = dynamic_cast<const ParallelDecoder*>(&model);
  check(parallel, ErrorCode::kInvalidArgument, "follow", "expected a model that ranks share");
  parallel->follow();
}

}  // namespace wick
