// The command serve. tests/unit/serve tests its answers.
#include <csignal>

#include "../serve/client.h"
#include "chat_model.h"

namespace wick::test {
namespace {

/// `wick serve` in the background.
class Serving {
 public:
  explicit Serving(const std::string& arguments, const std::string& environment = "") {
    const std::string command = environment + " '" WICK_PROGRAM "' serve --port 0 --device cpu " +
                                arguments + " 2> " + (folder_ / "log") +
                                " & echo $!; wait $!; echo $?";
    out_ = popen(command.c_str(), "r");
    process_ = std::stoi(line());
    first_line_ = line();
  }
  ~Serving() { end(); }
  Serving(const Serving&) = delete;
  Serving& operator=(const Serving&) = delete;

  const std::string& first_line() const { return first_line_; }
  int port() const { return std::stoi(first_line_.substr(first_line_.find_last_of(':') + 1)); }
  void signal(int number) const { kill(process_, number); }
  std::string log() const { return bytes_of(folder_ / "log"); }
  /// Waits for its end. Returns the exit code, -1 if it had ended before.
  int wait() {
    if (!out_) return -1;
    const int code = std::stoi(line());
    pclose(out_);
    out_ = nullptr;
    return code;
  }

 private:
  std::string line() const {
    char text[1000] = "";
    return fgets(text, sizeof text, out_) ? text : "";
  }
  void end() {
    if (!out_) return;
    signal(SIGKILL);
    pclose(out_);
  }

  Folder folder_;
  FILE* out_ = nullptr;
  int process_ = 0;
  std::string first_line_;
};

class Serve : public ::testing::Test {
 protected:
  void SetUp() override { write_chat_model(folder_); }

  Folder folder_;
};

TEST_F(Serve, PrintsItsAddressAndAnswersUntilSigterm) {
  Serving server(folder_.path() + " --alias mine --parallel 2 --context 64");
  const std::string name = folder_.path().substr(folder_.path().rfind('/') + 1);
  EXPECT_EQ(server.first_line(),
            "http://127.0.0.1:" + std::to_string(server.port()) + " serves " + name + "\n");
  const Answer models = ask(server.port(), "GET", "/v1/models");
  EXPECT_TRUE(contains(models.body, "\"id\":\"" + name + "\"")) << models.body;
  EXPECT_TRUE(contains(models.body, "\"id\":\"mine\"")) << models.body;
  EXPECT_TRUE(contains(models.body, "\"max_model_len\":64")) << models.body;
  const Answer chat =
      ask(server.port(), "POST", "/v1/chat/completions",
          R"({"messages": [{"role": "user", "content": "hello"}], "max_tokens": 3})");
  EXPECT_EQ(chat.status, 200) << chat.body;
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait(), 0);
  EXPECT_TRUE(contains(server.log(), "wick: POST /v1/chat/completions 200 ")) << server.log();
  EXPECT_FALSE(contains(server.log(), "hello"));
}

TEST_F(Serve, EndsAtCtrlCAndTakesItsKeyFromTheEnvironment) {
  Serving server(folder_.path() + " --api-key one --quiet", "WICK_API_KEY=two");
  for (const char* key : {"one", "two"})
    EXPECT_EQ(ask(server.port(), "GET", "/v1/models", "",
                  "Authorization: Bearer " + std::string(key) + "\r\n")
                  .status,
              200);
  EXPECT_EQ(ask(server.port(), "GET", "/v1/models").status, 401);
  server.signal(SIGINT);
  EXPECT_EQ(server.wait(), 0);
  EXPECT_FALSE(contains(server.log(), "/v1/models")) << server.log();
}

TEST_F(Serve, RefusesAPortThatIsTaken) {
  Serving server(folder_.path());
  expect_bad_input(
      run("serve --device cpu " + folder_.path() + " --port " + std::to_string(server.port())),
      "127.0.0.1:" + std::to_string(server.port()));
}

TEST_F(Serve, RefusesBadFlags) {
  const std::string model = "serve --device cpu " + folder_.path();
  expect_bad_input(run(model + " --port 70000"), "--port");
  expect_bad_input(run(model + " --parallel 0"), "--parallel");
  expect_bad_input(run(model + " --queue 0"), "--queue");
  expect_bad_input(run(model + " --api-key ''"), "--api-key");
  expect_bad_input(run(model + " --host no.such.host.invalid"), "no.such.host.invalid");
  expect_bad_input(run("serve"), "model");
}

}  // namespace
}  // namespace wick::test
