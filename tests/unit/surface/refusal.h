// Arguments by chance, most of them near what an op takes, some far from it.
#pragma once
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "wick/wick.h"

namespace wick::test {

class Draw;

/// How a value of a type is drawn: of enums and structs, refusal_calls.py says it.
template <class T>
struct Drawn;

/// The arguments of one call. Its tensors mostly have one dtype and one shape, so that not all calls
/// end at the first check.
class Draw {
 public:
  explicit Draw(uint64_t seed) : random_(seed) {
    dtype_ = chance(2) ? DType::kF32 : any_dtype();
    shape_ = any_shape();
  }

  template <class T>
  T get() {
    return Drawn<T>::of(*this);
  }
  /// Another value for what has one, at times.
  template <class T>
  void maybe(T& value) {
    if (chance(3)) value = get<T>();
  }
  template <class T>
  T one_of(const std::vector<T>& all) {
    return all[size_t(random_() % all.size())];
  }
  bool chance(uint64_t of) { return random_() % of == 0; }

  /// What was drawn, in words.
  const std::string& text() const { return text_; }
  template <class T>
  T note(T value) {
    text_ += text_.empty() ? "" : ", ";
    detail::append(text_, value);
    return value;
  }

  int64_t integer() {
    constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
    if (chance(8)) return one_of<int64_t>({int64_t{1} << 40, int64_t{1} << 62, kMax, -kMax - 1});
    return one_of<int64_t>({-17, -3, -2, -1, 0, 0, 1, 1, 1, 2, 2, 3, 4, 17});
  }
  double real() {
    return one_of<double>({0, 0.5, 0.5, 1, 1, 2, 2, 3, -1, 1e-5, -0.5, 1e300, HUGE_VAL, NAN});
  }
  DType any_dtype() {
    return one_of<DType>({DType::kBool, DType::kU8, DType::kI32, DType::kI64, DType::kI64,
                          DType::kBf16, DType::kF16, DType::kF64, DType::kF8E4M3, DType::kF4});
  }
  Dims any_shape() {
    const int rank = one_of<int>({0, 1, 1, 2, 2, 3, 3, 4, 4, 5});
    Dims shape(rank, 1);
    for (int64_t& size : shape) size = one_of<int64_t>({0, 1, 2, 2, 3, 4, 4, 4});
    return shape;
  }
  Tensor tensor() {
    if (chance(25)) return {};
    if (chance(40)) return note_tensor(Tensor::empty({2, 32}, {.dtype = DType::kQ8_0}));
    const Dims shape = chance(3) ? any_shape() : shape_;
    const DType dtype = chance(4) ? any_dtype() : dtype_;
    std::vector<float> values(size_t(numel(shape)));
    for (float& value : values) value = float(random_() % 3);
    if (!values.empty() && chance(4)) values.back() = one_of<float>({-1, 17, -17, NAN});
    return note_tensor(Tensor::from(values, shape).to(dtype));
  }

 private:
  Tensor note_tensor(Tensor x) {
    note(describe(x));
    return x;
  }

  std::mt19937_64 random_;
  std::string text_;
  DType dtype_;
  Dims shape_;
};

template <class T>
requires std::is_integral_v<T>
struct Drawn<T> {
  static T of(Draw& d) {
    if constexpr (std::is_same_v<T, bool>) return d.note(d.chance(2));
    return T(d.note(d.integer()));
  }
};
template <>
struct Drawn<double> {
  static double of(Draw& d) { return d.note(d.real()); }
};
template <>
struct Drawn<Number> {
  static Number of(Draw& d) {
    return d.chance(2) ? Number(d.get<int64_t>()) : Number(d.get<double>());
  }
};
template <>
struct Drawn<Dims> {
  static Dims of(Draw& d) {
    Dims all(d.one_of<int>({0, 1, 1, 2, 2, 3, 4}), 0);
    for (int64_t& one : all) one = d.integer();
    return d.note(all);
  }
};
template <class T>
struct Drawn<std::optional<T>> {
  static std::optional<T> of(Draw& d) {
    return d.chance(3) ? std::nullopt : std::optional<T>(d.get<T>());
  }
};
template <class T>
struct Drawn<std::vector<T>> {
  static std::vector<T> of(Draw& d) {
    std::vector<T> all;
    for (int i = d.one_of<int>({0, 1, 2, 2, 3}); i > 0; i--) all.push_back(d.get<T>());
    return all;
  }
};
template <class T, size_t n>
struct Drawn<std::array<T, n>> {
  static std::array<T, n> of(Draw& d) {
    std::array<T, n> all;
    for (T& one : all) one = d.get<T>();
    return all;
  }
};
template <>
struct Drawn<Tensor> {
  static Tensor of(Draw& d) { return d.tensor(); }
};
template <>
struct Drawn<Var> {
  static Var of(Draw& d) {
    const Tensor x = d.tensor();
    return x ? Var(x, false) : Var();
  }
};
template <>
struct Drawn<DType> {
  static DType of(Draw& d) { return d.chance(2) ? DType::kF32 : d.any_dtype(); }
};
template <>
struct Drawn<Device> {
  static Device of(Draw&) { return Device::cpu(); }
};
template <>
struct Drawn<CountOptions> {
  static CountOptions of(Draw& d) { return {.dtype = d.get<DType>()}; }
};
template <>
struct Drawn<TensorOptions> {
  static TensorOptions of(Draw& d) { return {.dtype = d.get<DType>()}; }
};
template <>
struct Drawn<Pair> {
  static Pair of(Draw& d) { return Pair(d.get<int64_t>(), d.get<int64_t>()); }
};
template <>
struct Drawn<Padding1d> {
  static Padding1d of(Draw& d) { return d.get<int64_t>(); }
};
template <>
struct Drawn<Padding2d> {
  static Padding2d of(Draw& d) { return {d.get<int64_t>(), d.get<int64_t>()}; }
};
template <>
struct Drawn<Index> {
  static Index of(Draw& d) {
    if (d.chance(3)) return d.get<int64_t>();
    if (d.chance(3)) return d.tensor();
    if (d.chance(3)) return d.chance(2) ? Index(Ellipsis{}) : Index(NewAxis{});
    return Slice{d.get<std::optional<int64_t>>(), d.get<std::optional<int64_t>>(),
                 d.get<std::optional<int64_t>>()};
  }
};
template <>
struct Drawn<std::string_view> {
  static std::string_view of(Draw& d) {  // einsum's
    return d.note(d.one_of<std::string_view>({"ij,jk->ik", "ij->ji", "ii->i", "i,i", "...i->i",
                                              "ij->ijk", "i,,j", "", "->", "i j", "1"}));
  }
};

/// A public function's overload, called with drawn arguments.
struct RefusalCall {
  std::string op;
  void (*call)(Draw&);
};
/// All of those that take what can be drawn.
const std::vector<RefusalCall>& refusal_calls();

}  // namespace wick::test
