#include "wick/dist/process_group.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/log.h"
#include "core/device_state.h"
#include "dist/card_collectives.h"
#include "dist/choice.h"
#include "dist/combine.h"
#include "dist/mpi_connection.h"
#include "dist/rendezvous.h"
#include "dist/stream_transport.h"
#include "wick/ops/arrange.h"
#include "wick/ops/autograd.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/create.h"
#include "wick/ops/custom_op.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

using dist::combine;
using dist::Incoming;
using dist::name_of;
using dist::Outgoing;

// Up to these sizes in bytes the time of an exchange counts, not its bytes.
constexpr int64_t kMaxReducedWhole = 16 << 10;
constexpr int64_t kMaxBroadcastWhole = 64 << 10;

std::string shown(const Shape& shape, DType dtype) {
  return std::string(dtype_name(dtype)) + to_string(shape);
}

/// The call's text, which all ranks must share.
template <class... Parts>
std::string call_text(const char* function, const Tensor& x, const Parts&... parts) {
  std::string text = std::string(function) + " " + shown(x.shape(), x.dtype());
  (detail::append(text, parts), ...);
  return text;
}

/// The elements in host memory, row-major, off the tape.
Tensor on_host(const Tensor& x) { return x.detach().to(Device::cpu()).contiguous(); }
/// The elements where they are, row-major, off the tape.
Tensor in_row(const Tensor& x) { return x.detach().contiguous(); }

char* bytes_at(const Tensor& host, int64_t element) {
  return static_cast<char*>(host.data()) + bytes_of(host.dtype(), element);
}

void require_reducible(const char* function, const Tensor& x, ReduceOp reduction) {
  const DType dtype = x.dtype();
  const bool is_number = is_computed(dtype) && dtype != DType::kBool;
  const bool is_valid = reduction == ReduceOp::kMean  ? is_number && is_floating(dtype)
                        : reduction == ReduceOp::kSum ? is_number
                                                      : is_computed(dtype);
  check(is_valid, ErrorCode::kDTypeMismatch, function, "no ", name_of(reduction), " of ",
        dtype_name(x.dtype()));
}

}  // namespace

struct ProcessGroup::State {
  int rank = 0, world_size = 1, local_rank = 0;
  std::function<void()> on_wait;               // may own the other ranks' processes
  std::shared_ptr<dist::Transport> transport;  // nullptr in a group of one
  std::chrono::milliseconds timeout{};
  dist::Choice choice = dist::Choice::kAuto;
  // The library of the ranks' cards, once a function has been called that all ranks call with
  // tensors on cards; nullptr if there is no library that the cards can use together.
  std::shared_ptr<dist::CardCollectives> cards;
  bool have_cards_met = false;

  /// The library for a call with this tensor; nullptr if its bytes go through the host. is_for_all:
  /// whether all ranks make the call.
  dist::CardCollectives* cards_for(const std::string& call, const Tensor& x,
                                   bool is_for_all = true) {
    const bool may_serve = choice == dist::Choice::kAuto || choice == dist::Choice::kNccl;
    if (!may_serve || !collectives_of(x.device().state().backend)) return nullptr;
    if (!have_cards_met && is_for_all) meet_cards(call, x.device());
    if (cards)
      check(cards->device() == x.device(), ErrorCode::kDeviceMismatch,
            call.substr(0, call.find(' ')), "expected a tensor on ", cards->device(),
            ", this rank's card in the group, got one on ", x.device());
    return cards.get();
  }

  void meet_cards(const std::string& call, const Device& device) {
    std::string why_none;
    cards =
        dist::CardCollectives::meet(call, device, rank, world_size, transport, timeout, &why_none);
    have_cards_met = true;
    if (cards) return;
    check(choice != dist::Choice::kNccl, ErrorCode::kRuntimeMissing, "dist",
          "WICK_DIST is nccl, but ", why_none);
    note("dist: tensors on cards go through host memory: ", why_none);
  }

  /// Calls f(r) for the other ranks.
  template <class F>
  void for_others(const F& f) const {
    for (int r = 0; r < world_size; r++)
      if (r != rank) f(r);
  }

