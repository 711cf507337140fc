#include "dist/mpi_connection.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <thread>

#include "base/environment.h"
#include "base/log.h"
#include "core/registry.h"
#include "dist/choice.h"
#include "wick/base/error.h"

namespace wick::dist {
namespace {

// 1 MiB for each other rank: as much is on its way while both ends copy.
constexpr size_t kPackets = 4, kPacketBytes = 128 << 10;
// How long a rank that waits looks without pause, and the pause.
constexpr auto kBusyTime = std::chrono::milliseconds(1);
constexpr auto kPause = std::chrono::microseconds(50);
constexpr auto kFlushTime = std::chrono::milliseconds(200);

}  // namespace

struct MpiConnection::State {
  struct Packet {
    char* data = nullptr;
    MpiFunctions::Request request = 0;
    bool is_moving = false;  // MPI has it
  };

  State(const MpiFunctions& functions, int other, int stream_tag)
      : mpi(functions),
        rank(other),
        tag(stream_tag),
        memory(new char[2 * kPackets * kPacketBytes]) {
    for (size_t i = 0; i < kPackets; i++) {
      out[i].data = memory.get() + i * kPacketBytes;
      in[i].data = memory.get() + (kPackets + i) * kPacketBytes;
      receive(in[i]);
    }
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    bool is_free = true;
    const auto drop = [&](Packet& packet, bool is_receive) {
      if (packet.is_moving && !mpi.drop(&packet.request, is_receive)) is_free = false;
    };
    for (Packet& packet : out) drop(packet, false);
    drop(end, false);
    // From the last one, so that a message that comes meanwhile takes no later packet.
    for (size_t i = kPackets; i-- > 0;) drop(in[(next_in + i) % kPackets], true);
    if (!is_free) static_cast<void>(memory.release());  // MPI may still use it
  }

  bool succeeds(int code) {
    if (code == 0) return true;
    if (!has_failed) {
      char text[256];
      mpi.explain(code, text, sizeof text);
      note("dist: MPI to rank ", rank, ": ", text);
    }
    has_failed = true;
    return false;
  }

  void receive(Packet& packet) {
    packet.is_moving =
        succeeds(mpi.receive(packet.data, int(kPacketBytes), rank, tag, &packet.request));
  }
  void send(Packet& packet, size_t bytes) {
    packet.is_moving = succeeds(mpi.send(packet.data, int(bytes), rank, tag, &packet.request));
  }

  /// Whether MPI has let go of a packet that was sent.
  bool is_free(Packet& packet) {
    int is_done = 0, bytes = 0;
    if (packet.is_moving && succeeds(mpi.test(&packet.request, &is_done, &bytes)) && is_done)
      packet.is_moving = false;
    return !packet.is_moving;
  }

  /// Whether the next packet has bytes to read.
  bool has_bytes() {
    Packet& packet = in[next_in];
    if (packet.is_moving && !has_failed && !is_at_end) {
      int is_done = 0, bytes = 0;
      if (!succeeds(mpi.test(&packet.request, &is_done, &bytes)) || !is_done) return false;
      packet.is_moving = false;
      arrived = size_t(bytes);
      taken = 0;
      is_at_end = bytes == 0;
    }
    return !packet.is_moving && !is_at_end && !has_failed;
  }

