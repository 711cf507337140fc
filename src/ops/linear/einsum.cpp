// einsum: translates the equation to labels, then contracts the operands pair by pair.
#include <algorithm>
#include <map>
#include <string>

#include "base/calling.h"
#include "ops/elementwise/dtypes.h"
#include "wick/ops/arrange.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/contract.h"
#include "wick/ops/matmul.h"
#include "wick/ops/reduce.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

// A label is a letter's code. kEllipsisDims is the last dim of the ellipsis; the labels above it
// are the dims before that.
using Labels = std::vector<int>;
constexpr int kEllipsisDims = 256;

bool contains(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

std::string name_of(int label) {
  return label < kEllipsisDims ? std::string("'") + char(label) + "'" : "the ellipsis";
}

/// The text of one operand, or of the output.
struct Term {
  std::string letters;
  int ellipsis = -1;  // number of letters before it; -1: no ellipsis
};

struct Equation {
  explicit Equation(std::string_view text) : whole(text) {
    std::string dense;
    for (const char c : text)
      if (c != ' ') dense += c;
    const size_t arrow = dense.find("->");
    explicit_output = arrow != std::string::npos;
    std::string_view left = dense;
    if (explicit_output) {
      output = term_of(std::string_view(dense).substr(arrow + 2));
      left = left.substr(0, arrow);
    }
    for (size_t comma; (comma = left.find(',')) != std::string_view::npos;) {
      inputs.push_back(term_of(left.substr(0, comma)));
      left = left.substr(comma + 1);
    }
    inputs.push_back(term_of(left));
  }

  std::string whole;
  std::vector<Term> inputs;
  Term output;
  bool explicit_output = false;

 private:
  Term term_of(std::string_view text) const {
    Term term;
    for (size_t i = 0; i < text.size(); i++) {
      const char c = text[i];
      if (text.substr(i, 3) == "..." && term.ellipsis < 0) {
        term.ellipsis = int(term.letters.size());
        i += 2;
        continue;
      }
      check(('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z'), ErrorCode::kInvalidArgument, "einsum",
            "unexpected \"", std::string(1, c), "\" in \"", whole, "\"");
      term.letters += c;
    }
    return term;
  }
};

/// The labels of a term whose ellipsis stands for `dims` dims.
Labels labels_of(const Term& term, int dims) {
  Labels labels(term.letters.begin(), term.letters.end());
  for (int i = 0; i < dims && term.ellipsis >= 0; i++)
    labels.insert(labels.begin() + term.ellipsis, kEllipsisDims + i);
  return labels;
}

struct Operand {
  Tensor x;
  Labels labels;  // one per dim of x
  double numel(const std::map<int, int64_t>& sizes) const {
    double n = 1;
    for (const int label : labels) n *= double(sizes.at(label));
    return n;
  }
};

/// x with its dims in the order of these labels; labels it lacks become dims of size 1.
Tensor arranged(const Operand& operand, const Labels& labels) {
  Dims order;
  for (const int label : labels) {
    const auto at = std::find(operand.labels.begin(), operand.labels.end(), label);
    if (at != operand.labels.end()) order.push_back(at - operand.labels.begin());
  }
  Tensor x = permute(operand.x, order);
  for (size_t i = 0; i < labels.size(); i++)
    if (!contains(operand.labels, labels[i])) x = unsqueeze(x, int64_t(i));
  return x;
}

class Contraction {
 public:
  Contraction(const Equation& equation, const std::vector<Tensor>& tensors) : equation_(equation) {
    check(equation.inputs.size() == tensors.size(), ErrorCode::kInvalidArgument, "einsum",
          "expected ", equation.inputs.size(), " operands for \"", equation.whole, "\", got ",
          tensors.size());
    for (size_t i = 0; i < tensors.size(); i++) {
      check_defined("einsum", tensors[i]);
      // bool sums and multiplies as integers.
      const bool counts = tensors[i].dtype() == DType::kBool;
      add(equation.inputs[i], counts ? cast(tensors[i], DType::kI64) : tensors[i], i);
    }
    find_output();
    for (Operand& operand : operands_) drop_repeated(operand);
  }

  Tensor run() {
    for (Operand& operand : operands_) sum_out(operand);
    while (operands_.size() > 1) {
      const auto [i, j] = cheapest_pair();
      const Operand a = operands_[i], b = operands_[j];
      operands_.erase(operands_.begin() + std::ptrdiff_t(j));
      operands_.erase(operands_.begin() + std::ptrdiff_t(i));
      operands_.push_back(contract(a, b));
    }
    return arranged(operands_[0], output_);
  }

 private:
  void add(const Term& term, const Tensor& x, size_t which) {
    const int letters = int(term.letters.size()), rest = x.rank() - letters;
    check(term.ellipsis >= 0 ? rest >= 0 : rest == 0, ErrorCode::kShapeMismatch, "einsum",
          "operand ", which, " of \"", equation_.whole, "\" has ", letters, " letters for shape ",
          x.shape());
    ellipsis_ = std::max(ellipsis_, rest);
    Operand operand{x, labels_of(term, rest)};
    for (int d = 0; d < x.rank(); d++) {
      const int label = operand.labels[size_t(d)];
      const auto [at, is_new] = sizes_.try_emplace(label, x.shape()[d]);
      if (at->second == 1) at->second = x.shape()[d];
      check(x.shape()[d] == 1 || x.shape()[d] == at->second, ErrorCode::kShapeMismatch, "einsum",
            name_of(label), " of \"", equation_.whole, "\" has size ", at->second, ", but size ",
            x.shape()[d], " in operand ", which, " ", x.shape());
      counts_[label]++;
    }
    operands_.push_back(std::move(operand));
  }

  void find_output() {
    if (equation_.explicit_output) {
      output_ = labels_of(equation_.output, ellipsis_);
      for (const int label : output_) {
        check(std::count(output_.begin(), output_.end(), label) == 1, ErrorCode::kInvalidArgument,
              "einsum", name_of(label), " is repeated in the output of \"", equation_.whole, "\"");
        check(sizes_.count(label) != 0, ErrorCode::kInvalidArgument, "einsum", name_of(label),
              " of the output does not occur in the operands of \"", equation_.whole, "\"");
      }
      return;
    }
    for (int i = ellipsis_; i-- > 0;) output_.push_back(kEllipsisDims + i);
    for (const auto& [label, count] : counts_)  // in ascending order
      if (label < kEllipsisDims && count == 1) output_.push_back(label);
  }

  /// Replaces labels that occur twice by diagonals, then drops dims of size 1 that broadcast.
  void drop_repeated(Operand& operand) {
    for (size_t i = 0; i < operand.labels.size(); i++) {
      const int label = operand.labels[i];
      const auto again =
          std::find(operand.labels.begin() + std::ptrdiff_t(i) + 1, operand.labels.end(), label);
      if (again == operand.labels.end()) continue;
      const int64_t j = again - operand.labels.begin();
      check(operand.x.size(int64_t(i)) == operand.x.size(j), ErrorCode::kShapeMismatch, "einsum",
            name_of(label), " of \"", equation_.whole,
            "\" is a diagonal of dims with different sizes ", operand.x.size(int64_t(i)), " and ",
            operand.x.size(j));
      operand.x = diagonal(operand.x, 0, int64_t(i), j);
      operand.labels.erase(again);
      operand.labels.erase(operand.labels.begin() + std::ptrdiff_t(i));
      operand.labels.push_back(label);
      i--;
    }
    for (size_t i = operand.labels.size(); i-- > 0;) {
      if (operand.x.size(int64_t(i)) != 1 || sizes_.at(operand.labels[i]) == 1) continue;
      operand.x = squeeze(operand.x, int64_t(i));
      operand.labels.erase(operand.labels.begin() + std::ptrdiff_t(i));
    }
  }

  /// Whether the output or an operand other than these needs a label.
  bool needed(int label, const Operand* a, const Operand* b = nullptr) const {
    if (contains(output_, label)) return true;
    return std::any_of(operands_.begin(), operands_.end(), [&](const Operand& other) {
      return &other != a && &other != b && contains(other.labels, label);
    });
  }

  void sum_out(Operand& operand) const {
    Dims dims;
    Labels kept;
    for (size_t i = 0; i < operand.labels.size(); i++) {
      if (needed(operand.labels[i], &operand))
        kept.push_back(operand.labels[i]);
      else
        dims.push_back(int64_t(i));
    }
    if (dims.empty()) return;
    operand.x = cast(sum(operand.x, {.dims = dims}), operand.x.dtype());
    operand.labels = kept;
  }

  /// The pair whose contraction yields the smallest result, less the elements it frees.
  std::pair<size_t, size_t> cheapest_pair() const {
    std::pair<size_t, size_t> best{0, 1};
    double least = 0;
    for (size_t i = 0; i < operands_.size(); i++) {
      for (size_t j = i + 1; j < operands_.size(); j++) {
        const Operand &a = operands_[i], &b = operands_[j];
        double result = 1;
        for (const auto& [label, size] : sizes_)
          if ((contains(a.labels, label) || contains(b.labels, label)) && needed(label, &a, &b))
            result *= double(size);
        const double cost = result - a.numel(sizes_) - b.numel(sizes_);
        if ((i == 0 && j == 1) || cost < least) {
          best = {i, j};
          least = cost;
        }
      }
    }
    return best;
  }

  /// Contracts a and b, which the caller has removed from the operands.
  Operand contract(const Operand& a, const Operand& b) const {
    Labels batch, left, right, summed;
    for (const int label : a.labels) {
      if (!contains(b.labels, label))
        left.push_back(label);
      else
        (needed(label, &a, &b) ? batch : summed).push_back(label);
    }
    for (const int label : b.labels)
      if (!contains(a.labels, label)) right.push_back(label);
    Labels labels = batch;
    labels.insert(labels.end(), left.begin(), left.end());
    labels.insert(labels.end(), right.begin(), right.end());
    if (summed.empty()) return {mul(arranged(a, labels), arranged(b, labels)), labels};
    const auto size_of = [&](const Labels& of) {
      int64_t n = 1;
      for (const int label : of) n *= sizes_.at(label);
      return n;
    };
    const auto joined = [&](const Operand& operand, const Labels& rows, const Labels& columns) {
      Labels order = batch;
      order.insert(order.end(), rows.begin(), rows.end());
      order.insert(order.end(), columns.begin(), columns.end());
      return reshape(arranged(operand, order), {size_of(batch), size_of(rows), size_of(columns)});
    };
    Shape shape;
    for (const int label : labels) shape.push_back(sizes_.at(label));
    return {reshape(matmul(joined(a, left, summed), joined(b, summed, right)), shape), labels};
  }

  const Equation& equation_;
  std::vector<Operand> operands_;
  std::map<int, int64_t> sizes_;
  std::map<int, int> counts_;
  Labels output_;
  int ellipsis_ = 0;  // number of dims it stands for
};

}  // namespace

Tensor einsum(std::string_view text, const std::vector<Tensor>& operands) {
  const Calling calling("einsum");
  check(!operands.empty(), ErrorCode::kInvalidArgument, "einsum", "expected at least one operand");
  const Equation equation(text);
  return Contraction(equation, operands).run();
}

}  // namespace wick
