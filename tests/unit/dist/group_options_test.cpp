#include <cstdlib>
#include <map>
#include <string>

#include "../expect.h"
#include "wick/dist/process_group.h"

namespace wick {
namespace {

using Variables = std::map<std::string, std::string>;

/// "RANK of WORLD_SIZE, LOCAL_RANK, ADDRESS:PORT, SECONDS" in a process with these variables.
std::string options_in(const Variables& variables) {
  return test::in_child([&] {
    for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT",
                             "WICK_DIST_TIMEOUT", "TORCHELASTIC_USE_AGENT_STORE"})
      unsetenv(name);
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
    const ProcessGroupOptions o = process_group_options();
    return std::to_string(o.rank) + " of " + std::to_string(o.world_size) + ", " +
           std::to_string(o.local_rank) + ", " + o.address + ":" + std::to_string(o.port) + ", " +
           std::to_string(int(o.timeout_seconds));
  });
}

TEST(GroupOptions, AreReadFromTheVariablesOfLaunchers) {
  EXPECT_EQ(options_in({}), "0 of 1, 0, 127.0.0.1:29500, 600");
  const Variables torchrun = {{"RANK", "3"},           {"WORLD_SIZE", "4"},
                              {"LOCAL_RANK", "1"},     {"MASTER_ADDR", "head"},
                              {"MASTER_PORT", "1234"}, {"WICK_DIST_TIMEOUT", "30"}};
  EXPECT_EQ(options_in(torchrun), "3 of 4, 1, head:1234, 30");
  Variables with_server = torchrun;
  with_server["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  EXPECT_EQ(options_in(with_server), "3 of 4, 1, head:1235, 30");
  EXPECT_EQ(options_in({{"OMPI_COMM_WORLD_RANK", "1"},
                        {"OMPI_COMM_WORLD_SIZE", "2"},
                        {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}}),
            "1 of 2, 1, 127.0.0.1:29500, 600");
  EXPECT_EQ(options_in({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}), "1 of 2, 0, 127.0.0.1:29500, 600");
}

TEST(GroupOptions, NamesTheVariableThatIsWrong) {
  EXPECT_EQ(options_in({{"RANK", "1"}}),
            "invalid argument: WORLD_SIZE: expected the number of ranks, as RANK is set");
  EXPECT_EQ(options_in({{"WORLD_SIZE", "2"}}),
            "invalid argument: RANK: expected a rank, as WORLD_SIZE is set");
  EXPECT_EQ(options_in({{"RANK", "2"}, {"WORLD_SIZE", "2"}}),
            "invalid argument: RANK: expected a rank below WORLD_SIZE, 2, got 2");
  EXPECT_EQ(options_in({{"RANK", "-1"}, {"WORLD_SIZE", "2"}}),
            "invalid argument: RANK: expected an integer from 0 to 65535, got \"-1\"");
  EXPECT_EQ(options_in({{"MASTER_PORT", "70000"}}),
            "invalid argument: MASTER_PORT: expected an integer from 1 to 65534, got \"70000\"");
}

}  // namespace
}  // namespace wick
