// Ops by name, as tests/golden/gradients/cases.json calls them. golden_ops.py makes the calls of the
// manifest, docs/reference/ops.json: inputs in their order, options by the parameters' own names,
// those of option structs by their fields'. Here is what a value in JSON is as a parameter's type.
#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "wick/base/settings.h"
#include "wick/wick.h"

namespace wick::test {

using GoldenOp = std::function<Tensor(const std::vector<Tensor>& x, const Settings& options)>;

/// Every op that cases.json may name: those that take tensors and plain values, and give a tensor
/// or a struct that begins with one, of which it is that.
const std::map<std::string, GoldenOp>& golden_ops();

/// An enum's values by their names without the k: "zeros" for kZeros.
template <class E>
struct GoldenNames;

template <class T>
struct GoldenValue {
  static T of(const Setting& s) {
    if constexpr (std::is_enum_v<T>)
      return GoldenNames<T>::all().at(std::get<std::string>(s.value));
    else
      return T(std::get<T>(s.value));
  }
};
template <>
struct GoldenValue<int> {
  static int of(const Setting& s) { return int(std::get<int64_t>(s.value)); }
};
template <>
struct GoldenValue<double> {
  static double of(const Setting& s) {
    if (const auto* text = std::get_if<std::string>(&s.value))  // JSON has no infinity
      return *text == "inf" ? HUGE_VAL : throw std::bad_variant_access();
    const auto* integer = std::get_if<int64_t>(&s.value);
    return integer ? double(*integer) : std::get<double>(s.value);
  }
};
template <>
struct GoldenValue<Number> {
  static Number of(const Setting& s) {
    const auto* integer = std::get_if<int64_t>(&s.value);
    return integer ? Number(*integer) : Number(std::get<double>(s.value));
  }
};
template <class T>
struct GoldenValue<std::optional<T>> {
  static std::optional<T> of(const Setting& s) { return GoldenValue<T>::of(s); }
};
template <class T>
struct GoldenValue<std::vector<T>> {
  static std::vector<T> of(const Setting& s) {
    std::vector<T> all;
    for (const Setting& one : std::get<Setting::List>(s.value))
      all.push_back(GoldenValue<T>::of(one));
    return all;
  }
};
/// The integers of a list, or one.
inline std::vector<int64_t> golden_integers(const Setting& s) {
  if (const auto* one = std::get_if<int64_t>(&s.value)) return {*one};
  return GoldenValue<std::vector<int64_t>>::of(s);
}
template <>
struct GoldenValue<Dims> {
  static Dims of(const Setting& s) { return Dims(std::span<const int64_t>(golden_integers(s))); }
};
template <>
struct GoldenValue<Pair> {
  static Pair of(const Setting& s) {
    const std::vector<int64_t> n = golden_integers(s);
    return n.size() == 1 ? Pair(n[0]) : Pair(n.at(0), n.at(1));
  }
};
template <>
struct GoldenValue<Padding1d> {
  static Padding1d of(const Setting& s) { return golden_integers(s).at(0); }
};
template <>
struct GoldenValue<Padding2d> {
  static Padding2d of(const Setting& s) {
    const Pair both = GoldenValue<Pair>::of(s);
    return {both.height, both.width};
  }
};
template <>
struct GoldenValue<Padding> {
  static Padding of(const Setting& s) {
    const std::vector<int64_t> n = golden_integers(s);
    return {n.at(0), n.at(1)};
  }
};

/// What a case hands to an op.
class GoldenArguments {
 public:
  GoldenArguments(const std::vector<Tensor>& inputs, const Settings& options)
      : inputs_(inputs), options_(options) {}

  /// Whether an overload takes them: so many inputs, all options that it needs, and none but those
  /// that it knows.
  bool fit(size_t least, size_t most, std::initializer_list<const char*> needed,
           std::initializer_list<const char*> known) const {
    if (inputs_.size() < least || inputs_.size() > most) return false;
    for (const char* name : needed)
      if (!options_.has(name)) return false;
    for (const auto& [name, value] : options_.entries())
      if (std::find(needed.begin(), needed.end(), name) == needed.end() &&
          std::find(known.begin(), known.end(), name) == known.end())
        return false;
    return true;
  }
  /// The next input; none if there is no other.
  Tensor tensor() { return next_ < inputs_.size() ? inputs_[next_++] : Tensor(); }
  /// The next inputs, but for the last `rest`.
  template <class T>
  std::vector<T> tensors(size_t rest) {
    std::vector<T> all;
    while (next_ + rest < inputs_.size()) all.push_back(inputs_[next_++]);
    return all;
  }
  template <class T>
  T get(const char* name) const {
    return GoldenValue<T>::of(*options_.find(name));
  }
  template <class T>
  T get_or(const char* name, T otherwise) const {
    return options_.has(name) ? get<T>(name) : otherwise;
  }
  template <class T>
  void set(const char* name, T& field) const {
    if (options_.has(name)) field = get<T>(name);
  }
  void set(const char*, Tensor& field) { field = tensor(); }

 private:
  const std::vector<Tensor>& inputs_;
  const Settings& options_;
  size_t next_ = 0;
};

}  // namespace wick::test
