#include "dist/rendezvous.h"

#include "../expect.h"
#include "ranks.h"
#include "wick/ops/create.h"
#include "wick/ops/reduce.h"

namespace wick {
namespace {

using test::free_port;
using test::has;
using test::options_of;
using test::run_threads;

const auto kSoon = std::chrono::seconds(5);

TEST(Rendezvous, RanksMayComeInAnyOrder) {
  const int port = free_port();
  const auto failures = run_threads(4, [&](int rank) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100 * (3 - rank)));
    const ProcessGroup group = ProcessGroup::join(options_of(rank, 4, port));
    EXPECT_EQ(group.all_reduce(ones({1})).item<float>(), 4);
  });
  for (const std::string& failure : failures) EXPECT_EQ(failure, "");
}

TEST(Rendezvous, NamesTheRanksThatAreMissing) {
  const int port = free_port();
  const auto failures = run_threads(2, [&](int rank) {
    ProcessGroup::join(options_of(rank, 4, port, 1));  // ranks 2 and 3 never come
  });
  for (const std::string& failure : failures)
    EXPECT_TRUE(has(failure, "dist: ranks 2 and 3 did not come to 127.0.0.1:")) << failure;
}

TEST(Rendezvous, NamesTheAddressThatNoRankServes) {
  EXPECT_ERROR(ProcessGroup::join(options_of(1, 2, free_port(), 0.3)), kIo,
               "dist: cannot connect to 127.0.0.1:");
}

TEST(Rendezvous, RefusesAnotherWorldSize) {
  const int port = free_port();
  const auto failures =
      run_threads(2, [&](int rank) { ProcessGroup::join(options_of(rank, 2 + rank, port)); });
  for (const std::string& failure : failures)
    EXPECT_EQ(failure, "invalid argument: dist: rank 1 expects 3 ranks, rank 0 expects 2");
}

TEST(Rendezvous, RefusesTwoProcessesOfOneRank) {
  const int port = free_port();
  const auto failures = run_threads(
      3, [&](int thread) { ProcessGroup::join(options_of(std::min(thread, 1), 3, port)); });
  for (const std::string& failure : failures)
    EXPECT_EQ(failure, "invalid argument: dist: two processes are rank 1");
}

TEST(Rendezvous, StrangersAreClosedAndTheRanksMeet) {
  const int port = free_port();
  const auto failures = run_threads(4, [&](int thread) {
    if (thread < 2) {
      if (thread == 1) std::this_thread::sleep_for(std::chrono::milliseconds(300));
      const ProcessGroup group = ProcessGroup::join(options_of(thread, 2, port));
      group.barrier();
      return;
    }
    // One that speaks HTTP, and one that sends the beginning of a greeting.
    const std::string text = thread == 2 ? "GET / HTTP/1.1\r\nHost: here\r\n\r\n" : "wickdi";
    const auto until = dist::Clock::now() + kSoon;
    dist::Connection stranger = dist::Connection::to("127.0.0.1", port, until);
    ASSERT_TRUE(stranger.write_all(text.data(), text.size(), until));
    char byte;
    EXPECT_FALSE(stranger.read_all(&byte, 1, until));
    EXPECT_LT(dist::Clock::now(), until) << "the connection of a stranger stays open";
  });
  for (const std::string& failure : failures) EXPECT_EQ(failure, "");
}

/// A connection to rank 0 that has greeted it as another rank.
dist::Connection greeted(int port, uint32_t rank, uint32_t world_size) {
  const auto until = dist::Clock::now() + kSoon;
  dist::Connection connection = dist::Connection::to("127.0.0.1", port, until);
  const struct {
    char mark[8] = {'w', 'i', 'c', 'k', 'd', 'i', 's', 't'};
    uint32_t version = 2, world_size, rank, port = 1;
    uint64_t session = 0;
  } greeting{.world_size = world_size, .rank = rank};
  EXPECT_TRUE(connection.write_all(&greeting, sizeof greeting, until));
  return connection;
}

TEST(Rendezvous, NamesARankThatDiesBeforeAllHaveMet) {
  const int port = free_port();
  const auto failures = run_threads(2, [&](int thread) {
    if (thread == 0)
      ProcessGroup::join(options_of(0, 3, port));
    else
      greeted(port, 2, 3);
  });
  EXPECT_EQ(failures[0], "input/output error: dist: rank 2 has died");
}

TEST(Rendezvous, BytesThatAreNoMessageAreAnError) {
  constexpr size_t kWelcome = 128 + 2 * 64, kHeader = 128;
  struct {
    std::string bytes;
    const char* error;
  } const cases[] = {
      {std::string(kHeader, 'x'),
       "input/output error: barrier: rank 1 sent bytes that are no message"},
      {std::string(kHeader - 1, 'x'), "input/output error: barrier: rank 1 has died"},  // short
      {"", "input/output error: barrier: rank 1 has died"},
  };
  for (const auto& [bytes, error] : cases) {
    const int port = free_port();
    const auto failures = run_threads(2, [&](int thread) {
      if (thread == 0) {
        ProcessGroup::join(options_of(0, 2, port));
        return;
      }
      const auto until = dist::Clock::now() + kSoon;
      dist::Connection rank = greeted(port, 1, 2);
      char welcome[kWelcome];
      ASSERT_TRUE(rank.read_all(welcome, sizeof welcome, until));
      ASSERT_TRUE(rank.write_all(bytes.data(), bytes.size(), until));
    });
    EXPECT_EQ(failures[0], error);
  }
}

TEST(Rendezvous, GreetingsWithRanksOutOfRangeAreAnError) {
  for (const uint32_t rank : {0u, 2u, 4'000'000'000u}) {
    const int port = free_port();
    const auto failures = run_threads(2, [&](int thread) {
      if (thread == 0) {
        ProcessGroup::join(options_of(0, 2, port));
        return;
      }
      dist::Connection connection = greeted(port, rank, 2);
      char header[128];
      EXPECT_TRUE(connection.read_all(header, sizeof header, dist::Clock::now() + kSoon));
    });
    EXPECT_TRUE(has(failures[0], "invalid argument: dist: ")) << failures[0];
    EXPECT_TRUE(has(failures[0], "rank " + std::to_string(rank))) << failures[0];
  }
}

TEST(Rendezvous, AnotherServiceAtThePortIsAnError) {
  dist::Listener service("127.0.0.1", 0);
  const auto failures = run_threads(2, [&](int thread) {
    if (thread == 0) {
      ProcessGroup::join(options_of(1, 2, service.port()));
      return;
    }
    dist::wait_for(service.descriptor(), 1, dist::Clock::now() + kSoon);
    dist::Connection connection = service.accept();
    const std::string text(200, 'x');
    connection.write_all(text.data(), text.size(), dist::Clock::now() + kSoon);
    char bytes[32];
    connection.read_all(bytes, sizeof bytes, dist::Clock::now() + kSoon);
  });
  EXPECT_TRUE(has(failures[0], "dist: rank 0 at 127.0.0.1:")) << failures[0];
}

}  // namespace
}  // namespace wick
