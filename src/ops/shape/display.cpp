#include "wick/ops/display.h"

#include <charconv>
#include <cmath>
#include <mutex>
#include <ostream>
#include <vector>

#include "base/calling.h"
#include "core/launch.h"
#include "wick/ops/arrange.h"
#include "wick/ops/autograd.h"
#include "wick/ops/cast.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

std::mutex options_mutex;
PrintOptions shared_options;

/// The digits of a finite number, independent of the locale; "nan", "inf" or "-inf" for others.
template <class Real, class... Format>
std::string digits(Real x, Format... format) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x < 0 ? "-inf" : "inf";
  std::string text(32, '\0');
  for (;; text.resize(2 * text.size())) {
    const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), x, format...);
    if (error == std::errc()) return text.substr(0, size_t(end - text.data()));
  }
}

std::string device_text(const Tensor& x) {
  return x.device().is_cpu() ? "" : ", " + to_string(x.device());
}

/// Elements on the host, in the widest type of their kind.
struct Elements {
  explicit Elements(const Tensor& x) : dtype(x.dtype()) {
    const Tensor host = x.to(Device::cpu());
    if (is_floating(dtype))
      reals = cast(host, DType::kF64).to_vector<double>();
    else if (dtype == DType::kU64)
      naturals = host.to_vector<uint64>();
    else
      integers = cast(host, DType::kI64).to_vector<int64>();
  }
  size_t size() const { return reals.size() + integers.size() + naturals.size(); }
  std::string text_of_integer(size_t i) const {
    if (dtype == DType::kBool) return integers[i] ? "True" : "False";
    return dtype == DType::kU64 ? std::to_string(naturals[i]) : std::to_string(integers[i]);
  }
  /// The fewest digits that distinguish the number from its neighbours in its dtype (in f32, if
  /// that is narrower).
  std::string shortest_text(size_t i) const {
    if (!is_floating(dtype)) return text_of_integer(i);
    return dtype == DType::kF64 ? digits(reals[i]) : digits(float(reals[i]));
  }

  DType dtype;
  std::vector<double> reals;
  std::vector<int64> integers;
  std::vector<uint64> naturals;
};

/// Formats the elements of one tensor, all in the same notation and width.
class Formatter {
 public:
  Formatter(const Elements& elements, const PrintOptions& options)
      : elements_(elements), precision_(options.precision) {
    if (!is_floating(elements.dtype)) {
      for (size_t i = 0; i < elements.size(); i++)
        width_ = std::max(width_, elements.text_of_integer(i).size());
      return;
    }
    std::vector<double> numbers;  // those that are neither 0, nan nor infinite
    double smallest = HUGE_VAL, largest = 0;
    for (const double x : elements.reals) {
      if (x == 0 || !std::isfinite(x)) continue;
      numbers.push_back(x);
      smallest = std::min(smallest, std::abs(x));
      largest = std::max(largest, std::abs(x));
      whole_ = whole_ && x == std::ceil(x);
    }
    if (numbers.empty()) return;
    scientific_ =
        options.sci_mode.value_or(largest / smallest > 1000 || largest > 1e8 || smallest < 1e-4);
    for (const double x : numbers) width_ = std::max(width_, real(x).size());
  }

  size_t width() const { return width_; }
  std::string operator()(size_t i) const {
    std::string text =
        is_floating(elements_.dtype) ? real(elements_.reals[i]) : elements_.text_of_integer(i);
    if (text.size() < width_) text.insert(0, width_ - text.size(), ' ');
    return text;
  }

 private:
  std::string real(double x) const {
    if (scientific_) return digits(x, std::chars_format::scientific, precision_);
    if (!whole_) return digits(x, std::chars_format::fixed, precision_);
    return digits(x, std::chars_format::fixed, 0) + (std::isfinite(x) ? "." : "");
  }

  const Elements& elements_;
  int precision_;
  bool whole_ = true, scientific_ = false;
  size_t width_ = 1;
};

/// x without the elements that are not printed, starting with dim `dim`.
Tensor edges(const Tensor& x, int dim, int64_t items) {
  if (dim == x.rank()) return x;
  const int64_t size = x.size(dim);
  if (size / 2 < items || size == 2 * items) return edges(x, dim + 1, items);
  return cat({edges(narrow(x, dim, 0, items), dim + 1, items),
              edges(narrow(x, dim, size - items, items), dim + 1, items)},
             dim);
}

