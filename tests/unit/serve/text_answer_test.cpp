// The ends of answers that grow.
#include "serve/text_answer.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <new>
#include <stdexcept>

#include "wick/base/error.h"

namespace wick::serve {
namespace {

/// Fails where the last event would be written.
struct FailingForm : AnswerForm {
  explicit FailingForm(std::function<void()> fail) : fail(std::move(fail)) {}
  Settings whole(const TextFeed&, const Usage&) override { return {}; }
  std::string first(size_t) override { return "first"; }
  std::string part(int64_t, const EnginePiece&) override { return ""; }
  std::string last(int64_t, const EngineText&) override { return ""; }
  std::string end(const Usage&) override {
    fail();
    return "end";
  }
  std::string failure(const RequestError& error) override {
    return "failure " + std::to_string(error.status);
  }
  std::function<void()> fail;
};

/// The bytes that a client gets, and the status of the error that is thrown; 0: no error.
struct Outcome {
  std::string bytes;
  int status = 0;
  bool closes = false;
};
Outcome outcome(const std::function<void()>& fail) {
  int ends[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  Outcome result;
  {
    Socket server(ends[0]);
    HttpExchange exchange(server, std::chrono::milliseconds(1000));
    FailingForm form(fail);
    Metrics metrics;
    Usage usage;
    const TextOptions options;
    TextAnswer answer(exchange, options, form, metrics, usage);
    TextFeed feed([] {});
    try {
      answer.send_parts(feed);
    } catch (const RequestError& error) {
      result.status = error.status;
    }
    result.closes = exchange.closes;
  }
  char buffer[4096];
  for (ssize_t count; (count = read(ends[1], buffer, sizeof buffer)) > 0;)
    result.bytes.append(buffer, size_t(count));
  close(ends[1]);
  return result;
}

TEST(TextAnswer, ThatHasBegunEndsWhateverFails) {
  constexpr const char* kLastChunk = "0\r\n\r\n";
  const Outcome whole = outcome([] {});
  EXPECT_EQ(whole.status, 0);
  EXPECT_FALSE(whole.closes);
  EXPECT_NE(whole.bytes.find("\r\nend\r\n"), std::string::npos) << whole.bytes;
  EXPECT_TRUE(whole.bytes.ends_with(kLastChunk));
  const struct {
    int status;
    std::function<void()> fail;
  } kRows[] = {
      {503, [] { throw RequestError(503, "late"); }},
      {400, [] { wick::fail(ErrorCode::kUnsupported, "op", "no such text"); }},
      {500, [] { wick::fail(ErrorCode::kKernelError, "op", "lost"); }},
      {500, [] { throw std::bad_alloc(); }},
      {500, [] { throw std::out_of_range("at"); }},
  };
  for (const auto& row : kRows) {
    const Outcome failed = outcome(row.fail);
    EXPECT_EQ(failed.status, row.status);
    EXPECT_TRUE(failed.closes);
    EXPECT_NE(failed.bytes.find("failure " + std::to_string(row.status)), std::string::npos)
        << failed.bytes;
    EXPECT_TRUE(failed.bytes.ends_with(kLastChunk)) << failed.bytes;
  }
}

}  // namespace
}  // namespace wick::serve