  /// Sends the parts of x, [world_size, ...] or more rows of equal size, to their ranks, and
  /// returns those that arrive, with this rank's own, each of a shape.
  std::vector<Tensor> exchange_parts(const std::string& call, const Tensor& x,
                                     const Shape& part) const {
    const int64_t size = numel(part);
    std::vector<Tensor> parts(static_cast<size_t>(world_size));
    std::vector<Outgoing> out;
    std::vector<Incoming> in;
    const auto bytes = size_t(bytes_of(x.dtype(), size));
    for (int r = 0; r < world_size; r++) {
      parts[size_t(r)] = Tensor::empty(part, {.dtype = x.dtype()});
      if (r == rank) {
        if (bytes > 0) std::memcpy(bytes_at(parts[size_t(r)], 0), bytes_at(x, r * size), bytes);
        continue;
      }
      out.push_back({r, bytes > 0 ? bytes_at(x, r * size) : nullptr, bytes});
      in.push_back({r, bytes > 0 ? bytes_at(parts[size_t(r)], 0) : nullptr, bytes});
    }
    transport->exchange(call, out, in);
    return parts;
  }

  /// Sends x to all. Returns the tensors of all ranks, this rank's own among them.
  std::vector<Tensor> exchange_whole(const std::string& call, const Tensor& x) const {
    std::vector<Tensor> all(size_t(world_size), x);
    std::vector<Outgoing> out;
    std::vector<Incoming> in;
    const auto bytes = size_t(bytes_of(x.dtype(), x.numel()));
    for_others([&](int r) {
      all[size_t(r)] = Tensor::empty(x.shape(), {.dtype = x.dtype()});
      out.push_back({r, bytes > 0 ? bytes_at(x, 0) : nullptr, bytes});
      in.push_back({r, bytes > 0 ? bytes_at(all[size_t(r)], 0) : nullptr, bytes});
    });
    transport->exchange(call, out, in);
    return all;
  }

  /// Where the parts of `count` elements begin, one for each rank, and the end.
  std::vector<int64_t> part_bounds(int64_t count) const {
    std::vector<int64_t> bounds;
    const int64_t size = (count + world_size - 1) / world_size;
    for (int r = 0; r <= world_size; r++) bounds.push_back(std::min(count, r * size));
    return bounds;
  }

  /// Sends this rank's part of y to all, and receives theirs into y.
  void share_parts(const std::string& call, const Tensor& y,
                   const std::vector<int64_t>& bounds) const {
    std::vector<Outgoing> out;
    std::vector<Incoming> in;
    const auto bytes = [&](int r) {
      return size_t(bytes_of(y.dtype(), bounds[size_t(r) + 1] - bounds[size_t(r)]));
    };
    for_others([&](int r) {
      out.push_back({r, bytes_at(y, bounds[size_t(rank)]), bytes(rank)});
      in.push_back({r, bytes_at(y, bounds[size_t(r)]), bytes(r)});
    });
    transport->exchange(call, out, in);
  }

  Tensor all_reduce(const std::string& call, const Tensor& x, ReduceOp reduction) const {
    if (bytes_of(x.dtype(), x.numel()) <= kMaxReducedWhole)
      return combine(exchange_whole(call, x), reduction);
    const std::vector<int64_t> bounds = part_bounds(x.numel());
    const int64_t size = bounds[size_t(rank) + 1] - bounds[size_t(rank)];
    std::vector<Tensor> parts(static_cast<size_t>(world_size));
    std::vector<Outgoing> out;
    std::vector<Incoming> in;
    const Tensor flat = reshape(x, {x.numel()});
    parts[size_t(rank)] = narrow(flat, 0, bounds[size_t(rank)], size);
    for_others([&](int r) {
      const int64_t begin = bounds[size_t(r)], end = bounds[size_t(r) + 1];
      Tensor& part = parts[size_t(r)] = Tensor::empty({size}, {.dtype = x.dtype()});
      out.push_back({r, bytes_at(flat, begin), size_t(bytes_of(x.dtype(), end - begin))});
      in.push_back({r, size > 0 ? bytes_at(part, 0) : nullptr, size_t(bytes_of(x.dtype(), size))});
    });
    transport->exchange(call, out, in);
    const Tensor y = Tensor::empty({x.numel()}, {.dtype = x.dtype()});
    if (size > 0)
      std::memcpy(bytes_at(y, bounds[size_t(rank)]), bytes_at(combine(parts, reduction), 0),
                  size_t(bytes_of(x.dtype(), size)));
    share_parts(call, y, bounds);
    return reshape(y, x.shape());
  }

