// Filters of lists and dicts.
#include <algorithm>
#include <set>

#include "text/jinja/compare.h"
#include "text/jinja/filters.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/number.h"
#include "text/jinja/range.h"
#include "text/jinja/text.h"

namespace wick::jinja {
namespace {

/// The items of a value; starts to iterate when the first one is read, as generators do.
class LazyItems {
 public:
  explicit LazyItems(const Value& source) : source_(source) {}
  bool next(Meter& meter, Value& item) {
    if (!iterator_) iterator_ = iterate(meter, source_);
    return iterator_->next(item);
  }

 private:
  Value source_;
  std::shared_ptr<Iterator> iterator_;
};

/// reversed(value); nullptr where Python raises TypeError.
std::shared_ptr<Iterator> reversed(Interpreter& in, const Value& value) {
  Meter& meter = in.meter;
  if (value.object()) return value.object()->reversed(meter);
  if (value.dict())
    return std::make_shared<DictView>(meter, value, DictView::Part::kKeys)->reversed(meter);
  if (!value.text() && !value.sequence() && !value.undefined()) return nullptr;
  const int64_t length = *length_of(value);
  return make_iterator(meter, "reversed", value, [value, &meter, i = length](Value& out) mutable {
    if (i == 0) return false;
    out = *item_at(meter, value, --i);
    return true;
  });
}

Value list(Interpreter& in, const Value& input, const Items&) {
  return make_list(in.meter, collect(in.meter, input));
}

Value reverse(Interpreter& in, const Value& input, const Items&) {
  if (input.text()) return slice(in.meter, input, {}, {}, -1);
  if (auto iterator = reversed(in, input)) return iterator;
  Items items = collect(in.meter, input);
  std::reverse(items.begin(), items.end());
  return make_list(in.meter, std::move(items));
}

Value first(Interpreter& in, const Value& input, const Items&) {
  Value item;
  const auto iterator = iterate(in.meter, input);
  return iterator->next(item) ? item : make_undefined("no first item, sequence was empty");
}

Value last(Interpreter& in, const Value& input, const Items&) {
  const auto iterator = reversed(in, input);
  if (!iterator) in.meter.fail("'", input.type_name(), "' object is not reversible");
  Value item;
  return iterator->next(item) ? item : make_undefined("no last item, sequence was empty");
}

Value items(Interpreter& in, const Value& input, const Items&) {
  Meter& meter = in.meter;
  if (!input.dict() && !input.undefined())
    return make_iterator(meter, "generator", {}, [&meter](Value&) -> bool {
      meter.fail("can only get item pairs from a mapping");
    });
  if (input.undefined()) return iterate(meter, input);
  return std::make_shared<DictView>(meter, input, DictView::Part::kItems)->iterate(meter);
}

Value dictsort(Interpreter& in, const Value& input, const Items& arguments) {
  Meter& meter = in.meter;
  const Value by = given_or(arguments[1], constant_text("key"));
  const bool by_key = by.text() && by.text()->bytes == "key";
  if (!by_key && !(by.text() && by.text()->bytes == "value"))
    meter.fail("dictsort: sorts by \"key\" or \"value\"");
  if (input.undefined()) fail_undefined(meter, input);
  if (!input.dict()) meter.fail("'", input.type_name(), "' object has no attribute 'items'");
  Items pairs, keys;
  for (const auto& [key, value] : input.dict()->entries) {
    pairs.push_back(make_tuple(meter, {key, value}));
    keys.push_back(without_case(meter, by_key ? key : value, arguments[0]));
  }
  return make_list(meter,
                   sorted(meter, pairs, keys, index_or(meter, arguments[2], "reverse", 0) != 0));
}

Value sort(Interpreter& in, const Value& input, const Items& arguments) {
  Meter& meter = in.meter;
  // "name,age" sorts by several attributes.
  std::vector<AttributeReader> readers;
  if (arguments[2].text()) {
    std::string_view rest = arguments[2].text()->bytes;
    for (bool more = true; more;) {
      const size_t comma = rest.find(',');
      more = comma != rest.npos;
      readers.emplace_back(in, make_unmarked(meter, std::string(rest.substr(0, comma))));
      if (more) rest.remove_prefix(comma + 1);
    }
  } else
    readers.emplace_back(in, arguments[2]);
  const Items values = collect(meter, input);
  Items keys;
  for (const Value& value : values) {
    Items parts;
    for (const AttributeReader& read : readers)
      parts.push_back(without_case(meter, read(value), arguments[1]));
    keys.push_back(make_list(meter, std::move(parts)));
  }
  return make_list(meter,
                   sorted(meter, values, keys, index_or(meter, arguments[0], "reverse", 0) != 0));
}

Value unique(Interpreter& in, const Value& input, const Items& arguments) {
  Meter& meter = in.meter;
  const AttributeReader read(in, arguments[1]);
  const auto less = [&meter](const Value& lhs, const Value& rhs) {
    return compare_keys(meter, lhs, rhs) < 0;
  };
  const auto seen = std::make_shared<std::set<Value, decltype(less)>>(less);
  const Value case_sensitive = arguments[0];
  return make_iterator(
      meter, "generator", input,
      [&meter, read, seen, items = LazyItems(input), case_sensitive](Value& out) mutable {
        while (items.next(meter, out)) {
          const Value key = without_case(meter, read(out), case_sensitive);
          check_hashable(meter, key);
          meter.check_room(int64_t(seen->size()), 80);
          if (seen->insert(key).second) return true;
        }
        return false;
      });
}

template <CompareOp better>
Value extreme(Interpreter& in, const Value& input, const Items& arguments) {
  Meter& meter = in.meter;
  const AttributeReader read(in, arguments[1]);
  const auto iterator = iterate(meter, input);
  Value best, best_key;
  for (Value item; iterator->next(item);) {
    Value key = without_case(meter, read(item), arguments[0]);
    if (!best.is_missing() && !compare(meter, better, key, best_key)) continue;
    best = std::move(item);
    best_key = std::move(key);
  }
  return best.is_missing() ? make_undefined("no aggregated item, sequence was empty") : best;
}

Value sum(Interpreter& in, const Value& input, const Items& arguments) {
  Meter& meter = in.meter;
  const AttributeReader read(in, arguments[0]);
  Value total = given_or(arguments[1], 0);
  if (total.text()) meter.fail("sum() can't sum strings [use ''.join(seq) instead]");
  const auto iterator = iterate(meter, input);
  for (Value item; iterator->next(item);) total = binary(meter, BinaryOp::kAdd, total, read(item));
  return total;
}

Value batch(Interpreter& in, const Value& input, const Items& arguments) {
  Meter& meter = in.meter;
  const Value size = arguments[0], fill = given_or(arguments[1], Value::None());
  return make_iterator(
      meter, "generator", input,
      [&meter, items = LazyItems(input), size, fill, ahead = Items(),
       is_done = false](Value& out) mutable {
        if (is_done) return false;
        Items row = std::move(ahead);
        ahead.clear();
        for (Value item; items.next(meter, item);) {
          meter.step();
          if (equal(meter, int64_t(row.size()), size)) {
            ahead.push_back(std::move(item));
            out = make_list(meter, std::move(row));
            return true;
          }
          meter.check_room(int64_t(row.size()), sizeof(Value));
          row.push_back(std::move(item));
        }
        is_done = true;
        if (row.empty()) return false;
        if (!fill.is_none() && compare(meter, CompareOp::kLess, int64_t(row.size()), size)) {
          const int64_t missing = expect_index(meter, size, "batch") - int64_t(row.size());
          meter.check_room(missing, sizeof(Value));
          row.insert(row.end(), size_t(missing), fill);
        }
        out = make_list(meter, std::move(row));
        return true;
      });
}

Value slices(Interpreter& in, const Value& input, const Items& arguments) {
  Meter& meter = in.meter;
  const Value count = arguments[0], fill = given_or(arguments[1], Value::None());
  return make_iterator(meter, "generator", input,
                       [&meter, input, count, fill, values = Items(), i = int64_t(-1),
                        at = size_t(0)](Value& out) mutable {
                         const int64_t n = expect_index(meter, count, "slice");
                         if (i < 0) {
                           values = collect(meter, input);
                           if (n == 0) meter.fail("integer modulo by zero");
                           i = 0;
                         }
                         if (i >= n) return false;
                         const int64_t length = int64_t(values.size());
                         const bool has_extra = i < length % n;
                         const size_t size = size_t(length / n + (has_extra ? 1 : 0));
                         Items row(values.begin() + ptrdiff_t(at),
                                   values.begin() + ptrdiff_t(at + size));
                         if (!fill.is_none() && !has_extra) row.push_back(fill);
                         at += size;
                         i++;
                         out = make_list(meter, std::move(row));
                         return true;
                       });
}

Value groupby(Interpreter& in, const Value& input, const Items& arguments) {
  Meter& meter = in.meter;
  const AttributeReader read(in, arguments[0], arguments[1]);
  const Items values = collect(meter, input);
  Items keys;
  for (const Value& value : values) keys.push_back(without_case(meter, read(value), arguments[2]));
  const Items ordered = sorted(meter, values, keys, false);
  Items groups;
  Value group_key;
  Items members;
  const auto close = [&] {
    if (members.empty()) return;
    const Value grouper = read(members[0]);  // in its own case
    groups.push_back(make_sequence(meter, Sequence::Kind::kGroup,
                                   {grouper, make_list(meter, std::move(members))}));
    members.clear();
  };
  for (const Value& value : ordered) {
    Value key = without_case(meter, read(value), arguments[2]);
    if (!members.empty() && !equal(meter, group_key, key)) close();
    if (members.empty()) group_key = std::move(key);
    members.push_back(value);
  }
  close();
  return make_list(meter, std::move(groups));
}

constexpr Filter kFilters[] = {
    {{"batch", "linecount fill_with", 1}, batch, nullptr},
    {{"dictsort", "case_sensitive by reverse", 0}, dictsort, nullptr},
    {{"first", "", 0}, first, nullptr},
    {{"groupby", "attribute default case_sensitive", 1}, groupby, nullptr},
    {{"items", "", 0}, items, nullptr},
    {{"last", "", 0}, last, nullptr},
    {{"list", "", 0}, list, nullptr},
    {{"max", "case_sensitive attribute", 0}, extreme<CompareOp::kGreater>, nullptr},
    {{"min", "case_sensitive attribute", 0}, extreme<CompareOp::kLess>, nullptr},
    {{"reverse", "", 0}, reverse, nullptr},
    {{"slice", "slices fill_with", 1}, slices, nullptr},
    {{"sort", "reverse case_sensitive attribute", 0}, sort, nullptr},
    {{"sum", "attribute start", 0}, sum, nullptr},
    {{"unique", "case_sensitive attribute", 0}, unique, nullptr},
};

}  // namespace

std::span<const Filter> list_filters() { return kFilters; }

}  // namespace wick::jinja
