// How named tensors are made from a file's.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "wick/core/tensor_source.h"

namespace wick {

/// A list of steps, each of which reads a tensor of a file or makes one from the tensors of earlier
/// steps, and the names of the tensors that are asked for. source() runs the steps that a tensor
/// needs, in order.
class TensorPlan {
 public:
  using Make = std::function<Tensor(const std::vector<Tensor>&)>;

  /// The file's tensors under their names.
  explicit TensorPlan(const TensorSource& file);

  const std::string& where() const { return file_.where; }
  bool has(const std::string& name) const { return steps_of_.count(name) > 0; }
  std::vector<std::string> names() const;
  const TensorInfo& info(const std::string& name) const;

  /// Gives tensors other names; drops those whose name becomes empty. Errors: kFormat if two get
  /// one.
  void rename(const std::function<std::string(const std::string&)>& name_of);
  /// Replaces a tensor by one that is made of it.
  void change(const std::string& name, const TensorInfo& info, Make make);
  /// Adds a tensor made of others, which stay. Errors: kFormat if there is one of this name.
  void add(const std::string& name, const std::vector<std::string>& parts, const TensorInfo& info,
           Make make);
  void drop(const std::string& name) { steps_of_.erase(name); }

  /// Hands out the tensors. One of the file that several are made of is kept until each has been
  /// asked for, in whatever order.
  TensorSource source() const;

 private:
  struct Step {
    std::string read;         // in the file; "": made
    std::vector<int> inputs;  // earlier steps
    TensorInfo info;
    Make make;
  };
  class Run;

  int step_of(const std::string& name) const;

  TensorSource file_;
  std::vector<Step> steps_;
  std::map<std::string, int> steps_of_;
};

}  // namespace wick
