// What the unit tests compare with beside GoogleTest's own.
#pragma once
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "wick/base/error.h"

/// The statement throws a wick::Error of this code whose text holds `part`.
#define EXPECT_ERROR(statement, error_code, part)                               \
  try {                                                                         \
    (void)(statement);                                                          \
    ADD_FAILURE() << #statement " throws nothing";                              \
  } catch (const wick::Error& e) {                                              \
    EXPECT_EQ(e.code(), wick::ErrorCode::error_code)                            \
        << wick::error_code_name(e.code()) << ": " << e.what();                 \
    EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what(); \
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what(); \
  }

namespace wick::test {

/// What f() returns in a process of its own, or "CODE: TEXT" of the Error that it throws: for what
/// a process reads once.
template <class F>
std::string in_child(const F& f) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    std::string text;
    try {
      text = f();
    } catch (const Error& e) {
      text = std::string(error_code_name(e.code())) + ": " + e.what();
    }
    const bool written = write(ends[1], text.data(), text.size()) == ssize_t(text.size());
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, size_t(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    text += " (and the child ended with status " + std::to_string(status) + ")";
  return text;
}

}  // namespace wick::test
