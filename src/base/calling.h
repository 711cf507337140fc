// Attributes errors to the op that the user called.
#pragma once

namespace wick {

/// While an instance lives, errors of this thread name this op, which is built from other ops. Of
/// nested instances, the outermost wins: it is the op that the user called.
class Calling {
 public:
  explicit Calling(const char* op);
  ~Calling();
  Calling(const Calling&) = delete;
  Calling& operator=(const Calling&) = delete;

 private:
  const char* before_;
};

}  // namespace wick
