// Collectives of tensors on cards, by the library of their vendor (wick/abi/collectives.h).
#pragma once
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "core/graph.h"
#include "dist/transport.h"
#include "wick/abi/collectives.h"
#include "wick/core/stream.h"
#include "wick/core/tensor.h"
#include "wick/dist/process_group.h"

namespace wick::dist {

/// A rank's card in a communicator of all ranks. Tensors are contiguous, on that card and off the
/// tape. Calls queue work on the current stream and return; errors of that work come with a later
/// call, or with the next wait for the device.
///
/// A thread watches: it asks the library for errors, hears from the other ranks over the transport,
/// and ends the work of a group that has failed.
class CardCollectives : public LaunchListener,
                        public std::enable_shared_from_this<CardCollectives> {
 public:
  /// All ranks call it with the function's call, which each makes with a tensor on such a card.
  /// Returns nullptr on all ranks, with the reason, if the cards of one cannot be used or two ranks
  /// share a card. Errors: as ProcessGroup's.
  static std::shared_ptr<CardCollectives> meet(const std::string& call, const Device& device,
                                               int rank, int world_size,
                                               std::shared_ptr<Transport> transport,
                                               std::chrono::milliseconds timeout,
                                               std::string* why_none);
  /// Waits for this rank's work.
  ~CardCollectives() override;

  const Device& device() const { return device_; }

  Tensor all_reduce(const std::string& call, const Tensor& x, ReduceOp reduction);
  /// The ranks' tensors along a new first dim.
  Tensor all_gather(const std::string& call, const Tensor& x);
  /// x: as many parts as ranks along dim 0. Returns this rank's.
  Tensor reduce_scatter(const std::string& call, const Tensor& x, ReduceOp reduction);
  /// x: as many parts as ranks along dim 0. Returns the parts from all ranks in that order.
  Tensor all_to_all(const std::string& call, const Tensor& x);
  Tensor broadcast(const std::string& call, const Tensor& x, int root);
  void send(const std::string& call, const Tensor& x, int to);
  void receive(const std::string& call, const Tensor& y, int from);

  void before_launch() override;
  void after_launch() override;

 private:
  /// A call whose work has not been seen to end.
  struct Pending {
    std::string call;
    uint32_t calls = 0, launches = 0;  // the Progress at which a rank has made it; 0: not counted
    int other = -1;                    // the rank that it is with; -1: all
    std::optional<Event> end;          // empty while the library has not returned
  };
  /// A counted call, to compare with the other ranks'.
  struct Made {
    uint32_t number;
    std::string call;
  };

  CardCollectives(const Device& device, const Collectives& library, void* communicator, int rank,
                  int world_size, std::shared_ptr<Transport> transport,
                  std::chrono::milliseconds timeout);
  CollectiveCall call_with(const Tensor& x, const Tensor& y) const;
  /// Makes a call: runs f, which calls the library. other: the rank that the call is with, -1: all.
  template <class F>
  void queue(const std::string& call, int other, const F& f);
  /// failure: of the library, "" if it has queued the work.
  void end(const std::string& call, const std::string& failure);
  /// The caller holds the mutex.
  void require_working(const std::string& call) const;
  void add_pending(Pending pending);
  void set_failure(ErrorCode code, const std::string& reason);

  void watch();
  /// Finds the calls that have ended, and failures.
  void look();
  /// first: the oldest call that has not ended, if any; waited: since a call last ended.
  void look_at_ranks(const Pending* first, std::chrono::steady_clock::duration waited,
                     const Watched& watched);
  void stop_work();

  const Device device_;
  const Collectives& library_;
  void* const communicator_;
  const int rank_, world_size_;
  const std::shared_ptr<Transport> transport_;
  const std::chrono::milliseconds timeout_;

  mutable std::mutex mutex_;  // of the members below
  std::condition_variable changed_;
  Progress progress_;
  std::deque<Made> made_;  // the last ones
  std::deque<Pending> pending_;
  std::chrono::steady_clock::time_point moved_;  // a call last ended, or began as the only one
  bool is_calling_ = false, is_aborted_ = false, ends_ = false;
  std::string failure_;
  ErrorCode failure_code_ = ErrorCode::kIo;

  std::thread watcher_;  // last: it uses the members
};

}  // namespace wick::dist
