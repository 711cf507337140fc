#include "base/subprocess.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/environment.h"
#include "wick/base/error.h"

namespace wick {
namespace {

constexpr size_t kMaxOutput = 1 << 20;

bool is_program(const std::string& path) {
  struct stat facts;
  return stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) &&
         access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::optional<std::string> find_program(const std::string& name) {
  if (name.find('/') != std::string::npos)
    return is_program(name) ? std::optional(name) : std::nullopt;
  const std::string folders = environment("PATH").value_or("/usr/local/bin:/usr/bin:/bin");
  for (size_t begin = 0; begin <= folders.size();) {
    const size_t end = std::min(folders.find(':', begin), folders.size());
    // An empty entry means the current folder; programs are never run from there.
    if (end > begin && folders[begin] == '/')
      if (const std::string path = folders.substr(begin, end - begin) + "/" + name;
          is_program(path))
        return path;
    begin = end + 1;
  }
  return std::nullopt;
}

Finished run_program(const std::vector<std::string>& arguments) {
  const std::string& path = arguments[0];
  int ends[2];
  check(pipe2(ends, O_CLOEXEC) == 0, ErrorCode::kIo, path,
        "cannot create a pipe: ", std::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawn(&child, path.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error != 0) {
    close(ends[0]);
    fail(ErrorCode::kIo, path, "cannot be run: ", std::strerror(error));
  }
  Finished result{};
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) != 0;) {
    if (n < 0 && errno != EINTR) break;
    // Keep reading beyond the limit, or the program would block on the full pipe forever.
    if (n > 0 && result.output.size() < kMaxOutput) result.output.append(buffer, size_t(n));
  }
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    check(errno == EINTR, ErrorCode::kIo, path, "cannot wait for it: ", std::strerror(errno));
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace wick
