#include <array>

#include "base/environment.h"
#include "wick/base/error.h"
#include "wick/dist/process_group.h"

namespace wick {
namespace {

constexpr int64_t kMaxRanks = 1 << 16;

/// The names of the variables that a program gives each rank.
struct LaunchVariables {
  const char *rank, *world_size, *local_rank;
};
constexpr std::array<LaunchVariables, 3> kVariables = {{
    {"RANK", "WORLD_SIZE", "LOCAL_RANK"},  // wick launch, torchrun
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},  // Open MPI
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},                                     // MPICH
}};

int port_of_environment() {
  const int64_t port =
      environment_integer("MASTER_PORT", 1, 65534).value_or(ProcessGroupOptions{}.port);
  // torchrun's own server keeps the port then.
  return int(port) + (environment("TORCHELASTIC_USE_AGENT_STORE") == "True" ? 1 : 0);
}

}  // namespace

ProcessGroupOptions process_group_options() {
  ProcessGroupOptions options;
  for (const LaunchVariables& names : kVariables) {
    const auto rank = environment_integer(names.rank, 0, kMaxRanks - 1);
    const auto world_size = environment_integer(names.world_size, 1, kMaxRanks);
    if (!rank && !world_size) continue;
    check(rank.has_value(), ErrorCode::kInvalidArgument, names.rank, "expected a rank, as ",
          names.world_size, " is set");
    check(world_size.has_value(), ErrorCode::kInvalidArgument, names.world_size,
          "expected the number of ranks, as ", names.rank, " is set");
    check(*rank < *world_size, ErrorCode::kInvalidArgument, names.rank, "expected a rank below ",
          names.world_size, ", ", *world_size, ", got ", *rank);
    options.rank = int(*rank);
    options.world_size = int(*world_size);
    options.local_rank = int(environment_integer(names.local_rank, 0, kMaxRanks - 1).value_or(0));
    break;
  }
  if (const auto address = environment("MASTER_ADDR")) options.address = *address;
  options.port = port_of_environment();
  constexpr int64_t kMaxSeconds = 1'000'000;
  if (const auto seconds = environment_integer("WICK_DIST_TIMEOUT", 1, kMaxSeconds))
    options.timeout_seconds = double(*seconds);
  return options;
}

Device device_of_rank(const std::string& name, const ProcessGroup& group) {
  const Device device = Device::parse(name);
  const bool is_numbered = name.find(':') != name.npos,
             is_card = device.is_rocm() || device.is_cuda();
  if (is_numbered || !is_card || group.world_size() == 1) return device;
  return Device::at({device.kind(), group.local_rank()});
}

}  // namespace wick
