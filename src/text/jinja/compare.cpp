#include "text/jinja/compare.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "text/jinja/number.h"
#include "text/jinja/text.h"

namespace wick::jinja {
namespace {

constexpr const char* kSymbols[] = {"==", "!=", "<", "<=", ">", ">="};

int sign_of(std::strong_ordering order) { return order < 0 ? -1 : order > 0 ? 1 : 0; }

/// Compares exactly: an int64_t may lie between two doubles.
int order_mixed(int64_t lhs, double rhs) {
  if (rhs >= 0x1p63) return -1;
  if (rhs < -0x1p63) return 1;
  const double floor = std::floor(rhs);
  if (const int order = sign_of(lhs <=> int64_t(floor))) return order;
  return floor < rhs ? -1 : 0;
}

bool is_nan(const Value& value) { return value.real() && std::isnan(*value.real()); }

/// How lhs and rhs are ordered, by the sign; nullopt if one is nan or the types have no order.
std::optional<int> order(Meter& meter, const Value& lhs, const Value& rhs) {
  meter.step();
  if (lhs.is_number() && rhs.is_number()) {
    if (is_nan(lhs) || is_nan(rhs)) return std::nullopt;
    return order_numbers(lhs, rhs);
  }
  if (lhs.text() && rhs.text()) {
    const std::string &left = lhs.text()->bytes, &right = rhs.text()->bytes;
    meter.step_bytes(std::min(left.size(), right.size()));
    return left.compare(right);
  }
  return std::nullopt;
}

bool holds(CompareOp op, int order) {
  switch (op) {
    case CompareOp::kLess:
      return order < 0;
    case CompareOp::kLessEqual:
      return order <= 0;
    case CompareOp::kGreater:
      return order > 0;
    case CompareOp::kGreaterEqual:
      return order >= 0;
    case CompareOp::kEqual:
      return order == 0;
    case CompareOp::kNotEqual:
      return order != 0;
  }
  return false;
}

bool equal_items(Meter& meter, const Items& lhs, const Items& rhs) {
  return lhs.size() == rhs.size() && std::equal(lhs.begin(), lhs.end(), rhs.begin(),
                                                [&](const Value& left, const Value& right) {
                                                  return same(left, right) ||
                                                         equal(meter, left, right);
                                                });
}

bool equal_dicts(Meter& meter, const Dict& lhs, const Dict& rhs) {
  if (lhs.entries.size() != rhs.entries.size()) return false;
  return std::all_of(lhs.entries.begin(), lhs.entries.end(), [&](const auto& entry) {
    const Value* other = rhs.find(meter, entry.first);
    return other && (same(*other, entry.second) || equal(meter, entry.second, *other));
  });
}

/// lhs OP rhs of lists or tuples: decided by the first items that differ.
bool compare_items(Meter& meter, CompareOp op, const Items& lhs, const Items& rhs) {
  const size_t n = std::min(lhs.size(), rhs.size());
  for (size_t i = 0; i < n; i++)
    if (!same(lhs[i], rhs[i]) && !equal(meter, lhs[i], rhs[i]))
      return compare(meter, op, lhs[i], rhs[i]);
  return holds(op, sign_of(lhs.size() <=> rhs.size()));
}

}  // namespace

bool same(const Value& lhs, const Value& rhs) {
  if (lhs.identity() || rhs.identity()) return lhs.identity() == rhs.identity();
  if (lhs.is_none() || rhs.is_none()) return lhs.is_none() && rhs.is_none();
  if (lhs.boolean() || rhs.boolean())
    return lhs.boolean() && rhs.boolean() && *lhs.boolean() == *rhs.boolean();
  return lhs.integer() && rhs.integer() && *lhs.integer() == *rhs.integer();
}

bool equal(Meter& meter, const Value& lhs, const Value& rhs) {
  if (const auto sign = order(meter, lhs, rhs)) return *sign == 0;
  if (lhs.undefined() || rhs.undefined()) return lhs.undefined() && rhs.undefined();
  if (lhs.sequence() && rhs.sequence())
    return lhs.is_tuple() == rhs.is_tuple() &&
           (lhs.identity() == rhs.identity() ||
            equal_items(meter, lhs.sequence()->items, rhs.sequence()->items));
  if (lhs.dict() && rhs.dict())
    return lhs.identity() == rhs.identity() || equal_dicts(meter, *lhs.dict(), *rhs.dict());
  if (lhs.object() && rhs.object()) return lhs.object()->equals(*rhs.object());
  return lhs.is_none() && rhs.is_none();
}

bool compare(Meter& meter, CompareOp op, const Value& lhs, const Value& rhs) {
  if (op == CompareOp::kEqual) return equal(meter, lhs, rhs);
  if (op == CompareOp::kNotEqual) return !equal(meter, lhs, rhs);
  for (const Value* side : {&lhs, &rhs})
    if (side->undefined()) fail_undefined(meter, *side);
  if (const auto sign = order(meter, lhs, rhs)) return holds(op, *sign);
  if (lhs.is_number() && rhs.is_number()) return false;  // nan
  if (lhs.sequence() && rhs.sequence() && lhs.is_tuple() == rhs.is_tuple())
    return compare_items(meter, op, lhs.sequence()->items, rhs.sequence()->items);
  meter.fail("'", kSymbols[int(op)], "' not supported between instances of '", lhs.type_name(),
             "' and '", rhs.type_name(), "'");
}

bool contains(Meter& meter, const Value& container, const Value& item) {
  if (const Text* text = container.text()) {
    if (!item.text())
      meter.fail("'in <string>' requires string as left operand, not ", item.type_name());
    meter.step_bytes(text->bytes.size());
    return find_text(text->bytes, item.text()->bytes) != std::string::npos;
  }
  if (const Dict* dict = container.dict()) {
    check_hashable(meter, item);
    return dict->find(meter, item) != nullptr;
  }
  const auto iterator = try_iterate(meter, container);
  if (!iterator) meter.fail("argument of type '", container.type_name(), "' is not iterable");
  for (Value value; iterator->next(value);)
    if (same(value, item) || equal(meter, value, item)) return true;
  return false;
}

Items sorted(Meter& meter, const Items& values, const Items& keys, bool reverse) {
  std::vector<size_t> places(values.size());
  std::iota(places.begin(), places.end(), size_t(0));
  const auto less = [&](size_t left, size_t right) {
    return compare(meter, CompareOp::kLess, keys[left], keys[right]);
  };
  // A reversed sort is stable too: equal values keep their order.
  if (reverse)
    std::stable_sort(places.begin(), places.end(), [&](size_t l, size_t r) { return less(r, l); });
  else
    std::stable_sort(places.begin(), places.end(), less);
  Items result;
  result.reserve(values.size());
  for (const size_t place : places) result.push_back(values[place]);
  return result;
}

int order_numbers(const Value& lhs, const Value& rhs) {
  if (is_nan(lhs) || is_nan(rhs)) return int(is_nan(rhs)) - int(is_nan(lhs));
  const auto left = lhs.index(), right = rhs.index();
  if (left && right) return sign_of(*left <=> *right);
  if (left) return order_mixed(*left, *rhs.real());
  if (right) return -order_mixed(*right, *lhs.real());
  return *lhs.real() < *rhs.real() ? -1 : *rhs.real() < *lhs.real() ? 1 : 0;
}

}  // namespace wick::jinja
