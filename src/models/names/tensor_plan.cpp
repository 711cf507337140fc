#include "models/names/tensor_plan.h"

#include <memory>
#include <set>

namespace wick {

TensorPlan::TensorPlan(const TensorSource& file) : file_(file) {
  for (const auto& [name, info] : file.tensors) {
    steps_of_[name] = int(steps_.size());
    steps_.push_back({.read = name, .inputs = {}, .info = info, .make = {}});
  }
}

std::vector<std::string> TensorPlan::names() const {
  std::vector<std::string> names;
  for (const auto& [name, step] : steps_of_) names.push_back(name);
  return names;
}

int TensorPlan::step_of(const std::string& name) const {
  const auto found = steps_of_.find(name);
  check(found != steps_of_.end(), ErrorCode::kFormat, where(), "no tensor is named \"", name, "\"");
  return found->second;
}

const TensorInfo& TensorPlan::info(const std::string& name) const {
  return steps_[size_t(step_of(name))].info;
}

void TensorPlan::rename(const std::function<std::string(const std::string&)>& name_of) {
  std::map<std::string, int> renamed;
  std::map<std::string, std::string> before;
  for (const auto& [name, step] : steps_of_) {
    const std::string other = name_of(name);
    if (other.empty()) continue;
    check(renamed.emplace(other, step).second, ErrorCode::kFormat, where(), "tensors \"",
          before[other], "\" and \"", name, "\" have one meaning");
    before[other] = name;
  }
  steps_of_ = std::move(renamed);
}

void TensorPlan::change(const std::string& name, const TensorInfo& info, Make make) {
  int& step = steps_of_.at(name);
  steps_.push_back({.read = "", .inputs = {step}, .info = info, .make = std::move(make)});
  step = int(steps_.size()) - 1;
}

void TensorPlan::add(const std::string& name, const std::vector<std::string>& parts,
                     const TensorInfo& info, Make make) {
  std::vector<int> inputs;
  for (const std::string& part : parts) inputs.push_back(step_of(part));
  check(!has(name), ErrorCode::kFormat, where(), "tensors \"", name, "\" and \"",
        parts.empty() ? name : parts[0], "\" have one meaning");
  steps_of_[name] = int(steps_.size());
  steps_.push_back(
      {.read = "", .inputs = std::move(inputs), .info = info, .make = std::move(make)});
}

/// Runs the steps.
class TensorPlan::Run {
 public:
  explicit Run(const TensorPlan& plan) : plan_(plan) {
    for (const auto& [name, step] : plan.steps_of_)
      for (const int needed : steps_for(step)) users_[needed]++;
  }

  Tensor operator()(const std::string& name, const Device& device) {
    const int last = plan_.steps_of_.at(name);
    std::map<int, Tensor> made;
    for (const int at : steps_for(last)) {
      const Step& step = plan_.steps_[size_t(at)];
      std::vector<Tensor> inputs;
      for (const int input : step.inputs) inputs.push_back(made.at(input));
      made[at] = step.make ? step.make(inputs) : read(at, name, device);
    }
    return made.at(last).to(device);
  }

 private:
  struct Kept {
    Tensor tensor;
    std::set<std::string> served;  // the names of tensors that have been made of it
  };

  std::set<int> steps_for(int last) const {
    std::set<int> steps = {last};
    for (auto at = steps.rbegin(); at != steps.rend(); ++at)  // inputs are earlier steps
      for (const int input : plan_.steps_[size_t(*at)].inputs) steps.insert(input);
    return steps;
  }

  Tensor read(int at, const std::string& name, const Device& device) {
    const std::string& read = plan_.steps_[size_t(at)].read;
    if (users_[at] == 1) return plan_.file_.load(read, device);
    Kept& kept = kept_[at];
    if (!kept.tensor || kept.tensor.device() != device) kept = {plan_.file_.load(read, device), {}};
    kept.served.insert(name);
    const Tensor tensor = kept.tensor;
    if (int(kept.served.size()) == users_[at]) kept_.erase(at);
    return tensor;
  }

  const TensorPlan plan_;
  std::map<int, int> users_;  // the number of named tensors that need a step
  std::map<int, Kept> kept_;
};

TensorSource TensorPlan::source() const {
  TensorSource result{where(), {}, {}};
  for (const auto& [name, step] : steps_of_) result.tensors[name] = steps_[size_t(step)].info;
  result.load = [run = std::make_shared<Run>(*this)](
                    const std::string& name, const Device& device) { return (*run)(name, device); };
  return result;
}

}  // namespace wick
