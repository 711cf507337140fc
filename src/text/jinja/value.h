// The values of a template, as Python has them: immutable but for namespaces, shared by reference.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "text/jinja/marks.h"
#include "text/jinja/meter.h"
#include "wick/base/settings.h"

namespace wick::jinja {

class Value;
class Interpreter;
struct Arguments;

/// A str: valid UTF-8.
struct Text {
  Text(MarkedString string, bool markup, Meter* meter);
  bool is_ascii() const { return size_t(length) == bytes.size(); }

  std::string bytes;
  Marks marks;     // of the bytes that come from users; comparisons do not see them
  int64_t length;  // in code points
  bool markup;     // markupsafe's Markup: escapes strings that are joined with it
  Charge charge;
};

/// A list or tuple.
struct Sequence {
  /// kGroup: of the filter groupby, a tuple whose items are also the attributes grouper and list.
  enum class Kind { kList, kTuple, kGroup };
  Sequence(std::vector<Value> items, Kind kind, int depth, Meter* meter);
  bool is_tuple() const { return kind != Kind::kList; }

  std::vector<Value> items;
  Kind kind;
  int depth;  // 1 + the deepest item's
  Charge charge;
};

/// A dict: entries in insertion order, found by binary search.
struct Dict {
  /// Keys are hashable and differ.
  Dict(std::vector<std::pair<Value, Value>> entries, std::vector<uint32_t> order, int depth,
       Meter* meter);

  std::vector<std::pair<Value, Value>> entries;
  std::vector<uint32_t> order;  // entries by compare_keys
  int depth;
  Charge charge;

  /// nullptr if missing. The key must be hashable.
  const Value* find(Meter& meter, const Value& key) const;
  const Value* find(Meter& meter, std::string_view key) const;
};

/// The value of a missing name, key or attribute.
struct Undefined {
  std::string message;  // of the error when it is used
};

/// A value of any other type.
class Object : public std::enable_shared_from_this<Object> {
 public:
  /// meter: nullptr for objects that outlive a render.
  explicit Object(Meter* meter, int depth = 1) : depth(depth), charge(meter, kBytes) {}
  virtual ~Object() = default;
  /// The name in Python's error texts: "range", "method".
  virtual std::string type_name() const = 0;
  /// Appends Python's repr().
  virtual void append_repr(Meter& meter, MarkedString& to) const;
  virtual bool is_true() const { return true; }
  /// len(); nullopt if Python raises TypeError.
  virtual std::optional<int64_t> length() { return std::nullopt; }
  /// self[key]; nullopt if Python raises TypeError or LookupError.
  virtual std::optional<Value> item(Meter& meter, const Value& key);
  /// Whether Python's type has __getitem__.
  virtual bool has_items() const { return false; }
  /// The attribute; nullopt if the object lacks it.
  virtual std::optional<Value> attribute(Interpreter& interpreter, std::string_view name);
  virtual bool is_hashable() const { return true; }
  virtual bool is_callable() const { return false; }
  virtual Value call(Interpreter& interpreter, Arguments&& arguments);
  /// A new iterator; nullptr if Python cannot iterate over it.
  virtual std::shared_ptr<class Iterator> iterate(Meter& meter);
  virtual std::shared_ptr<class Iterator> reversed(Meter& meter);
  /// self == other.
  virtual bool equals(const Object& other) const { return this == &other; }

  const int depth;

 private:
  static constexpr size_t kBytes = 200;  // about the size of any of them
  Charge charge;
};

/// Yields the values of next(), once; Python's generators and iterators.
class Iterator final : public Object {
 public:
  /// Writes the next value; false at the end.
  using Next = std::function<bool(Value&)>;

  Iterator(Meter& meter, int depth, const char* type_name, Next next)
      : Object(&meter, depth), next_(std::move(next)), type_name_(type_name) {}
  bool next(Value& value) { return next_(value); }
  std::string type_name() const override { return type_name_; }
  std::shared_ptr<Iterator> iterate(Meter& meter) override;

 private:
  Next next_;
  const char* type_name_;
};

class Value {
 public:
  struct Missing {};  // a variable that has no value yet
  struct None {};
  using TextRef = std::shared_ptr<const Text>;
  using SequenceRef = std::shared_ptr<const Sequence>;
  using DictRef = std::shared_ptr<const Dict>;
  using UndefinedRef = std::shared_ptr<const Undefined>;
  using ObjectRef = std::shared_ptr<Object>;

