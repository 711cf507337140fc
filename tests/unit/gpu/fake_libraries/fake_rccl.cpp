// RCCL between processes of one machine, computed on the host: the bytes move through shared memory. Each
// call is recorded when it is queued, and runs when its stream reaches it, also in a replayed graph. The
// numbers are those of its header.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "fake.h"

using namespace fake;

namespace {

constexpr int kMaxRanks = 8;
constexpr size_t kSlotBytes = 4 << 20;  // of a rank, for the input of a call
enum { kSuccess = 0, kUnhandled = 1, kInvalidArgument = 4, kInvalidUsage = 5, kRemoteError = 6 };

struct UniqueId {
  char internal[128];
};

/// In shared memory: where the ranks meet, and a slot for the bytes of each.
struct Meeting {
  std::atomic<int> joined;
  std::atomic<int> arrived[2];  // of a barrier, used in turn
  std::atomic<int> turn;
  // Messages to each rank from each rank: the number that were written and taken.
  std::atomic<int> written[kMaxRanks][kMaxRanks], taken[kMaxRanks][kMaxRanks];
};

struct Communicator {
  Meeting* meeting;
  char* slots;  // ranks x (1 + ranks) of kSlotBytes: input, then messages to each rank
  int rank, ranks, device;
  std::string name;
  std::atomic<bool> is_aborted{false};
  int calls = 0;