  Tensor broadcast(const std::string& call, const Tensor& x, int root) const {
    const int64_t bytes = bytes_of(x.dtype(), x.numel());
    const Tensor y = rank == root ? x : Tensor::empty(x.shape(), {.dtype = x.dtype()});
    const bool is_whole = bytes <= kMaxBroadcastWhole || world_size == 2 || is_block(x.dtype());
    // In parts, `root` sends the last one to itself, so that all send equally much in share_parts.
    const std::vector<int64_t> bounds = is_whole ? std::vector<int64_t>{} : part_bounds(x.numel());
    std::vector<Outgoing> out;
    std::vector<Incoming> in;
    const auto begin = [&](int r) { return is_whole ? 0 : bounds[size_t(r)]; };
    const auto count = [&](int r) {
      return size_t(is_whole ? bytes : bytes_of(x.dtype(), bounds[size_t(r) + 1] - begin(r)));
    };
    if (rank == root)
      for_others([&](int r) { out.push_back({r, bytes_at(y, begin(r)), count(r)}); });
    else
      in.push_back({root, bytes_at(y, begin(rank)), count(rank)});
    transport->exchange(call, out, in);
    if (!is_whole) share_parts(call, y, bounds);
    return y;
  }

  void require_other(const char* function, int other) const {
    check(other >= 0 && other < world_size, ErrorCode::kOutOfRange, function,
          "expected a rank in [0, ", world_size, "), got ", other);
    check(other != rank, ErrorCode::kInvalidArgument, function,
          "expected another rank than this one, ", rank);
  }
};

ProcessGroup::ProcessGroup() : state_(std::make_shared<State>()) {}
ProcessGroup::ProcessGroup(std::shared_ptr<State> state) : state_(std::move(state)) {}

ProcessGroup ProcessGroup::join(const ProcessGroupOptions& options) {
  const auto require = [](bool good, const auto&... parts) {
    check(good, ErrorCode::kInvalidArgument, "dist", parts...);
  };
  require(options.world_size >= 1, "expected a world_size of at least 1, got ", options.world_size);
  require(options.rank >= 0 && options.rank < options.world_size, "expected a rank in [0, ",
          options.world_size, "), got ", options.rank);
  require(options.local_rank >= 0, "expected a local_rank of at least 0, got ", options.local_rank);
  require(options.port >= 1 && options.port <= 65535, "expected a port from 1 to 65535, got ",
          options.port);
  constexpr double kMaxSeconds = 1e6;
  require(options.timeout_seconds > 0 && options.timeout_seconds <= kMaxSeconds,
          "expected timeout_seconds above 0, at most ", kMaxSeconds, ", got ",
          options.timeout_seconds);
  const auto state = std::make_shared<State>();
  state->rank = options.rank;
  state->world_size = options.world_size;
  state->local_rank = options.local_rank;
  state->on_wait = options.on_wait;
  const ProcessGroup group(state);
  if (options.world_size == 1) return group;
  const auto timeout = std::chrono::milliseconds(std::llround(1e3 * options.timeout_seconds));
  state->timeout = timeout;
  state->choice = dist::choice_of_environment();
  if (std::vector<dist::MpiConnection> over_mpi = dist::meet_over_mpi(options); !over_mpi.empty())
    state->transport =
        std::make_shared<dist::MpiTransport>(options.rank, std::move(over_mpi), timeout);
  else
    state->transport =
        std::make_shared<dist::TcpTransport>(options.rank, dist::meet(options), timeout);
  group.barrier();
  return group;
}

