#include "wick/train/data_parallel.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "wick/ops/arrange.h"
#include "wick/ops/autograd.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/create.h"
#include "wick/ops/reduce.h"
#include "wick/ops/shape.h"
#include "wick/ops/unary.h"

namespace wick {
namespace {

/// A parameter in a bucket's row of elements.
struct Member {
  std::string name;
  Var parameter;
  int64_t begin;  // of its elements in the row
  int64_t count;
};

/// A part of a parameter that this rank updates.
struct Segment {
  size_t member;
  int64_t begin, count;  // in the rank's shard
};

/// Parameters whose gradients are summed together: a row of their elements, of one dtype, padded to
/// as many equal shards as there are ranks.
struct Bucket {
  std::vector<Member> members;
  int64_t count = 0;  // without padding
  int64_t shard = 0;  // elements of each rank
  DType dtype = DType::kF32;
  Device device;
  std::vector<Segment> segments;
  // This rank's shards.
  std::vector<Var> means, squares;  // of each segment
  Tensor gradient;                  // [shard], summed over the ranks
  size_t missing = 0;               // gradients that backward has not added

  TensorOptions options() const { return {.dtype = dtype, .device = device}; }

  /// The row of tensors, one for each member; an empty one counts as zeros.
  Tensor row(const std::vector<Tensor>& tensors, int ranks) const {
    std::vector<Tensor> parts;
    for (size_t i = 0; i < members.size(); i++)
      parts.push_back(tensors[i] ? reshape(tensors[i].detach(), {members[i].count})
                                 : zeros({members[i].count}, options()));
    if (const int64_t padding = shard * ranks - count; padding > 0)
      parts.push_back(zeros({padding}, options()));
    return cat(parts, 0);
  }
  /// A member's tensor in a row.
  Tensor tensor_in(const Tensor& row, size_t member) const {
    const Member& m = members[member];
    return reshape(narrow(row, 0, m.begin, m.count), m.parameter.shape());
  }
  /// This rank's part of a row.
  Tensor shard_of(const Tensor& row, int rank) const { return narrow(row, 0, rank * shard, shard); }
};

/// A thread that sums buckets over the ranks, in the order of their indices.
class Summation {
 public:
  Summation(std::vector<Bucket>& buckets, const ProcessGroup& group)
      : buckets_(buckets), group_(group), thread_([this] { run(); }) {}
  ~Summation() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Summation(const Summation&) = delete;

  /// Begins with bucket 0 again.
  void begin() {
    const std::lock_guard lock(mutex_);
    ready_.assign(buckets_.size(), false);
    done_ = 0;
  }
  /// The bucket's gradients are complete.
  void add(size_t bucket) {
    {
      const std::lock_guard lock(mutex_);
      ready_[bucket] = true;
    }
    changed_.notify_all();
  }
  /// Waits for all. Errors: those of the sums.
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return failure_ || done_ == buckets_.size(); });
    if (failure_) std::rethrow_exception(failure_);
  }
  /// Leaves the buckets of a backward that has failed.
  void abandon() {
    std::unique_lock lock(mutex_);
    done_ = buckets_.size();
    changed_.wait(lock, [&] { return !is_busy_; });
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] {
        return ends_ || (done_ < buckets_.size() && done_ < ready_.size() && ready_[done_]);
      });
      if (ends_) return;
      Bucket& bucket = buckets_[done_];
      is_busy_ = true;
      lock.unlock();
      std::exception_ptr failure;
      try {
        sum(bucket);
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      is_busy_ = false;
      if (done_ < buckets_.size()) done_++;
      if (failure) {
        failure_ = failure;
        done_ = buckets_.size();
      }
      changed_.notify_all();
    }
  }

  void sum(Bucket& bucket) {
    const NoGrad off;
    std::vector<Tensor> gradients;
    for (const Member& member : bucket.members) gradients.push_back(member.parameter.grad());
    bucket.gradient = group_.reduce_scatter(bucket.row(gradients, group_.world_size()));
  }

  std::vector<Bucket>& buckets_;
  const ProcessGroup group_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> ready_;
  size_t done_ = 0;
  bool ends_ = false, is_busy_ = false;
  std::exception_ptr failure_;
  std::thread thread_;  // last: it uses the members
};

}  // namespace

struct DataParallel::State {
  AdamWSettings settings;
  ProcessGroup group;
  std::vector<Bucket> buckets;
  std::map<const AutogradNode*, size_t> bucket_of;
  std::unique_ptr<Summation> summation;
  int64_t steps_done = 0;
  bool has_gradients = false;

