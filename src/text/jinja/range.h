// range() and the views of a dict.
#pragma once
#include "text/jinja/text.h"
#include "text/jinja/value.h"

namespace wick::jinja {

class Range final : public Object {
 public:
  Range(Meter& meter, int64_t start, int64_t stop, int64_t step, int64_t count)
      : Object(&meter), start_(start), stop_(stop), step_(step), count_(count) {}
  /// Like Python's sandbox, allows at most 100000 values. Errors: step 0.
  static Value make(Meter& meter, int64_t start, int64_t stop, int64_t step);

  std::string type_name() const override { return "range"; }
  void append_repr(Meter& meter, MarkedString& to) const override;
  bool is_true() const override { return count_ > 0; }
  std::optional<int64_t> length() override { return count_; }
  std::optional<Value> item(Meter& meter, const Value& key) override;
  bool has_items() const override { return true; }
  std::optional<Value> attribute(Interpreter& interpreter, std::string_view name) override;
  std::shared_ptr<Iterator> iterate(Meter& meter) override;
  std::shared_ptr<Iterator> reversed(Meter& meter) override;
  bool equals(const Object& other) const override;
  /// range[start:stop:step].
  Value part(Meter& meter, const SliceRange& slice) const;

 private:
  int64_t start_, stop_, step_, count_;
};

/// keys(), values() or items() of a dict.
class DictView final : public Object {
 public:
  enum class Part { kKeys, kValues, kItems };
  DictView(Meter& meter, Value dict, Part part);

  std::string type_name() const override;
  void append_repr(Meter& meter, MarkedString& to) const override;
  bool is_true() const override { return !dict_.dict()->entries.empty(); }
  bool is_hashable() const override { return part_ == Part::kValues; }
  std::optional<int64_t> length() override { return int64_t(dict_.dict()->entries.size()); }
  std::shared_ptr<Iterator> iterate(Meter& meter) override;
  std::shared_ptr<Iterator> reversed(Meter& meter) override;

 private:
  Value at(Meter& meter, size_t i) const;

  const Value dict_;
  const Part part_;
};

}  // namespace wick::jinja