int ProcessGroup::rank() const { return state_->rank; }
int ProcessGroup::world_size() const { return state_->world_size; }
int ProcessGroup::local_rank() const { return state_->local_rank; }

Tensor ProcessGroup::all_reduce(const Tensor& x, ReduceOp reduction) const {
  require_reducible("all_reduce", x, reduction);
  if (world_size() == 1) return x;
  const std::string call = call_text("all_reduce", x, " ", name_of(reduction));
  dist::CardCollectives* const cards = state_->cards_for(call, x);
  const Tensor y = cards ? cards->all_reduce(call, in_row(x), reduction)
                         : state_->all_reduce(call, on_host(x), reduction).to(x.device());
  return with_gradient(
      "all_reduce", y, {x}, [group = *this, reduction](const Tensor&, const Tensor& gradient) {
        const bool is_linear = reduction == ReduceOp::kSum || reduction == ReduceOp::kMean;
        check(is_linear, ErrorCode::kNoGradient, "all_reduce", "no gradient of the ",
              name_of(reduction), " over ranks");
        return std::vector{group.all_reduce(gradient, reduction)};
      });
}

namespace {

/// x with a dim in front. Errors: kOutOfRange, naming the function.
Tensor with_dim_first(const char* function, const Tensor& x, int64_t* dim) {
  *dim = normalize_dim(function, *dim, x.rank());
  return movedim(x, *dim, 0);
}

/// The size of each of world_size parts of a dim.
int64_t part_size(const char* function, const Tensor& x, int64_t dim, int world_size) {
  check(x.size(dim) % world_size == 0, ErrorCode::kShapeMismatch, function,
        "expected a size of dim ", dim, " that the number of ranks, ", world_size,
        ", divides, got shape ", x.shape());
  return x.size(dim) / world_size;
}

Shape with_ranks(Shape part, int world_size) {
  part.insert(0, world_size);
  return part;
}

void require_elements(const char* function, const Tensor& x) {
  check(!is_block(x.dtype()), ErrorCode::kUnsupported, function,
        "expected a dtype without blocks, got ", dtype_name(x.dtype()));
}

}  // namespace

Tensor ProcessGroup::all_gather(const Tensor& x, int64_t dim) const {
  require_elements("all_gather", x);
  const Tensor first = with_dim_first("all_gather", x.detach(), &dim);
  if (world_size() == 1) return x;
  const std::string call = call_text("all_gather", x, " dim ", dim);
  Tensor all;  // with dim first
  if (dist::CardCollectives* const cards = state_->cards_for(call, x)) {
    Shape shape = first.shape();
    shape[0] *= world_size();
    all = reshape(cards->all_gather(call, in_row(first)), shape);
  } else {
    all = cat(state_->exchange_whole(call, on_host(first)), 0);
  }
  const Tensor y = movedim(all, 0, dim).to(x.device()).contiguous();
  return with_gradient("all_gather", y, {x},
                       [group = *this, dim](const Tensor&, const Tensor& gradient) {
                         return std::vector{group.reduce_scatter(gradient, dim)};
                       });
}

Tensor ProcessGroup::reduce_scatter(const Tensor& x, int64_t dim, ReduceOp reduction) const {
  require_reducible("reduce_scatter", x, reduction);
  const Tensor first = with_dim_first("reduce_scatter", x.detach(), &dim);
  Shape part = first.shape();
  part[0] = part_size("reduce_scatter", x, dim, world_size());
  if (world_size() == 1) return x;
  const std::string call = call_text("reduce_scatter", x, " dim ", dim, " ", name_of(reduction));
  dist::CardCollectives* const cards = state_->cards_for(call, x);
  const Tensor combined =
      cards ? cards->reduce_scatter(call, in_row(first), reduction)
            : combine(state_->exchange_parts(call, on_host(first), part), reduction);
  const Tensor y = movedim(combined, 0, dim).to(x.device()).contiguous();
  return with_gradient("reduce_scatter", y, {x},
                       [group = *this, dim, reduction](const Tensor&, const Tensor& gradient) {
                         const bool is_mean = reduction == ReduceOp::kMean;
                         check(is_mean || reduction == ReduceOp::kSum, ErrorCode::kNoGradient,
                               "reduce_scatter", "no gradient of the ", name_of(reduction),
                               " over ranks");
                         const Tensor whole = group.all_gather(gradient, dim);
                         return std::vector{is_mean ? whole / double(group.world_size()) : whole};
                       });
}

