#include "libraries/collectives.h"

#include <cstdio>
#include <string>

#include "libraries/symbols.h"
#include "runtime/failure.h"
#include "runtime/rt.h"

namespace wick::gpu {
namespace {

using namespace nccl;  // numbers and functions

/// The text lives until the thread's next failure.
Status failed(StatusCode code, std::string text) {
  thread_local std::string kept;
  kept = std::move(text);
  return {code, kept.c_str()};
}

struct Opened {
  Api api{};
  std::string title;  // "NCCL 2.27.3"
  Failure failure;
};

std::string version_text(int version) {
  // The macro NCCL_VERSION of its header: 22703 is 2.27.3.
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

Opened open() {
  Opened opened;
  const CollectivesLibrary& kind = kCollectivesLibrary;
  const OpenedLibrary found = open_library(kind.library, kind.beside());
  if (!found.handle) {
    opened.failure = {StatusCode::kUnsupported, std::string(kind.title) + ": " + found.why_none};
    return opened;
  }
  Api& api = opened.api;
  Symbols symbols(found.handle, "nccl");
  symbols.take(api.GetVersion, "GetVersion");
  symbols.take(api.GetErrorString, "GetErrorString");
  symbols.take(api.GetUniqueId, "GetUniqueId");
  symbols.take(api.CommInitRank, "CommInitRank");
  symbols.take(api.CommDestroy, "CommDestroy");
  symbols.take(api.CommAbort, "CommAbort");
  symbols.take(api.CommGetAsyncError, "CommGetAsyncError");
  symbols.take(api.AllReduce, "AllReduce");
  symbols.take(api.ReduceScatter, "ReduceScatter");
  symbols.take(api.AllGather, "AllGather");
  symbols.take(api.Broadcast, "Broadcast");
  symbols.take(api.Send, "Send");
  symbols.take(api.Recv, "Recv");
  symbols.take(api.GroupStart, "GroupStart");
  symbols.take(api.GroupEnd, "GroupEnd");
  int version = 0;
  constexpr int kLeastVersion = 21000;  // 2.10, the first that has means
  if (!symbols.missing().empty())
    opened.failure = {StatusCode::kUnsupported, found.file + " lacks " + symbols.missing()};
  else if (api.GetVersion(&version) != kSuccess || version < kLeastVersion)
    opened.failure = {StatusCode::kUnsupported, found.file + " is older than version 2.10"};
  opened.title = std::string(kind.title) + " " + version_text(version);
  return opened;
}

/// Opened at the first call. Never destroyed.
const Opened& library() {
  static const Opened& opened = *new Opened(open());
  return opened;
}
const Api& api() { return library().api; }

Status checked(const char* function, int result) {
  if (result == kSuccess) return {};
  return failed(StatusCode::kDeviceError,
                std::string("nccl") + function + ": " + api().GetErrorString(result));
}

/// Calls f(stream of the vendor), with the device current.
template <class F>
Status on_stream(const char* name, int32 device, void* stream, const F& f) {
  Call call{};
  call.device = device;
  call.stream = stream;
  return with_native_stream(
      name, call,
      [](void* context, NativeStream native) {
        return (*static_cast<const F*>(context))(native.handle);
      },
      const_cast<F*>(&f));
}

constexpr int kNoType = -1;
int type_of(DType dtype) {
  switch (dtype) {
    case DType::kI8:
      return kInt8;
    case DType::kU8:
      return kUint8;
    case DType::kI32:
      return kInt32;
    case DType::kU32:
      return kUint32;
    case DType::kI64:
      return kInt64;
    case DType::kU64:
      return kUint64;
    case DType::kF16:
      return kFloat16;
    case DType::kF32:
      return kFloat32;
    case DType::kF64:
      return kFloat64;
    case DType::kBf16:
      return kBfloat16;
    default:
      return kNoType;
  }
}
int operation_of(Reduction reduction) {
  constexpr int kOperations[] = {kSum, kAvg, kMax, kMin};
  return kOperations[int(reduction)];
}

// ---- the table

Status describe(int32 device, CollectivesFacts* facts) {
  const Opened& opened = library();
  if (!opened.failure.ok()) return failed(opened.failure.code, opened.failure.text);
  const std::string address = card_address(device);
  if (address.empty())
    return failed(StatusCode::kUnsupported, "the runtime gives no address of the card");
  std::snprintf(facts->card, sizeof facts->card, "%s", address.c_str());
  std::snprintf(facts->library, sizeof facts->library, "%s", opened.title.c_str());
  return {};
}

Status make_id(int32 device, CommunicatorId* id) {
  static_assert(sizeof(UniqueId) == sizeof id->bytes);
  return on_stream("make_id", device, nullptr, [&](void*) {
    return checked("GetUniqueId", api().GetUniqueId(reinterpret_cast<UniqueId*>(id->bytes)));
  });
}

Status join(int32 device, const CommunicatorId* id, int32 rank, int32 world_size,
            void** communicator) {
  return on_stream("join", device, nullptr, [&](void*) {
    return checked("CommInitRank",
                   api().CommInitRank(communicator, world_size,
                                      *reinterpret_cast<const UniqueId*>(id->bytes), rank));
  });
}

void leave(int32 device, void* communicator) {
  on_stream("leave", device, nullptr,
            [&](void*) { return checked("CommDestroy", api().CommDestroy(communicator)); });
}

void abort_work(int32 device, void* communicator) {
  on_stream("abort", device, nullptr,
            [&](void*) { return checked("CommAbort", api().CommAbort(communicator)); });
}

Status state(int32, void* communicator) {
  int result = kSuccess;
  const int asked = api().CommGetAsyncError(communicator, &result);
  return checked("CommGetAsyncError", asked != kSuccess ? asked : result);
}

int32 reduces(DType dtype, Reduction reduction) {
  const bool is_ordered = reduction == Reduction::kMax || reduction == Reduction::kMin;
  // The libraries' maxima leave NaN out.
  return type_of(dtype) != kNoType && !(is_ordered && is_floating(dtype));
}

Status all_reduce(const CollectiveCall* call, DType dtype, Reduction reduction, int64 elements) {
  return on_stream("all_reduce", call->device, call->stream, [&](void* stream) {
    return checked("AllReduce",
                   api().AllReduce(call->in, call->out, size_t(elements), type_of(dtype),
                                   operation_of(reduction), call->communicator, stream));
  });
}

Status reduce_scatter(const CollectiveCall* call, DType dtype, Reduction reduction,
                      int64 elements) {
  return on_stream("reduce_scatter", call->device, call->stream, [&](void* stream) {
    return checked("ReduceScatter",
                   api().ReduceScatter(call->in, call->out, size_t(elements), type_of(dtype),
                                       operation_of(reduction), call->communicator, stream));
  });
}

Status all_gather(const CollectiveCall* call, int64 bytes) {
  return on_stream("all_gather", call->device, call->stream, [&](void* stream) {
    return checked("AllGather", api().AllGather(call->in, call->out, size_t(bytes), kUint8,
                                                call->communicator, stream));
  });
}

Status broadcast(const CollectiveCall* call, int64 bytes, int32 root) {
  return on_stream("broadcast", call->device, call->stream, [&](void* stream) {
    return checked("Broadcast", api().Broadcast(call->in, call->out, size_t(bytes), kUint8, root,
                                                call->communicator, stream));
  });
}

Status exchange(const CollectiveCall* call, const CollectiveMessage* out, int32 num_out,
                const CollectiveMessage* in, int32 num_in) {
  return on_stream("exchange", call->device, call->stream, [&](void* stream) -> Status {
    if (const Status status = checked("GroupStart", api().GroupStart()); !status.ok())
      return status;
    int result = kSuccess;
    for (int32 i = 0; i < num_out && result == kSuccess; i++)
      result = api().Send(out[i].data, size_t(out[i].bytes), kUint8, out[i].rank,
                          call->communicator, stream);
    for (int32 i = 0; i < num_in && result == kSuccess; i++)
      result = api().Recv(in[i].data, size_t(in[i].bytes), kUint8, in[i].rank, call->communicator,
                          stream);
    // A group that was begun must be ended, whatever happened within.
    const int ended = api().GroupEnd();
    return checked(result != kSuccess ? "Send or ncclRecv" : "GroupEnd",
                   result != kSuccess ? result : ended);
  });
}

}  // namespace

const Collectives kCollectives = {
    .version = kCollectivesVersion,
    .struct_size = sizeof(Collectives),
    .describe = describe,
    .make_id = make_id,
    .join = join,
    .leave = leave,
    .abort = abort_work,
    .state = state,
    .reduces = reduces,
    .all_reduce = all_reduce,
    .reduce_scatter = reduce_scatter,
    .all_gather = all_gather,
    .broadcast = broadcast,
    .exchange = exchange,
};

}  // namespace wick::gpu