  Value() = default;                              // missing
  Value(None v) : data_(v) {}                     // NOLINT: implicit conversion
  Value(bool v) : data_(v) {}                     // NOLINT
  Value(int v) : data_(int64_t(v)) {}             // NOLINT
  Value(int64_t v) : data_(v) {}                  // NOLINT
  Value(double v) : data_(v) {}                   // NOLINT
  Value(TextRef v) : data_(std::move(v)) {}       // NOLINT
  Value(SequenceRef v) : data_(std::move(v)) {}   // NOLINT
  Value(DictRef v) : data_(std::move(v)) {}       // NOLINT
  Value(UndefinedRef v) : data_(std::move(v)) {}  // NOLINT
  Value(ObjectRef v) : data_(std::move(v)) {}     // NOLINT
  template <class T>
  requires std::is_base_of_v<Object, T> Value(std::shared_ptr<T> v)  // NOLINT
      : data_(ObjectRef(std::move(v))) {}
  Value(const char*) = delete;

  bool is_missing() const { return std::holds_alternative<Missing>(data_); }
  bool is_none() const { return std::holds_alternative<None>(data_); }
  const bool* boolean() const { return std::get_if<bool>(&data_); }
  /// An int that is no bool.
  const int64_t* integer() const { return std::get_if<int64_t>(&data_); }
  const double* real() const { return std::get_if<double>(&data_); }
  const Text* text() const { return pointee<TextRef>(); }
  const Sequence* sequence() const { return pointee<SequenceRef>(); }
  const Dict* dict() const { return pointee<DictRef>(); }
  const Undefined* undefined() const { return pointee<UndefinedRef>(); }
  Object* object() const { return pointee<ObjectRef>(); }
  template <class T>
  T* object_as() const {
    return dynamic_cast<T*>(object());
  }
  bool is_list() const { return sequence() && !sequence()->is_tuple(); }
  bool is_tuple() const { return sequence() && sequence()->is_tuple(); }
  /// An int or bool, as Python's indexes are.
  std::optional<int64_t> index() const;
  /// An int, bool or float.
  bool is_number() const { return integer() || boolean() || real(); }

  /// Python's truth.
  bool is_true() const;
  /// Python's name of the type: "str", "dict", "NoneType".
  std::string type_name() const;
  /// How deeply values nest in this; 0 without any.
  int depth() const;
  /// The address of the shared contents; nullptr for a value without any.
  const void* identity() const;

 private:
  template <class Ref>
  auto pointee() const -> decltype(std::declval<Ref>().get()) {
    const Ref* ref = std::get_if<Ref>(&data_);
    return ref ? ref->get() : nullptr;
  }

  std::variant<Missing, None, bool, int64_t, double, TextRef, SequenceRef, DictRef, UndefinedRef,
               ObjectRef>
      data_;
};

// Makers. They throw if the render's memory is spent or values nest too deeply.
using Items = std::vector<Value>;
using Entries = std::vector<std::pair<Value, Value>>;

Value make_text(Meter& meter, MarkedString string, bool markup = false);
inline Value make_text(Meter& meter, const MarkedView& view, bool markup = false) {
  return make_text(meter, MarkedString(view), markup);
}
/// A text of the program or the template.
inline Value make_unmarked(Meter& meter, std::string bytes, bool markup = false) {
  return make_text(meter, MarkedString::unmarked(std::move(bytes)), markup);
}
Value make_sequence(Meter& meter, Sequence::Kind kind, Items items);
inline Value make_list(Meter& meter, Items items) {
  return make_sequence(meter, Sequence::Kind::kList, std::move(items));
}
inline Value make_tuple(Meter& meter, Items items) {
  return make_sequence(meter, Sequence::Kind::kTuple, std::move(items));
}
/// The last of equal keys wins, at the place of the first. Errors: an unhashable key.
Value make_dict(Meter& meter, Entries entries);
/// source: the value that next reads, which bounds how deeply iterators nest.
std::shared_ptr<Iterator> make_iterator(Meter& meter, const char* type_name, const Value& source,
                                        Iterator::Next next);
Value make_undefined(std::string message);
/// A str of the template's source, which no meter counts.
Value constant_text(std::string bytes);
/// A variable from outside; bytes that are not UTF-8 become U+FFFD.
/// from_users: marks all its strings, keys of dicts too.
Value value_of(Meter& meter, const Setting& setting, bool from_users = false);

/// 1 + the depth of the value. Errors: it nests too deeply.
int depth_above(const Meter& meter, const Value& value);

/// An order of hashable values in which equal ones, and no others, are equivalent.
int compare_keys(Meter& meter, const Value& lhs, const Value& rhs);
/// Errors: Python's TypeError for a value that is or holds a list or dict.
void check_hashable(Meter& meter, const Value& value);
bool is_hashable(Meter& meter, const Value& value);

/// A new iterator over the value. Errors: Python's TypeError.
std::shared_ptr<Iterator> iterate(Meter& meter, const Value& value);
/// nullptr where iterate throws.
std::shared_ptr<Iterator> try_iterate(Meter& meter, const Value& value);
/// The values that an iterator yields.
Items collect(Meter& meter, const Value& value);
/// len(); nullopt where Python raises TypeError.
std::optional<int64_t> length_of(const Value& value);

}  // namespace wick::jinja
