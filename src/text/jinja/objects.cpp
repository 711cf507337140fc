#include "text/jinja/objects.h"

#include "text/jinja/attributes.h"
#include "text/jinja/compare.h"
#include "text/jinja/print.h"

namespace wick::jinja {
namespace {

/// A method of an object, which keeps it alive.
template <class F>
Value method(Interpreter& interpreter, Object& self, const char* name, const F& run) {
  const auto keep = self.shared_from_this();
  return std::make_shared<Function>(
      &interpreter.meter, name,
      [keep, run](Interpreter& interpreter, Arguments&& arguments) {
        return run(interpreter, std::move(arguments));
      },
      depth_above(interpreter.meter, Value(keep)));
}

}  // namespace

void Namespace::append_repr(Meter& meter, MarkedString& to) const {
  const Printing printing(meter, this);
  if (printing.is_inside()) {
    to += "<Namespace {...}>";
    return;
  }
  to += "<Namespace {";
  for (size_t i = 0; i < attributes_.size(); i++) {
    if (i > 0) to += ", ";
    to += quoted_text(attributes_[i].first);
    to += ": ";
    wick::jinja::append_repr(meter, to, attributes_[i].second);
  }
  to += "}>";
}

std::optional<Value> Namespace::attribute(Interpreter&, std::string_view name) {
  const auto found = places_.find(std::string(name));
  if (found == places_.end()) return std::nullopt;
  return attributes_[found->second].second;
}

void Namespace::set(const Meter& meter, MarkedString name, Value value) {
  if (name.bytes().starts_with("_"))
    meter.fail("attributes of a namespace must not start with an underscore, got '", name.bytes(),
               "'");
  const auto [place, is_new] = places_.emplace(name.bytes(), attributes_.size());
  if (is_new)
    attributes_.emplace_back(std::move(name), std::move(value));
  else
    attributes_[place->second].second = std::move(value);
}

void Namespace::clear() {
  places_.clear();
  const auto dropped = std::move(attributes_);
  attributes_.clear();
}

void MacroObject::append_repr(Meter&, MarkedString& to) const {
  to += "<Macro " +
        (definition_.name.empty() ? "anonymous"
                                  : quoted_text(MarkedView::unmarked(definition_.name)).bytes()) +
        ">";
}

std::optional<Value> MacroObject::attribute(Interpreter& interpreter, std::string_view name) {
  Meter& meter = interpreter.meter;
  if (name == "name") {
    if (definition_.name.empty()) return Value(Value::None());
    return make_unmarked(meter, definition_.name);
  }
  if (name == "arguments") {
    Items names;
    for (const std::string& parameter : definition_.parameters)
      names.push_back(make_unmarked(meter, parameter));
    return make_tuple(meter, std::move(names));
  }
  if (name == "caller") return definition_.caller_slot >= 0;
  if (name == "catch_kwargs") return definition_.kwargs_slot >= 0;
  if (name == "catch_varargs") return definition_.varargs_slot >= 0;
  return std::nullopt;
}

LoopContext::LoopContext(Meter& meter, const For& node, Activation* closure, const Value& items,
                         std::shared_ptr<Iterator> iterator, int64_t depth)
    : Object(&meter, depth_above(meter, Value(iterator))),
      node_(node),
      closure_(closure),
      iterator_(std::move(iterator)),
      length_(length_of(items)),
      depth0_(depth),
      meter_(meter) {}

const Value& LoopContext::peek() {
  static const Value kNothing;
  if (ahead_.empty()) {
    Value item;
    if (is_exhausted_ || !iterator_->next(item)) {
      is_exhausted_ = true;
      return kNothing;
    }
    ahead_.push_back(std::move(item));
  }
  return ahead_.back();
}

bool LoopContext::next(Value& item) {
  item = peek();
  if (item.is_missing()) return false;
  ahead_.pop_back();
  index0_++;
  before_ = std::move(current_);
  current_ = item;
  return true;
}

void LoopContext::finish() {
  is_finished_ = true;
  changed_ = {};
}

std::optional<int64_t> LoopContext::length() {
  if (!length_) {
    Items rest;
    for (Value item; iterator_->next(item);) {
      meter_.step();
      meter_.check_room(int64_t(rest.size()), sizeof(Value));
      rest.push_back(std::move(item));
    }
    is_exhausted_ = true;
    Items ahead(rest.rbegin(), rest.rend());
    ahead.insert(ahead.end(), ahead_.begin(), ahead_.end());
    ahead_ = std::move(ahead);
    length_ = index0_ + 1 + int64_t(ahead_.size());
  }
  return length_;
}

Value LoopContext::neighbour(const Value& item, const char* message) const {
  return item.is_missing() ? make_undefined(message) : item;
}

void LoopContext::append_repr(Meter&, MarkedString& to) const {
  to += "<LoopContext " + std::to_string(index0_ + 1) + "/" +
        std::to_string(*const_cast<LoopContext*>(this)->length()) + ">";
}

std::optional<Value> LoopContext::attribute(Interpreter& interpreter, std::string_view name) {
  if (name == "index") return index0_ + 1;
  if (name == "index0") return index0_;
  if (name == "first") return index0_ == 0;
  if (name == "last") return peek().is_missing();
  if (name == "length") return *length();
  if (name == "revindex") return *length() - index0_;
  if (name == "revindex0") return *length() - index0_ - 1;
  if (name == "depth") return depth0_ + 1;
  if (name == "depth0") return depth0_;
  if (name == "previtem")
    return neighbour(index0_ == 0 ? Value() : before_, "there is no previous item");
  if (name == "nextitem") return neighbour(peek(), "there is no next item");
  if (name == "cycle")
    return method(interpreter, *this, "cycle", [this](Interpreter& in, Arguments&& arguments) {
      const Items& items = arguments.positional;
      if (items.empty() || !arguments.named.empty()) in.meter.fail("no items for cycling given");
      return items[size_t(index0_) % items.size()];
    });
  if (name == "changed")
    return method(interpreter, *this, "changed", [this](Interpreter& in, Arguments&& arguments) {
      const Value now = make_tuple(in.meter, std::move(arguments.positional));
      if (!changed_.is_missing() && equal(in.meter, changed_, now)) return Value(false);
      if (!is_finished_) changed_ = now;
      return Value(true);
    });
  return std::nullopt;
}

Value LoopContext::call(Interpreter& interpreter, Arguments&& arguments) {
  if (!node_.is_recursive)
    meter_.fail("the loop must have the 'recursive' marker to be called recursively");
  const Items items = bind(meter_, {"loop", "iterable", 1}, std::move(arguments));
  return interpreter.call_loop(node_, closure_, items[0], depth0_ + 1);
}

std::shared_ptr<Iterator> LoopContext::iterate(Meter& meter) {
  const auto self = std::static_pointer_cast<LoopContext>(shared_from_this());
  return make_iterator(meter, "LoopContext", self, [self, &meter](Value& out) {
    Value item;
    if (!self->next(item)) return false;
    out = make_tuple(meter, {item, self});
    return true;
  });
}

std::optional<Value> Cycler::attribute(Interpreter& interpreter, std::string_view name) {
  const Items& items = items_.sequence()->items;
  if (name == "current") return items[at_];
  if (name == "items") return items_;
  if (name == "pos") return int64_t(at_);
  if (name == "next")
    return method(interpreter, *this, "next", [this, &items](Interpreter&, Arguments&&) {
      const Value item = items[at_];
      at_ = (at_ + 1) % items.size();
      return item;
    });
  if (name == "reset")
    return method(interpreter, *this, "reset", [this](Interpreter&, Arguments&&) {
      at_ = 0;
      return Value(Value::None());
    });
  return std::nullopt;
}

Value Joiner::call(Interpreter& interpreter, Arguments&& arguments) {
  bind(interpreter.meter, {"joiner", "", 0}, std::move(arguments));
  if (std::exchange(is_used_, true)) return separator_;
  return make_unmarked(interpreter.meter, "");
}

}  // namespace wick::jinja