  const MpiFunctions& mpi;
  const int rank, tag;
  std::unique_ptr<char[]> memory;
  std::array<Packet, kPackets> out, in;  // each is used in turn
  Packet end;                            // the empty packet that ends the stream
  size_t next_out = 0, next_in = 0;
  size_t arrived = 0, taken = 0;  // bytes of the packet next_in
  bool is_at_end = false, has_failed = false;
};

MpiConnection::MpiConnection() = default;
MpiConnection::MpiConnection(const MpiFunctions& mpi, int rank, int tag)
    : state_(std::make_unique<State>(mpi, rank, tag)) {}
MpiConnection::~MpiConnection() = default;
MpiConnection::MpiConnection(MpiConnection&&) noexcept = default;
MpiConnection& MpiConnection::operator=(MpiConnection&&) noexcept = default;

std::optional<size_t> MpiConnection::read(void* to, size_t bytes) {
  State& s = *state_;
  size_t count = 0;
  while (count < bytes && s.has_bytes()) {
    const size_t size = std::min(bytes - count, s.arrived - s.taken);
    State::Packet& packet = s.in[s.next_in];
    std::memcpy(static_cast<char*>(to) + count, packet.data + s.taken, size);
    count += size;
    s.taken += size;
    if (s.taken < s.arrived) continue;
    s.receive(packet);
    s.next_in = (s.next_in + 1) % kPackets;
  }
  if (count == 0 && bytes > 0 && has_ended()) return std::nullopt;
  return count;
}

std::optional<size_t> MpiConnection::write(const void* from, size_t bytes) {
  State& s = *state_;
  size_t count = 0;
  while (count < bytes && can_write() && !s.has_failed) {
    State::Packet& packet = s.out[s.next_out];
    const size_t size = std::min(bytes - count, kPacketBytes);
    std::memcpy(packet.data, static_cast<const char*>(from) + count, size);
    s.send(packet, size);
    s.next_out = (s.next_out + 1) % kPackets;
    count += size;
  }
  if (s.has_failed) return std::nullopt;
  return count;
}

bool MpiConnection::can_read() const { return state_->has_bytes() || has_ended(); }
bool MpiConnection::can_write() const {
  return state_->is_free(state_->out[state_->next_out]) || state_->has_failed;
}
bool MpiConnection::has_ended() const {
  return !state_->has_bytes() && (state_->is_at_end || state_->has_failed);
}

bool MpiConnection::is_flushed() const {
  bool is_flushed = true;
  // All are tested, so that all make progress.
  for (State::Packet& packet : state_->out) is_flushed = state_->is_free(packet) && is_flushed;
  return (state_->is_free(state_->end) && is_flushed) || state_->has_failed;
}

bool MpiConnection::read_all(void* to, size_t bytes, Clock::time_point until) {
  for (auto* at = static_cast<char*>(to); bytes > 0;) {
    const std::optional<size_t> count = read(at, bytes);
    if (!count) return false;
    at += *count;
    bytes -= *count;
    Waiting<MpiConnection> waiting{this, true, false, false};
    if (bytes > 0 && !wait_for_any({&waiting, 1}, until)) return false;
  }
  return true;
}

bool MpiConnection::write_all(const void* from, size_t bytes, Clock::time_point until) {
  for (auto* at = static_cast<const char*>(from); bytes > 0;) {
    const std::optional<size_t> count = write(at, bytes);
    if (!count) return false;
    at += *count;
    bytes -= *count;
    Waiting<MpiConnection> waiting{this, false, true, false};
    if (bytes > 0 && !wait_for_any({&waiting, 1}, until)) return false;
  }
  return true;
}

void MpiConnection::finish() {
  if (!state_->end.is_moving && !state_->has_failed) state_->send(state_->end, 0);
  // Later no call may come that lets MPI go on.
  Waiting<MpiConnection> waiting{this, false, false, true};
  wait_for_any({&waiting, 1}, Clock::now() + kFlushTime);
}

bool wait_for_any(std::span<Waiting<MpiConnection>> all, Clock::time_point until) {
  const auto begin = Clock::now();
  for (;;) {
    bool can_move = false;
    for (Waiting<MpiConnection>& one : all) {
      one.can_read = one.read && one.connection->can_read();
      one.can_write =
          (one.write && one.connection->can_write()) || (one.flush && one.connection->is_flushed());
      can_move = can_move || one.can_read || one.can_write;
    }
    if (can_move) return true;
    const auto now = Clock::now();
    if (now >= until) return false;
    if (now - begin < kBusyTime)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(kPause);
  }
}

namespace {

/// The table of the module, or the reason why it is missing.
struct MpiModule {
  const MpiFunctions* functions = nullptr;
  std::string reason;
};

MpiModule load_module() {
  constexpr const char* kFile = "wick_mpi.so";
  std::string searched;
  for (const std::string& folder : module_folders()) {
    searched += (searched.empty() ? "" : ", ") + folder;
    const std::string path = folder + "/" + kFile;
    if (access(path.c_str(), F_OK) != 0) continue;
    void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);  // never closed
    if (!handle) return {nullptr, path + " cannot be loaded: " + dlerror()};
    const auto entry = reinterpret_cast<MpiEntry>(dlsym(handle, kMpiEntryName));
    const MpiFunctions* const functions = entry ? entry() : nullptr;
    if (!functions || functions->version != MpiFunctions::kVersion)
      return {nullptr, path + " cannot be used: it was built for another version of wick"};
    return {functions, ""};
  }
  return {nullptr, std::string("the module ") + kFile + " is not in " + searched +
                       "; it is built where libopenmpi-dev is installed"};
}

const MpiModule& module() {
  static const MpiModule only = load_module();
  return only;
}

/// Whether variables of mpirun, and no other launcher's, give this process the options' place.
bool is_of_mpirun(const ProcessGroupOptions& options) {
  if (environment("RANK") || environment("WORLD_SIZE")) return false;
  const auto is = [](const char* name, int value) {
    return environment(name) == std::to_string(value);
  };
  return (is("OMPI_COMM_WORLD_SIZE", options.world_size) &&
          is("OMPI_COMM_WORLD_RANK", options.rank)) ||
         (is("PMI_SIZE", options.world_size) && is("PMI_RANK", options.rank));
}

}  // namespace

std::vector<MpiConnection> meet_over_mpi(const ProcessGroupOptions& options) {
  const Choice choice = choice_of_environment();
  const bool is_free = choice == Choice::kAuto || choice == Choice::kNccl;
  if (choice == Choice::kTcp || (is_free && !is_of_mpirun(options))) return {};
  const MpiFunctions* const mpi = module().functions;
  if (is_free && (!mpi || !environment(mpi->launch_variable))) {
    note("dist: the ranks use TCP, not MPI: ",
         mpi ? "mpirun is of another MPI than wick_mpi.so" : module().reason);
    return {};
  }
  check(mpi, ErrorCode::kRuntimeMissing, "dist", "WICK_DIST is mpi, but ", module().reason);
  int rank = 0, world_size = 1, highest_tag = 0;
  char reason[512] = "";
  check(mpi->open(&rank, &world_size, &highest_tag, reason, sizeof reason), ErrorCode::kIo, "dist",
        "MPI cannot start: ", reason, "; WICK_DIST=tcp does without it");
  check(rank == options.rank && world_size == options.world_size, ErrorCode::kInvalidArgument,
        "dist", "expected rank ", options.rank, " of ", options.world_size, ", MPI has rank ", rank,
        " of ", world_size, "; mpirun must be of the MPI that wick_mpi.so was built with");
  note("dist: the ranks use MPI");
  // All ranks join their groups in one order, so each group has a tag of its own: messages that a
  // failed group leaves reach no other.
  static std::atomic<int> groups{0};
  const int tag = groups++ % highest_tag;
  std::vector<MpiConnection> connections(static_cast<size_t>(world_size));
  for (int other = 0; other < world_size; other++)
    if (other != rank) connections[size_t(other)] = MpiConnection(*mpi, other, tag);
  return connections;
}

}  // namespace wick::dist
