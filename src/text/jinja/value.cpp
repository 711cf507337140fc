#include "text/jinja/value.h"

#include <algorithm>
#include <numeric>

#include "base/utf8.h"
#include "text/jinja/compare.h"

namespace wick::jinja {
namespace {

/// Values may nest so deeply: the functions that walk over them recurse.
constexpr int kMaxDepth = 500;

int checked_depth(const Meter& meter, int depth) {
  if (depth > kMaxDepth) meter.refuse("values nest deeper than ", kMaxDepth, " levels");
  return depth;
}

int depth_of(const Meter& meter, const Items& items) {
  int depth = 0;
  for (const Value& item : items) depth = std::max(depth, item.depth());
  return checked_depth(meter, 1 + depth);
}

// Kinds of keys, in their order.
enum KeyRank { kNoneKey, kNumberKey, kTextKey, kTupleKey, kUndefinedKey, kObjectKey };

KeyRank rank_of(const Value& key) {
  if (key.is_none()) return kNoneKey;
  if (key.is_number()) return kNumberKey;
  if (key.text()) return kTextKey;
  if (key.sequence()) return kTupleKey;
  if (key.undefined()) return kUndefinedKey;
  return kObjectKey;
}

template <class T>
int three_way(const T& lhs, const T& rhs) {
  return lhs < rhs ? -1 : rhs < lhs ? 1 : 0;
}

/// The entry at which `compare(key)` is 0; or nullptr.
template <class F>
const Value* search(const Dict& dict, const F& compare) {
  size_t low = 0, high = dict.order.size();
  while (low < high) {
    const size_t middle = (low + high) / 2;
    const auto& [key, value] = dict.entries[dict.order[middle]];
    const int order = compare(key);
    if (order == 0) return &value;
    (order < 0 ? low : high) = order < 0 ? middle + 1 : middle;
  }
  return nullptr;
}

std::vector<uint32_t> order_of(Meter& meter, const Entries& entries) {
  std::vector<uint32_t> order(entries.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t lhs, uint32_t rhs) {
    return compare_keys(meter, entries[lhs].first, entries[rhs].first) < 0;
  });
  return order;
}

/// Leaves the first of equal keys, with the value of the last.
void drop_repeated_keys(Meter& meter, Entries& entries, std::vector<uint32_t>& order) {
  std::vector<bool> dropped(entries.size());
  bool any = false;
  for (size_t i = 1, first = 0; i < order.size(); i++) {
    if (compare_keys(meter, entries[order[first]].first, entries[order[i]].first) != 0) {
      first = i;
      continue;
    }
    entries[order[first]].second = entries[order[i]].second;
    dropped[order[i]] = any = true;
  }
  if (!any) return;
  Entries kept;
  for (size_t i = 0; i < entries.size(); i++)
    if (!dropped[i]) kept.push_back(std::move(entries[i]));
  entries = std::move(kept);
  order = order_of(meter, entries);
}

}  // namespace

Text::Text(MarkedString string, bool markup, Meter* meter)
    : bytes(std::move(string).take_bytes()),
      marks(std::move(string).take_marks()),
      length(count_code_points(bytes)),
      markup(markup),
      charge(meter, sizeof(Text) + bytes.size() + marks.memory()) {}

Sequence::Sequence(std::vector<Value> items_, Kind kind, int depth, Meter* meter)
    : items(std::move(items_)),
      kind(kind),
      depth(depth),
      charge(meter, sizeof(Sequence) + items.capacity() * sizeof(Value)) {}

Dict::Dict(std::vector<std::pair<Value, Value>> entries_, std::vector<uint32_t> order_, int depth,
           Meter* meter)
    : entries(std::move(entries_)),
      order(std::move(order_)),
      depth(depth),
      charge(meter, sizeof(Dict) + entries.capacity() * (sizeof(entries[0]) + sizeof(order[0]))) {}

const Value* Dict::find(Meter& meter, const Value& key) const {
  return search(*this, [&](const Value& other) { return compare_keys(meter, other, key); });
}

const Value* Dict::find(Meter& meter, std::string_view key) const {
  meter.step_bytes(key.size());
  return search(*this, [&](const Value& other) {
    const Text* text = other.text();
    return text ? text->bytes.compare(key) : three_way(int(rank_of(other)), int(kTextKey));
  });
}