class Printer {
 public:
  Printer(const Shape& shape, bool summarize, const Elements& elements, const PrintOptions& options)
      : shape_(shape), summarize_(summarize), options_(options), format_(elements, options) {}

  /// Writes the elements of dims `dim` and up, starting with next_; `indent` is the number of
  /// enclosing brackets.
  void write(std::string& out, int dim, int indent) {
    if (dim == shape_.size()) {
      out += format_(next_++);
      return;
    }
    const int64_t size = shape_[dim];
    const bool cut =
        summarize_ && size / 2 >= options_.edge_items && size != 2 * options_.edge_items;
    const int64_t shown = cut ? 2 * options_.edge_items : size;
    const bool vector = dim == shape_.size() - 1;
    const auto per_line =
        std::max<int64_t>(1, (options_.line_width - indent) / int64_t(format_.width() + 2));
    const std::string new_line = "," +
                                 std::string(size_t(vector ? 1 : shape_.size() - dim - 1), '\n') +
                                 std::string(size_t(indent + 1), ' ');
    int64_t place = 0;  // position in the line, or among the slices
    const auto separate = [&] {
      if (place > 0) out += vector && place % per_line != 0 ? ", " : new_line;
      place++;
    };
    out += '[';
    for (int64_t i = 0; i <= shown; i++) {
      if (cut && i == options_.edge_items) {
        separate();
        out += vector && shown > 0 ? " ..." : "...";
      }
      if (i == shown) break;
      separate();
      write(out, dim + 1, indent + 1);
    }
    out += ']';
  }

 private:
  const Shape& shape_;
  bool summarize_;
  const PrintOptions& options_;
  Formatter format_;
  size_t next_ = 0;
};

void check_numbers(const char* op, const PrintOptions& options) {
  check(options.precision >= 0 && options.threshold >= 0 && options.edge_items >= 0 &&
            options.line_width >= 0,
        ErrorCode::kInvalidArgument, op,
        "expected precision, threshold, edge_items and line_width of at least 0, got ",
        options.precision, ", ", options.threshold, ", ", options.edge_items, " and ",
        options.line_width);
}

}  // namespace

void set_printoptions(const PrintOptions& options) {
  check_numbers("set_printoptions", options);
  const std::lock_guard lock(options_mutex);
  shared_options = options;
}

PrintOptions print_options() {
  const std::lock_guard lock(options_mutex);
  return shared_options;
}

std::string to_string(const Tensor& x, const PrintOptions& options) {
  const Calling calling("to_string");
  check_numbers("to_string", options);
  if (!x) return "Tensor()";
  const std::string last =
      "Tensor[" + to_string(x.shape()) + ", " + dtype_name(x.dtype()) + device_text(x) + "]";
  if (is_block(x.dtype())) return last;  // no kernel converts blocks to numbers
  const NoGrad off;
  std::string text;
  if (x.numel() == 0) {
    text = "[]";
  } else {
    const bool summarize = x.numel() > options.threshold;
    const Elements elements(summarize ? edges(x.detach(), 0, options.edge_items) : x.detach());
    Printer(x.shape(), summarize, elements, options).write(text, 0, 0);
  }
  return text + "\n" + last;
}

std::string to_string(const Tensor& x) {
  const Calling calling("to_string");
  return to_string(x, print_options());
}

std::ostream& operator<<(std::ostream& out, const Tensor& x) { return out << to_string(x); }

std::string debug_string(const Tensor& x) {
  if (!x) return "Tensor()";
  std::string text;
  if (x.rank() == 0 || (x.rank() == 1 && x.numel() < 10 && !is_block(x.dtype()))) {
    const Elements elements(x.detach());
    for (size_t i = 0; i < elements.size(); i++)
      text += (i ? ", " : "") + elements.shortest_text(i);
  } else {
    const std::string dims = to_string(x.shape());
    text = "dims " + dims.substr(1, dims.size() - 2);
  }
  return "Tensor[" + text + "; " + dtype_name(x.dtype()) + device_text(x) + "]";
}

}  // namespace wick
