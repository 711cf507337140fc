#include "dist/stream_transport.h"

#include "../expect.h"
#include "dist/rendezvous.h"
#include "ranks.h"

namespace wick::dist {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Runs f(rank, transport) in a thread for each of two ranks; returns their errors.
std::vector<std::string> run_two(const std::function<void(int, TcpTransport&)>& f) {
  const int port = test::free_port();
  return test::run_threads(2, [&](int rank) {
    TcpTransport transport(rank, meet(test::options_of(rank, 2, port)), seconds(20));
    f(rank, transport);
  });
}

/// Watches until the answer is as wanted, for 10 s at most.
Watched watch_until(TcpTransport& transport, const Progress& mine,
                    const std::function<bool(const Watched&)>& is_wanted) {
  const auto until = Clock::now() + seconds(10);
  Watched watched;
  do {
    watched = transport.watch(mine);
    std::this_thread::sleep_for(milliseconds(5));
  } while (!is_wanted(watched) && Clock::now() < until);
  return watched;
}

TEST(StreamTransport, WatchHearsOfCallsAndOfALeave) {
  const auto failures = run_two([](int rank, TcpTransport& transport) {
    if (rank == 0) {
      transport.watch({1, 0, "first", 0, false});
      transport.watch({7, 3, "all_reduce f32[2] sum", 0, false});  // the goodbye brings it
      return;
    }
    const Watched watched =
        watch_until(transport, {}, [](const Watched& w) { return w.others[0].has_left; });
    const Progress& other = watched.others[0];
    EXPECT_EQ(watched.failure, "");
    EXPECT_TRUE(other.has_left);
    EXPECT_EQ(other.calls, 7u);
    EXPECT_EQ(other.launches, 3u);
    EXPECT_EQ(other.last_call, "all_reduce f32[2] sum");
  });
  EXPECT_EQ(failures, (std::vector<std::string>{"", ""}));
}

TEST(StreamTransport, WatchKeepsMessagesForLaterExchanges) {
  const auto failures = run_two([](int rank, TcpTransport& transport) {
    const int value = 41 + rank;
    int other = 0;
    const Outgoing out{1 - rank, &value, sizeof value};
    const Incoming in{1 - rank, &other, sizeof other};
    if (rank == 1) {
      transport.watch({5, 0, "now", 0, false});
      watch_until(transport, {}, [](const Watched& w) { return w.others[0].calls == 2; });
    } else {
      transport.watch({2, 0, "now", 0, false});
    }
    transport.exchange("numbers", {&out, 1}, {&in, 1});
    EXPECT_EQ(other, 42 - rank);
  });
  EXPECT_EQ(failures, (std::vector<std::string>{"", ""}));
}

TEST(StreamTransport, FailEndsAnExchangeThatWaits) {
  const auto failures = run_two([](int rank, TcpTransport& transport) {
    if (rank == 1) {
      const Watched watched =
          watch_until(transport, {}, [](const Watched& w) { return !w.failure.empty(); });
      EXPECT_EQ(watched.failure, "the card of rank 0 is lost");
      EXPECT_ERROR(transport.exchange("numbers", {}, {}), kIo, "the group has failed before");
      return;
    }
    std::thread other([&] {
      std::this_thread::sleep_for(milliseconds(200));
      transport.fail(ErrorCode::kIo, "the card of rank 0 is lost");
    });
    int number = 0;
    const Incoming in{1, &number, sizeof number};
    EXPECT_ERROR(transport.exchange("numbers", {}, {&in, 1}), kIo,
                 "numbers: the card of rank 0 is lost");
    other.join();
  });
  EXPECT_EQ(failures, (std::vector<std::string>{"", ""}));
}

}  // namespace
}  // namespace wick::dist