Tensor ProcessGroup::all_to_all(const Tensor& x, int64_t split_dim, int64_t concat_dim) const {
  require_elements("all_to_all", x);
  concat_dim = normalize_dim("all_to_all", concat_dim, x.rank());
  const Tensor first = with_dim_first("all_to_all", x.detach(), &split_dim);
  Shape part = first.shape();
  part[0] = part_size("all_to_all", x, split_dim, world_size());
  if (world_size() == 1) return x;
  const std::string call = call_text("all_to_all", x, " dims ", split_dim, " ", concat_dim);
  dist::CardCollectives* const cards = state_->cards_for(call, x);
  std::vector<Tensor> parts =
      cards
          ? unbind(reshape(cards->all_to_all(call, in_row(first)), with_ranks(part, world_size())),
                   0)
          : state_->exchange_parts(call, on_host(first), part);
  for (Tensor& one : parts) one = movedim(one, 0, split_dim);
  const Tensor y = cat(parts, concat_dim).to(x.device());
  return with_gradient(
      "all_to_all", y, {x},
      [group = *this, split_dim, concat_dim](const Tensor&, const Tensor& gradient) {
        return std::vector{group.all_to_all(gradient, concat_dim, split_dim)};
      });
}

Tensor ProcessGroup::broadcast(const Tensor& x, int root) const {
  check(root >= 0 && root < world_size(), ErrorCode::kOutOfRange, "broadcast",
        "expected a root in [0, ", world_size(), "), got ", root);
  if (world_size() == 1) return x;
  const std::string call = call_text("broadcast", x, " root ", root);
  dist::CardCollectives* const cards = state_->cards_for(call, x);
  const Tensor y = cards ? cards->broadcast(call, in_row(x), root)
                         : state_->broadcast(call, on_host(x), root).to(x.device());
  if (is_block(x.dtype())) return y;
  return with_gradient("broadcast", y, {x},
                       [group = *this, root](const Tensor&, const Tensor& gradient) {
                         const Tensor sum = group.all_reduce(gradient);
                         return std::vector{group.rank() == root ? sum : zeros_like(gradient)};
                       });
}

void ProcessGroup::send(const Tensor& x, int to) const {
  state_->require_other("send", to);
  const std::string call = call_text("send", x);
  if (dist::CardCollectives* const cards = state_->cards_for(call, x, /*is_for_all=*/false))
    return cards->send(call, in_row(x), to);
  const Tensor host = on_host(x);
  const Outgoing out{to, bytes_at(host, 0), size_t(bytes_of(x.dtype(), x.numel()))};
  state_->transport->exchange(call, {&out, 1}, {});
}

Tensor ProcessGroup::recv(const Shape& shape, const TensorOptions& options, int from) const {
  state_->require_other("recv", from);
  const Tensor there = Tensor::empty(shape, options);
  const std::string call = call_text("send", there);
  if (dist::CardCollectives* const cards = state_->cards_for(call, there, /*is_for_all=*/false)) {
    cards->receive(call, there, from);
    return there;
  }
  const Tensor host =
      there.device().is_cpu() ? there : Tensor::empty(shape, {.dtype = options.dtype});
  const Incoming in{from, bytes_at(host, 0), size_t(bytes_of(options.dtype, host.numel()))};
  state_->transport->exchange(call, {}, {&in, 1});
  return host.to(options.device);
}

void ProcessGroup::barrier() const {
  if (world_size() == 1) return;
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  state_->for_others([&](int r) {
    out.push_back({r, nullptr, 0});
    in.push_back({r, nullptr, 0});
  });
  state_->transport->exchange("barrier", out, in);
}

}  // namespace wick