  /// Buckets of parameters in the order in which backward completes them, approximately: the last
  /// names first.
  void fill_buckets(const NamedVars& parameters, int64_t bucket_bytes) {
    std::map<const AutogradNode*, bool> seen;  // a Var of several names is one parameter
    std::vector<std::pair<std::string, Var>> unique;
    for (const auto& [name, parameter] : parameters)
      if (const auto node = parameter.tensor().node();
          node && seen.emplace(node.get(), true).second)
        unique.emplace_back(name, parameter);
    std::reverse(unique.begin(), unique.end());
    for (const auto& [name, parameter] : unique) {
      const Tensor& p = parameter.tensor();
      const bool fits = !buckets.empty() && buckets.back().dtype == p.dtype() &&
                        buckets.back().device == p.device() &&
                        bytes_of(p.dtype(), buckets.back().count + p.numel()) <= bucket_bytes;
      Bucket& bucket = fits ? buckets.back() : buckets.emplace_back();
      bucket.dtype = p.dtype();
      bucket.device = p.device();
      bucket.members.push_back({name, parameter, bucket.count, p.numel()});
      bucket.count += p.numel();
      bucket_of[p.node().get()] = buckets.size() - 1;
    }
    for (Bucket& bucket : buckets) share(bucket);
  }

  /// Cuts the bucket into shards, and this rank's into segments.
  void share(Bucket& bucket) const {
    const int64_t ranks = group.world_size();
    bucket.shard = (bucket.count + ranks - 1) / ranks;
    const int64_t from = group.rank() * bucket.shard, to = from + bucket.shard;
    for (size_t i = 0; i < bucket.members.size(); i++) {
      const Member& member = bucket.members[i];
      const int64_t begin = std::max(from, member.begin);
      const int64_t end = std::min(to, member.begin + member.count);
      if (begin >= end) continue;
      bucket.segments.push_back({i, begin - from, end - begin});
      const auto nothing = [&] { return Var(zeros({end - begin}, bucket.options()), false); };
      bucket.means.push_back(nothing());
      bucket.squares.push_back(nothing());
    }
  }

  std::vector<Tensor> parameters_of(const Bucket& bucket) const {
    std::vector<Tensor> tensors;
    for (const Member& member : bucket.members) tensors.push_back(member.parameter.tensor());
    return tensors;
  }
  void set_parameters(Bucket& bucket, const Tensor& row) const {
    for (size_t i = 0; i < bucket.members.size(); i++)
      copy_(bucket.members[i].parameter, bucket.tensor_in(row, i));
  }

  /// At most 1: by which gradients are scaled to the largest norm. Empty without clipping.
  Tensor scale() const {
    if (settings.clip_norm <= 0) return {};
    Tensor squares;  // of this rank's shards
    for (const Bucket& bucket : buckets) {
      const Tensor wide = cast(bucket.gradient, DType::kF32);
      const Tensor of_one = sum(wide * wide);
      squares = squares ? squares + of_one : of_one;
    }
    if (!squares) return {};
    return settings.clip_norm / maximum(sqrt(group.all_reduce(squares)), settings.clip_norm);
  }

  /// Updates this rank's shard of a bucket, and takes the others' from their ranks.
  void update(Bucket& bucket, double rate, const Tensor& scale) {
    const int ranks = group.world_size();
    const Tensor old = bucket.shard_of(bucket.row(parameters_of(bucket), ranks), group.rank());
    std::vector<Tensor> updated;
    int64_t done = 0;
    for (size_t i = 0; i < bucket.segments.size(); i++) {
      const Segment& segment = bucket.segments[i];
      const Member& member = bucket.members[segment.member];
      Tensor gradient = narrow(bucket.gradient, 0, segment.begin, segment.count);
      if (scale) gradient = gradient * cast(scale, gradient.dtype());
      Var parameter(narrow(old, 0, segment.begin, segment.count), false);
      const bool decays = settings.decays_vectors || member.parameter.shape().size() > 1;
      adamw_(parameter, gradient, bucket.means[i], bucket.squares[i], steps_done,
             {.rate = rate,
              .beta1 = settings.beta1,
              .beta2 = settings.beta2,
              .eps = settings.eps,
              .weight_decay = decays ? settings.weight_decay : 0});
      updated.push_back(parameter.tensor());
      done += segment.count;
    }
    if (done < bucket.shard) updated.push_back(zeros({bucket.shard - done}, bucket.options()));
    set_parameters(bucket, group.all_gather(cat(updated, 0)));
    bucket.gradient = {};
  }