  char* slot(int of_rank) const { return slots + size_t(of_rank) * (ranks + 1) * kSlotBytes; }
  char* message(int from, int to) const { return slot(from) + size_t(1 + to) * kSlotBytes; }
  template <class F>
  bool wait_until(const F& is_true) const {
    while (!is_true()) {
      if (is_aborted) return false;
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    return true;
  }
  bool barrier() {
    const int turn = meeting->turn;
    if (++meeting->arrived[turn & 1] == ranks) {
      meeting->arrived[turn & 1] = 0;
      meeting->turn = turn + 1;
      return true;
    }
    return wait_until([&] { return meeting->turn != turn; });
  }
};

template <class F>
F of_hip(const char* name) {
  static void* const hip = dlopen("libamdhip64.so.7", RTLD_NOW | RTLD_NOLOAD);
  return reinterpret_cast<F>(dlsym(hip, name));
}

/// Runs work when the stream reaches it; a graph that is being captured runs it at every launch.
int queue(void* stream, std::function<void()> work) {
  // Kept: a graph may run it again.
  auto* kept = new std::function<void()>(std::move(work));
  const auto launch = of_hip<int (*)(void*, void (*)(void*), void*)>("hipLaunchHostFunc");
  const int error = launch(
      stream, [](void* data) { (*static_cast<std::function<void()>*>(data))(); }, kept);
  return error == 0 ? kSuccess : kUnhandled;
}

size_t bytes_of(int type) {
  constexpr size_t kBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return kBytes[type];
}

template <class T>
double integer_at(const char* data, int64_t i) {
  T value;
  std::memcpy(&value, data + i * int64_t(sizeof(T)), sizeof(T));
  return double(value);
}
double load_any(const char* data, int64_t i, int type) {
  switch (type) {
    case 0:
      return integer_at<int8_t>(data, i);
    case 1:
      return integer_at<uint8_t>(data, i);
    case 2:
      return integer_at<int32_t>(data, i);
    case 3:
      return integer_at<uint32_t>(data, i);
    case 4:
      return integer_at<int64_t>(data, i);
    case 5:
      return integer_at<uint64_t>(data, i);
    default:
      return load(data, i, type == 6 ? kF16 : type == 7 ? kF32 : type == 8 ? kF64 : kBf16);
  }
}
void store_any(char* data, int64_t i, int type, double value) {
  if (type >= 6)
    return store(data, i, type == 6 ? kF16 : type == 7 ? kF32 : type == 8 ? kF64 : kBf16, value);
  const int64_t whole = int64_t(value);
  std::memcpy(data + i * int64_t(bytes_of(type)), &whole, bytes_of(type));  // little-endian
}

/// From the last rank to the first: an order that is not wick's.
double combined(const Communicator& c, int64_t i, int type, int operation) {
  double result = load_any(c.slot(c.ranks - 1), i, type);
  for (int rank = c.ranks - 2; rank >= 0; rank--) {
    const double x = load_any(c.slot(rank), i, type);
    result = operation == 2   ? std::max(result, x)
             : operation == 3 ? std::min(result, x)
                              : result + x;
    if (type == 7) result = double(float(result));
  }
  return operation == 4 ? result / c.ranks : result;
}

std::string line_of(const char* name, const Communicator& c, size_t count, int type, void* stream) {
  int device = -1;
  of_hip<int (*)(int*)>("hipGetDevice")(&device);
  int capturing = 0;
  if (stream) of_hip<int (*)(void*, int*)>("hipStreamIsCapturing")(stream, &capturing);
  return "rank " + std::to_string(c.rank) + " device " + std::to_string(device) + " " + name + " " +
         std::to_string(count) + " type " + std::to_string(type) + (stream ? " stream" : " null") +
         (capturing ? " captured" : "");
}

/// Records a call; false if the fault of the test is that it fails.
bool begin(const char* name, Communicator& c, size_t count, int type, void* stream,
           const std::string& more = "") {
  log(line_of(name, c, count, type, stream) + more);
  c.calls++;
  return !(fault("call") && c.calls == 3);
}

struct Message {
  bool is_send;
  Communicator* communicator;
  char* data;
  size_t bytes;
  int other;
  void* stream;
};
thread_local std::vector<Message> grouped;
thread_local int group_depth = 0;

int queue_messages(std::vector<Message> messages) {
  if (messages.empty()) return kSuccess;
  return queue(messages[0].stream, [messages] {
    for (const Message& m : messages) {
      if (!m.is_send) continue;
      Communicator& c = *m.communicator;
      auto& written = c.meeting->written[m.other][c.rank];
      if (!c.wait_until([&] { return written == c.meeting->taken[m.other][c.rank]; })) return;
      std::memcpy(c.message(c.rank, m.other), m.data, m.bytes);
      written++;
    }
    for (const Message& m : messages) {
      if (m.is_send) continue;
      Communicator& c = *m.communicator;
      auto& taken = c.meeting->taken[c.rank][m.other];
      if (!c.wait_until([&] { return c.meeting->written[c.rank][m.other] > taken; })) return;
      std::memcpy(m.data, c.message(m.other, c.rank), m.bytes);
      taken++;
    }
  });
}

int add_message(Message message) {
  if (message.bytes > kSlotBytes) return kInvalidArgument;
  if (group_depth > 0) {
    grouped.push_back(message);
    return kSuccess;
  }
  return queue_messages({message});
}

}  // namespace

extern "C" {

int ncclGetVersion(int* version) {
  const char* text = std::getenv("FAKE_RCCL_VERSION");
  *version = text ? std::atoi(text) : 22105;
  return 0;
}

const char* ncclGetErrorString(int result) {
  return result == kUnhandled      ? "unhandled cuda error"
         : result == kRemoteError  ? "remote process exited or there was a network error"
         : result == kInvalidUsage ? "invalid usage"
                                   : "invalid argument";
}

int ncclGetUniqueId(UniqueId* id) {
  static std::atomic<int> made{0};
  std::snprintf(id->internal, sizeof id->internal, "/wick_fake_rccl_%d_%d", int(getpid()),
                int(made++));
  return 0;
}

int ncclCommInitRank(void** communicator, int ranks, UniqueId id, int rank) {
  if (fault("join") && rank == 1) return kUnhandled;
  if (ranks > kMaxRanks) return kInvalidArgument;
  const int file = shm_open(id.internal, O_RDWR | O_CREAT, 0600);
  const size_t slots = size_t(ranks) * size_t(ranks + 1) * kSlotBytes,
               bytes = sizeof(Meeting) + slots;
  if (file < 0 || ftruncate(file, off_t(bytes)) != 0) return kUnhandled;
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) return kUnhandled;
  auto* c = new Communicator{static_cast<Meeting*>(memory),
                             static_cast<char*>(memory) + sizeof(Meeting),
                             rank,
                             ranks,
                             0,
                             id.internal};
  of_hip<int (*)(int*)>("hipGetDevice")(&c->device);
  c->meeting->joined++;
  c->wait_until([&] { return c->meeting->joined == ranks; });
  if (rank == 0) shm_unlink(id.internal);
  log("rank " + std::to_string(rank) + " device " + std::to_string(c->device) + " joins " +
      std::to_string(ranks));
  *communicator = c;
  return 0;
}

int ncclCommDestroy(void* communicator) {
  auto* c = static_cast<Communicator*>(communicator);
  log("rank " + std::to_string(c->rank) + " leaves");
  delete c;
  return 0;
}

#if !defined(FAKE_RCCL_INCOMPLETE)
int ncclCommAbort(void* communicator) {
  auto* c = static_cast<Communicator*>(communicator);
  log("rank " + std::to_string(c->rank) + " aborts");
  c->is_aborted = true;  // kept: work that waits looks at it
  return 0;
}
#endif

int ncclCommGetAsyncError(void* communicator, int* result) {
  auto* c = static_cast<Communicator*>(communicator);
  *result = fault("asynchronous") && c->rank == 1 && c->calls >= 2 ? kRemoteError : kSuccess;
  return 0;
}

int ncclAllReduce(const void* in, void* out, size_t count, int type, int operation,
                  void* communicator, void* stream) {
  auto& c = *static_cast<Communicator*>(communicator);
  if (!begin("all_reduce", c, count, type, stream, " op " + std::to_string(operation)))
    return kUnhandled;
  const size_t bytes = count * bytes_of(type);
  if (bytes > kSlotBytes) return kInvalidArgument;
  return queue(stream, [=, &c] {
    std::memcpy(c.slot(c.rank), in, bytes);
    if (!c.barrier()) return;
    for (size_t i = 0; i < count; i++)
      store_any(static_cast<char*>(out), int64_t(i), type,
                combined(c, int64_t(i), type, operation));
    c.barrier();
  });
}

int ncclReduceScatter(const void* in, void* out, size_t count, int type, int operation,
                      void* communicator, void* stream) {
  auto& c = *static_cast<Communicator*>(communicator);
  if (!begin("reduce_scatter", c, count, type, stream, " op " + std::to_string(operation)))
    return kUnhandled;
  const size_t bytes = count * bytes_of(type) * size_t(c.ranks);
  if (bytes > kSlotBytes) return kInvalidArgument;
  return queue(stream, [=, &c] {
    std::memcpy(c.slot(c.rank), in, bytes);
    if (!c.barrier()) return;
    for (size_t i = 0; i < count; i++)
      store_any(static_cast<char*>(out), int64_t(i), type,
                combined(c, int64_t(c.rank * count + i), type, operation));
    c.barrier();
  });
}

int ncclAllGather(const void* in, void* out, size_t count, int type, void* communicator,
                  void* stream) {
  auto& c = *static_cast<Communicator*>(communicator);
  if (!begin("all_gather", c, count, type, stream)) return kUnhandled;
  const size_t bytes = count * bytes_of(type);
  if (bytes > kSlotBytes) return kInvalidArgument;
  return queue(stream, [=, &c] {
    std::memcpy(c.slot(c.rank), in, bytes);
    if (!c.barrier()) return;
    for (int rank = 0; rank < c.ranks; rank++)
      std::memcpy(static_cast<char*>(out) + size_t(rank) * bytes, c.slot(rank), bytes);
    c.barrier();
  });
}

int ncclBroadcast(const void* in, void* out, size_t count, int type, int root, void* communicator,
                  void* stream) {
  auto& c = *static_cast<Communicator*>(communicator);
  if (!begin("broadcast", c, count, type, stream, " root " + std::to_string(root)))
    return kUnhandled;
  const size_t bytes = count * bytes_of(type);
  if (bytes > kSlotBytes) return kInvalidArgument;
  return queue(stream, [=, &c] {
    if (c.rank == root) std::memcpy(c.slot(root), in, bytes);
    if (!c.barrier()) return;
    std::memmove(out, c.slot(root), bytes);
    c.barrier();
  });
}

int ncclSend(const void* in, size_t count, int type, int to, void* communicator, void* stream) {
  auto& c = *static_cast<Communicator*>(communicator);
  if (!begin("send", c, count, type, stream, " to " + std::to_string(to))) return kUnhandled;
  return add_message(
      {true, &c, static_cast<char*>(const_cast<void*>(in)), count * bytes_of(type), to, stream});
}

int ncclRecv(void* out, size_t count, int type, int from, void* communicator, void* stream) {
  auto& c = *static_cast<Communicator*>(communicator);
  if (!begin("recv", c, count, type, stream, " from " + std::to_string(from))) return kUnhandled;
  return add_message({false, &c, static_cast<char*>(out), count * bytes_of(type), from, stream});
}

int ncclGroupStart() {
  group_depth++;
  return 0;
}

int ncclGroupEnd() {
  if (--group_depth > 0) return 0;
  return queue_messages(std::move(grouped));
}

}  // extern "C"