void Object::append_repr(Meter&, MarkedString& to) const { to += "<" + type_name() + " object>"; }
std::optional<Value> Object::item(Meter&, const Value&) { return std::nullopt; }
std::optional<Value> Object::attribute(Interpreter&, std::string_view) { return std::nullopt; }
std::shared_ptr<Iterator> Object::iterate(Meter&) { return nullptr; }
std::shared_ptr<Iterator> Object::reversed(Meter&) { return nullptr; }

std::shared_ptr<Iterator> Iterator::iterate(Meter&) {
  return std::static_pointer_cast<Iterator>(shared_from_this());
}

std::optional<int64_t> Value::index() const {
  if (const int64_t* i = integer()) return *i;
  if (const bool* b = boolean()) return *b;
  return std::nullopt;
}

bool Value::is_true() const {
  if (const bool* b = boolean()) return *b;
  if (const int64_t* i = integer()) return *i != 0;
  if (const double* x = real()) return *x != 0;
  if (const Text* t = text()) return !t->bytes.empty();
  if (const Sequence* s = sequence()) return !s->items.empty();
  if (const Dict* d = dict()) return !d->entries.empty();
  if (const Object* o = object()) return o->is_true();
  return false;
}

std::string Value::type_name() const {
  if (boolean()) return "bool";
  if (integer()) return "int";
  if (real()) return "float";
  if (text()) return text()->markup ? "Markup" : "str";
  if (sequence()) return is_tuple() ? "tuple" : "list";
  if (dict()) return "dict";
  if (object()) return object()->type_name();
  return is_none() ? "NoneType" : "Undefined";
}

int Value::depth() const {
  if (const Sequence* s = sequence()) return s->depth;
  if (const Dict* d = dict()) return d->depth;
  if (const Object* o = object()) return o->depth;
  return 0;
}

const void* Value::identity() const {
  if (const void* p = text()) return p;
  if (const void* p = sequence()) return p;
  if (const void* p = dict()) return p;
  if (const void* p = undefined()) return p;
  return object();
}

Value make_text(Meter& meter, MarkedString string, bool markup) {
  meter.step_bytes(string.size());
  return std::make_shared<const Text>(std::move(string), markup, &meter);
}

Value make_sequence(Meter& meter, Sequence::Kind kind, Items items) {
  meter.step_bytes(items.size() * sizeof(Value));
  const int depth = depth_of(meter, items);
  return std::make_shared<const Sequence>(std::move(items), kind, depth, &meter);
}

Value make_dict(Meter& meter, Entries entries) {
  meter.step(int64_t(entries.size()));
  int depth = 0;
  for (const auto& [key, value] : entries) {
    check_hashable(meter, key);
    depth = std::max({depth, key.depth(), value.depth()});
  }
  std::vector<uint32_t> order = order_of(meter, entries);
  drop_repeated_keys(meter, entries, order);
  depth = checked_depth(meter, 1 + depth);
  return std::make_shared<const Dict>(std::move(entries), std::move(order), depth, &meter);
}

std::shared_ptr<Iterator> make_iterator(Meter& meter, const char* type_name, const Value& source,
                                        Iterator::Next next) {
  return std::make_shared<Iterator>(meter, depth_above(meter, source), type_name, std::move(next));
}

Value make_undefined(std::string message) {
  return std::make_shared<const Undefined>(Undefined{std::move(message)});
}

Value constant_text(std::string bytes) {
  return std::make_shared<const Text>(MarkedString::unmarked(std::move(bytes)), false, nullptr);
}

Value value_of(Meter& meter, const Setting& setting, bool from_users) {
  const Deeper deeper(meter);
  struct Convert {
    Meter& meter;
    const bool from_users;
    Value operator()(std::nullptr_t) const { return Value::None(); }
    Value operator()(bool v) const { return v; }
    Value operator()(int64_t v) const { return v; }
    Value operator()(double v) const { return v; }
    Value operator()(const std::string& v) const {
      const std::string bytes = is_utf8(v) ? v : with_valid_utf8(v);
      return make_text(meter,
                       from_users ? MarkedString::marked(bytes) : MarkedString::unmarked(bytes));
    }
    Value operator()(const Setting::List& list) const {
      Items items;
      items.reserve(list.size());
      for (const Setting& item : list) items.push_back(value_of(meter, item, from_users));
      return make_list(meter, std::move(items));
    }
    Value operator()(const Settings& settings) const {
      Entries entries;
      entries.reserve(settings.entries().size());
      for (const auto& [key, value] : settings.entries())
        entries.push_back({(*this)(key), value_of(meter, value, from_users)});
      return make_dict(meter, std::move(entries));
    }
  };
  return std::visit(Convert{meter, from_users}, setting.value);
}

