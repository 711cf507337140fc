// Whose errors they are.
#pragma once

namespace wick {

/// While one lives, errors of this thread are those of the op that it names, which is made of other
/// ops; where several live, those of the first, which the user called.
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