  /// The averages in `own`, one for each segment of a bucket, of all ranks in a row.
  Tensor gathered(const Bucket& bucket, const std::vector<Var>& own) const {
    std::vector<Tensor> parts;
    int64_t done = 0;
    for (const Var& part : own) {
      parts.push_back(part.tensor());
      done += part.tensor().numel();
    }
    if (done < bucket.shard) parts.push_back(zeros({bucket.shard - done}, bucket.options()));
    return group.all_gather(cat(parts, 0));
  }
};

DataParallel::DataParallel(const NamedVars& parameters, const AdamWSettings& settings,
                           ProcessGroup group, const DataParallelOptions& options)
    : state_(std::make_unique<State>()) {
  check(options.bucket_bytes >= 1, ErrorCode::kInvalidArgument, "DataParallel",
        "expected bucket_bytes of at least 1, got ", options.bucket_bytes);
  const NoGrad off;
  state_->settings = settings;
  state_->group = std::move(group);
  state_->fill_buckets(parameters, options.bucket_bytes);
  for (Bucket& bucket : state_->buckets)
    state_->set_parameters(bucket, state_->group.broadcast(bucket.row(state_->parameters_of(bucket),
                                                                      state_->group.world_size())));
  state_->summation = std::make_unique<Summation>(state_->buckets, state_->group);
}

DataParallel::~DataParallel() = default;

void DataParallel::backward(const Tensor& loss) {
  State& state = *state_;
  Summation& summation = *state.summation;
  for (Bucket& bucket : state.buckets) bucket.missing = bucket.members.size();
  summation.begin();
  const auto add = [&](const AutogradNode& var) {
    const auto found = state.bucket_of.find(&var);
    if (found != state.bucket_of.end() && --state.buckets[found->second].missing == 0)
      summation.add(found->second);
  };
  try {
    const GradientWatch watch(add);
    if (loss) wick::backward(loss);
  } catch (...) {
    summation.abandon();
    throw;
  }
  for (size_t i = 0; i < state.buckets.size(); i++)
    if (state.buckets[i].missing > 0) summation.add(i);
  summation.wait();
  state.has_gradients = true;
}

void DataParallel::step(double rate) {
  const NoGrad off;
  State& state = *state_;
  check(state.has_gradients, ErrorCode::kInvalidArgument, "DataParallel::step",
        "expected a call of backward before");
  state.has_gradients = false;
  state.steps_done++;
  const Tensor scale = state.scale();
  for (Bucket& bucket : state.buckets) {
    state.update(bucket, rate, scale);
    for (const Member& member : bucket.members) member.parameter.zero_grad();
  }
}

int64_t DataParallel::steps_done() const { return state_->steps_done; }

NamedTensors DataParallel::state() const {
  const NoGrad off;
  NamedTensors tensors;
  for (const Bucket& bucket : state_->buckets) {
    const Tensor means = state_->gathered(bucket, bucket.means);
    const Tensor squares = state_->gathered(bucket, bucket.squares);
    for (size_t i = 0; i < bucket.members.size(); i++) {
      tensors["mean." + bucket.members[i].name] = bucket.tensor_in(means, i);
      tensors["square." + bucket.members[i].name] = bucket.tensor_in(squares, i);
    }
  }
  return tensors;
}

void DataParallel::restore(const TensorSource& source, int64_t steps_done) {
  const NoGrad off;
  const int rank = state_->group.rank(), ranks = state_->group.world_size();
  for (Bucket& bucket : state_->buckets) {
    const auto read = [&](const std::string& kind, std::vector<Var>& into) {
      std::vector<Tensor> tensors;
      for (const Member& member : bucket.members)
        tensors.push_back(AdamW::load_average(source, kind + member.name, member.parameter));
      const Tensor shard = bucket.shard_of(bucket.row(tensors, ranks), rank);
      for (size_t i = 0; i < bucket.segments.size(); i++)
        copy_(into[i], narrow(shard, 0, bucket.segments[i].begin, bucket.segments[i].count));
    };
    read("mean.", bucket.means);
    read("square.", bucket.squares);
  }
  state_->steps_done = steps_done;
}

}  // namespace wick
