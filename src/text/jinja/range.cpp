#include "text/jinja/range.h"

#include "text/jinja/number.h"
#include "text/jinja/print.h"

namespace wick::jinja {

Value Range::make(Meter& meter, int64_t start, int64_t stop, int64_t step) {
  constexpr uint64_t kMaxCount = 100000;
  if (step == 0) meter.fail("range() arg 3 must not be zero");
  uint64_t count = 0;
  if (step > 0 && start < stop) count = (uint64_t(stop) - uint64_t(start) - 1) / uint64_t(step) + 1;
  if (step < 0 && stop < start)
    count = (uint64_t(start) - uint64_t(stop) - 1) / (0 - uint64_t(step)) + 1;
  if (count > kMaxCount) meter.fail("range too big: the sandbox allows ", kMaxCount, " values");
  return std::make_shared<Range>(meter, start, stop, step, int64_t(count));
}

void Range::append_repr(Meter&, MarkedString& to) const {
  to += "range(" + std::to_string(start_) + ", " + std::to_string(stop_);
  if (step_ != 1) to += ", " + std::to_string(step_);
  to += ")";
}

std::optional<Value> Range::item(Meter&, const Value& key) {
  const auto index = key.index();
  if (!index) return std::nullopt;
  const int64_t i = *index < 0 ? *index + count_ : *index;
  if (i < 0 || i >= count_) return std::nullopt;
  return start_ + i * step_;
}

std::optional<Value> Range::attribute(Interpreter&, std::string_view name) {
  if (name == "start") return start_;
  if (name == "step") return step_;
  if (name == "stop") return stop_;
  return std::nullopt;
}

std::shared_ptr<Iterator> Range::iterate(Meter& meter) {
  return make_iterator(
      meter, "range_iterator", {},
      [start = start_, step = step_, n = count_, i = int64_t(0)](Value& out) mutable {
        if (i == n) return false;
        out = start + step * i++;
        return true;
      });
}

std::shared_ptr<Iterator> Range::reversed(Meter& meter) {
  return make_iterator(meter, "range_iterator", {},
                       [start = start_, step = step_, i = count_](Value& out) mutable {
                         if (i == 0) return false;
                         out = start + step * --i;
                         return true;
                       });
}

bool Range::equals(const Object& other) const {
  const Range* range = dynamic_cast<const Range*>(&other);
  return range && count_ == range->count_ &&
         (count_ == 0 || (start_ == range->start_ && (count_ == 1 || step_ == range->step_)));
}

Value Range::part(Meter& meter, const SliceRange& slice) const {
  return std::make_shared<Range>(meter, start_ + slice.first * step_, start_ + slice.end * step_,
                                 step_ * slice.step, slice.count);
}

DictView::DictView(Meter& meter, Value dict, Part part)
    : Object(&meter, depth_above(meter, dict)), dict_(std::move(dict)), part_(part) {}

std::string DictView::type_name() const {
  return part_ == Part::kKeys ? "dict_keys" : part_ == Part::kValues ? "dict_values" : "dict_items";
}

Value DictView::at(Meter& meter, size_t i) const {
  const auto& [key, value] = dict_.dict()->entries[i];
  if (part_ == Part::kKeys) return key;
  if (part_ == Part::kValues) return value;
  return make_tuple(meter, {key, value});
}

void DictView::append_repr(Meter& meter, MarkedString& to) const {
  to += type_name() + "([";
  for (size_t i = 0; i < dict_.dict()->entries.size(); i++) {
    if (i > 0) to += ", ";
    wick::jinja::append_repr(meter, to, at(meter, i));
  }
  to += "])";
}

std::shared_ptr<Iterator> DictView::iterate(Meter& meter) {
  const auto self = std::static_pointer_cast<DictView>(shared_from_this());
  return make_iterator(meter, "dict_iterator", self,
                       [self, &meter, i = size_t(0)](Value& out) mutable {
                         if (i == self->dict_.dict()->entries.size()) return false;
                         out = self->at(meter, i++);
                         return true;
                       });
}

std::shared_ptr<Iterator> DictView::reversed(Meter& meter) {
  const auto self = std::static_pointer_cast<DictView>(shared_from_this());
  const size_t n = dict_.dict()->entries.size();
  return make_iterator(meter, "dict_reverseiterator", self,
                       [self, &meter, i = n](Value& out) mutable {
                         if (i == 0) return false;
                         out = self->at(meter, --i);
                         return true;
                       });
}

}  // namespace wick::jinja
