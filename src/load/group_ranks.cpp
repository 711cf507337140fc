#include "load/group_ranks.h"

#include <algorithm>

namespace wick {
namespace {

class GroupRanks final : public Ranks {
 public:
  explicit GroupRanks(ProcessGroup group) : group_(std::move(group)) {}

  int rank() const override { return group_.rank(); }
  int count() const override { return group_.world_size(); }
  Tensor sum(const Tensor& x) const override { return group_.all_reduce(x); }
  Tensor concatenated(const Tensor& x) const override { return group_.all_gather(x, -1); }
  Tensor of_first(const Tensor& x) const override { return group_.broadcast(x); }

  // A message of a fixed size holds most lists: their number, then the first numbers.
  void send(const std::vector<int64_t>& numbers) const override {
    std::vector<int64_t> message(kMessage, 0);
    message[0] = int64_t(numbers.size());
    const auto middle =
        numbers.begin() + std::min<ptrdiff_t>(kMessage - 1, ptrdiff_t(numbers.size()));
    std::copy(numbers.begin(), middle, message.begin() + 1);
    (void)group_.broadcast(Tensor::from(message));
    if (middle != numbers.end())
      (void)group_.broadcast(Tensor::from(std::vector<int64_t>(middle, numbers.end())));
  }

  std::vector<int64_t> receive() const override {
    const auto received = [&](int64_t size) {
      return group_.broadcast(Tensor::empty({size}, {.dtype = DType::kI64})).to_vector<int64_t>();
    };
    const std::vector<int64_t> message = received(kMessage);
    const int64_t size = message[0], first = std::min<int64_t>(size, kMessage - 1);
    std::vector<int64_t> numbers(message.begin() + 1, message.begin() + 1 + first);
    if (first == size) return numbers;
    const std::vector<int64_t> rest = received(size - first);
    numbers.insert(numbers.end(), rest.begin(), rest.end());
    return numbers;
  }

 private:
  static constexpr ptrdiff_t kMessage = 32;

  const ProcessGroup group_;
};

}  // namespace

std::shared_ptr<const Ranks> ranks_of(const std::string& path, const ModelConfig& config,
                                      const LoadOptions& options) {
  if (!options.group || options.group->world_size() == 1) return nullptr;
  const SplitOptions& split = options.split;
  check(
      split.devices.size() < 2 && split.layers.empty() && !split.with_cpu && split.cpu_experts == 0,
      ErrorCode::kUnsupported, path,
      "ranks that share a model have a device each: its layers cannot be split over devices too");
  config.require_parallel();
  return std::make_shared<GroupRanks>(*options.group);
}

}  // namespace wick