int depth_above(const Meter& meter, const Value& value) {
  return checked_depth(meter, 1 + value.depth());
}

int compare_keys(Meter& meter, const Value& lhs, const Value& rhs) {
  meter.step();
  const KeyRank rank = rank_of(lhs);
  if (const int order = three_way(int(rank), int(rank_of(rhs)))) return order;
  switch (rank) {
    case kNumberKey:
      return order_numbers(lhs, rhs);
    case kTextKey: {
      const std::string &left = lhs.text()->bytes, &right = rhs.text()->bytes;
      meter.step_bytes(std::min(left.size(), right.size()));
      return left.compare(right);
    }
    case kTupleKey: {
      const Items& left = lhs.sequence()->items;
      const Items& right = rhs.sequence()->items;
      for (size_t i = 0; i < std::min(left.size(), right.size()); i++)
        if (const int order = compare_keys(meter, left[i], right[i])) return order;
      return three_way(left.size(), right.size());
    }
    case kObjectKey:
      return three_way(lhs.identity(), rhs.identity());
    default:
      return 0;
  }
}

bool is_hashable(Meter& meter, const Value& value) {
  meter.step();
  if (value.is_list() || value.dict()) return false;
  if (value.object()) return value.object()->is_hashable();
  if (!value.sequence()) return true;
  const Items& items = value.sequence()->items;
  return std::all_of(items.begin(), items.end(),
                     [&](const Value& item) { return is_hashable(meter, item); });
}

void check_hashable(Meter& meter, const Value& value) {
  if (!is_hashable(meter, value)) meter.fail("unhashable type: '", value.type_name(), "'");
}

std::shared_ptr<Iterator> try_iterate(Meter& meter, const Value& value) {
  const auto over_items = [&](const char* name, const Items& items) {
    return make_iterator(meter, name, value, [value, &items, i = size_t(0)](Value& out) mutable {
      if (i == items.size()) return false;
      out = items[i++];
      return true;
    });
  };
  if (const Sequence* s = value.sequence())
    return over_items(s->is_tuple() ? "tuple_iterator" : "list_iterator", s->items);
  if (const Dict* d = value.dict())
    return make_iterator(meter, "dict_keyiterator", value,
                         [value, d, i = size_t(0)](Value& out) mutable {
                           if (i == d->entries.size()) return false;
                           out = d->entries[i++].first;
                           return true;
                         });
  if (const Text* t = value.text())
    return make_iterator(meter, "str_iterator", value,
                         [value, t, &meter, at = size_t(0)](Value& out) mutable {
                           if (at == t->bytes.size()) return false;
                           const size_t n = character_length(t->bytes[at]);
                           out = make_text(meter, MarkedView(*t).substr(at, n));
                           at += n;
                           return true;
                         });
  if (value.undefined())
    return make_iterator(meter, "generator", value, [](Value&) { return false; });
  return value.object() ? value.object()->iterate(meter) : nullptr;
}

std::shared_ptr<Iterator> iterate(Meter& meter, const Value& value) {
  auto iterator = try_iterate(meter, value);
  if (!iterator) meter.fail("'", value.type_name(), "' object is not iterable");
  return iterator;
}

Items collect(Meter& meter, const Value& value) {
  if (const Sequence* s = value.sequence()) return s->items;
  const auto iterator = iterate(meter, value);
  Items items;
  for (Value item; iterator->next(item);) {
    meter.step();
    meter.check_room(int64_t(items.size()), sizeof(Value));
    items.push_back(std::move(item));
  }
  return items;
}

std::optional<int64_t> length_of(const Value& value) {
  if (const Text* t = value.text()) return t->length;
  if (const Sequence* s = value.sequence()) return int64_t(s->items.size());
  if (const Dict* d = value.dict()) return int64_t(d->entries.size());
  if (value.undefined()) return 0;
  return value.object() ? value.object()->length() : std::nullopt;
}

}  // namespace wick::jinja
