// Groups of processes that compute with the same tensors: their collectives, with gradients.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "wick/core/device.h"
#include "wick/core/tensor.h"

namespace wick {

/// A process's position in its group, and where the group meets.
struct ProcessGroupOptions {
  int rank = 0, world_size = 1;
  int local_rank = 0;                 // the position among the processes of this machine
  std::string address = "127.0.0.1";  // of rank 0
  int port = 29500;                   // on which rank 0 takes connections until all have met
  /// The seconds that a rank waits for another that is alive. A rank that has died is noticed at
  /// once, and a machine that is gone within 30 s.
  double timeout_seconds = 600;
  /// Rank 0 calls it several times a second until all have met over TCP; an error that it raises
  /// ends the meeting. The group keeps the function until the last copy leaves.
  std::function<void()> on_wait = {};
};

/// Reads the variables that `wick launch` and torchrun set (RANK, WORLD_SIZE, LOCAL_RANK,
/// MASTER_ADDR, MASTER_PORT), else mpirun's (OMPI_COMM_WORLD_*, PMI_*), and WICK_DIST_TIMEOUT. A
/// process without such variables is alone in its group.
/// Errors: kInvalidArgument, naming the variable.
WICK_API ProcessGroupOptions process_group_options();

/// The way in which ranks' tensors are combined, element by element.
enum class ReduceOp {
  kSum,
  kMean,  // of floats
  kMax,   // NaN if a rank's element is NaN
  kMin
};

/// The processes that called join, each with its rank. Every rank calls the same functions in the
/// same order, from one thread at a time. Copies share the group; the last one leaves it. Tensors
/// may be on any device; results are on the argument's.
///
/// Sums are taken in the order of the ranks, in f32 for narrower floats, and rounded once: every
/// rank gets the same bits, in every run.
///
/// Tensors on cards travel by NCCL or RCCL if WICK_DIST permits it and the ranks' cards can use it
/// together, which the first call that all ranks make with such tensors finds. These calls, but
/// barrier, queue their work on the device's current stream and return, and Graph::capture records
/// them. Sums then have the library's order and roundings. The tensors of a call must be on cards
/// on all ranks or on no rank, and a rank's are on one card; errors of the work come with a later
/// call or the next wait for the device.
///
/// Errors of all collectives: kIo, naming the rank, if one has died, has left the group, or has
/// sent nothing for timeout_seconds; kInvalidArgument if another rank calls another function or
/// has a tensor of another shape or dtype. A group that has failed fails at every later call.
class WICK_API ProcessGroup {
 public:
  /// A group of this process alone.
  ProcessGroup();
  /// Meets the other ranks, over TCP or MPI (WICK_DIST). Returns when all are there.
  /// Errors: kInvalidArgument for options out of range or unlike another rank's; kIo, naming the
  /// ranks that are missing after timeout_seconds; kRuntimeMissing without the MPI of WICK_DIST.
  static ProcessGroup join(const ProcessGroupOptions& options = process_group_options());

  int rank() const;
  int world_size() const;
  int local_rank() const;

  /// Combines the tensors of all ranks. x has one shape and dtype on all; ops compute with it. The
  /// gradient of kSum and kMean is that reduction of the ranks' gradients.
  /// Errors: kDTypeMismatch for bool in kSum, and for kMean of other dtypes than floats; in
  /// backward kNoGradient for kMax and kMin.
  Tensor all_reduce(const Tensor& x, ReduceOp reduction = ReduceOp::kSum) const;
  /// Concatenates the ranks' tensors of one shape along a dim, in the order of the ranks.
  /// Gradient: reduce_scatter of the sum. Errors: kOutOfRange for the dim; kUnsupported for block
  /// dtypes.
  Tensor all_gather(const Tensor& x, int64_t dim = 0) const;
  /// Combines the tensors of all ranks, and returns the part of this rank: the rank-th of
  /// world_size equal parts along a dim. Gradient: all_gather. Errors: as all_reduce; kOutOfRange
  /// for the dim; kShapeMismatch if world_size does not divide its size.
  Tensor reduce_scatter(const Tensor& x, int64_t dim = 0,
                        ReduceOp reduction = ReduceOp::kSum) const;
  /// Sends the i-th of world_size equal parts along split_dim to rank i, and concatenates the
  /// received parts along concat_dim, in the order of the ranks. Gradient: all_to_all with the dims
  /// exchanged. Errors: as reduce_scatter; kUnsupported for block dtypes.
  Tensor all_to_all(const Tensor& x, int64_t split_dim = 0, int64_t concat_dim = 0) const;
  /// The tensor of rank `root`; x gives the shape and dtype on the others. Gradient: the sum of all
  /// ranks' gradients on `root`, zeros elsewhere. Errors: kOutOfRange for the root.
  Tensor broadcast(const Tensor& x, int root = 0) const;
  /// Sends x to another rank, which must call recv. Has no gradient. Errors: kOutOfRange for the
  /// rank; kInvalidArgument for this one.
  void send(const Tensor& x, int to) const;
  /// Receives a tensor that another rank sends, of this shape and dtype. Errors: as send.
  Tensor recv(const Shape& shape, const TensorOptions& options, int from) const;
  /// Returns when all ranks have called it.
  void barrier() const;

 private:
  struct State;
  explicit ProcessGroup(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

/// The device named `name` (Device::parse) of a rank: of several ranks on a machine, each has the
/// card of its position there if the name gives no number ("auto", "cuda", "rocm").
/// Errors: as Device::parse; kDeviceMissing if the machine has fewer cards.
WICK_API Device device_of_rank(const std::string& name, const ProcessGroup& group);

}  // namespace wick
