#include <ctime>

#include "text/jinja/attributes.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/number.h"
#include "text/jinja/objects.h"
#include "text/jinja/print.h"
#include "text/jinja/range.h"
#include "text/jinja/text.h"

namespace wick::jinja {
namespace {

Value make_range(Interpreter& in, Arguments&& arguments) {
  const Items given = bind(in.meter, {"range", "start stop step /", 1}, std::move(arguments));
  const int64_t first = expect_index(in.meter, given[0], "range");
  if (given[1].is_missing()) return Range::make(in.meter, 0, first, 1);
  const int64_t stop = expect_index(in.meter, given[1], "range");
  return Range::make(in.meter, first, stop, index_or(in.meter, given[2], "range", 1));
}

/// The entries of dict(*positional, **named).
Entries dict_entries(Interpreter& in, Arguments&& arguments) {
  Meter& meter = in.meter;
  if (arguments.positional.size() > 1) meter.fail("dict expected at most 1 argument");
  Entries entries;
  for (const Value& source : arguments.positional) {
    if (source.dict()) {
      entries = source.dict()->entries;
      continue;
    }
    for (const Value& pair : collect(meter, source)) {
      Items items = collect(meter, pair);
      if (items.size() != 2) meter.fail("dict: expected pairs, got ", items.size(), " values");
      entries.emplace_back(std::move(items[0]), std::move(items[1]));
    }
  }
  for (auto& [name, value] : arguments.named)
    entries.emplace_back(make_text(meter, std::move(name)), std::move(value));
  return entries;
}

/// The type dict, which has fromkeys() too.
class DictType final : public Object {
 public:
  DictType() : Object(nullptr) {}
  std::string type_name() const override { return "TemplateDict"; }
  bool is_callable() const override { return true; }
  Value call(Interpreter& in, Arguments&& arguments) override {
    return make_dict(in.meter, dict_entries(in, std::move(arguments)));
  }
  std::optional<Value> attribute(Interpreter& in, std::string_view name) override {
    if (name != "fromkeys") return std::nullopt;
    return std::make_shared<Function>(&in.meter, "fromkeys", [](Interpreter& in, Arguments&& args) {
      const Items given = bind(in.meter, {"fromkeys", "iterable value /", 1}, std::move(args));
      Entries entries;
      for (Value& key : collect(in.meter, given[0]))
        entries.emplace_back(std::move(key), given_or(given[1], Value::None()));
      return make_dict(in.meter, std::move(entries));
    });
  }
};

Value make_namespace(Interpreter& in, Arguments&& arguments) {
  // A dict first, so that repeated names are dropped.
  const Value dict = make_dict(in.meter, dict_entries(in, std::move(arguments)));
  std::vector<std::pair<MarkedString, Value>> attributes;
  for (const auto& [key, value] : dict.dict()->entries) {
    attributes.emplace_back(MarkedString(), value);
    append_str(in.meter, attributes.back().first, key);
  }
  return in.make_namespace(std::move(attributes));
}

Value make_cycler(Interpreter& in, Arguments&& arguments) {
  if (arguments.positional.empty() || !arguments.named.empty())
    in.meter.fail("cycler: expected one item or more");
  return std::make_shared<Cycler>(in.meter, make_tuple(in.meter, std::move(arguments.positional)));
}

Value make_joiner(Interpreter& in, Arguments&& arguments) {
  const Items given = bind(in.meter, {"joiner", "sep", 0}, std::move(arguments));
  return std::make_shared<Joiner>(in.meter, given_or(given[0], constant_text(", ")));
}

Value raise_exception(Interpreter& in, Arguments&& arguments) {
  const Items given = bind(in.meter, {"raise_exception", "message", 1}, std::move(arguments));
  in.meter.fail(str(in.meter, given[0]).text()->bytes);
}

/// Python's datetime.strftime without a time zone: %z and %Z are empty, %f has microseconds.
Value strftime_now(Interpreter& in, Arguments&& arguments) {
  const Items given = bind(in.meter, {"strftime_now", "format", 1}, std::move(arguments));
  const std::string& format = expect_text(in.meter, given[0], "strftime_now").bytes;
  const auto now = in.now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(
      std::chrono::time_point_cast<std::chrono::system_clock::duration>(
          std::chrono::floor<std::chrono::seconds>(now)));
  const auto fraction = now - std::chrono::floor<std::chrono::seconds>(now);
  const int64_t micros = std::chrono::duration_cast<std::chrono::microseconds>(fraction).count();
  std::string translated;
  for (size_t i = 0; i < format.size(); i++) {
    const char next = format[i] == '%' && i + 1 < format.size() ? format[i + 1] : 0;
    if (next == 'f') {
      const std::string digits = std::to_string(micros);
      translated += std::string(6 - digits.size(), '0') + digits;
    } else if (next != 0 && next != 'z' && next != 'Z')
      (translated += '%') += next;
    else if (next == 0)
      translated += format[i];
    if (next != 0) i++;
  }
  std::tm local{};
  localtime_r(&seconds, &local);
  in.meter.step_bytes(translated.size());
  if (translated.empty()) return make_unmarked(in.meter, "");
  // The space avoids the length 0 of an empty result, which also means that the buffer is short.
  translated += ' ';
  const size_t most = 256 * translated.size() + 1024;
  in.meter.check_room(most);
  std::string text(most, '\0');
  const size_t size = std::strftime(text.data(), text.size(), translated.c_str(), &local);
  if (size == 0) in.meter.refuse("strftime_now: the result is too long");
  text.resize(size - 1);
  return make_text(in.meter,
                   marked_like(MarkedString::unmarked(std::move(text)), *given[0].text()));
}

}  // namespace

Value find_global(std::string_view name) {
  struct Row {
    const char* name;
    Value (*run)(Interpreter&, Arguments&&);
  };
  static constexpr Row kFunctions[] = {
      {"range", make_range},   {"namespace", make_namespace},        {"cycler", make_cycler},
      {"joiner", make_joiner}, {"raise_exception", raise_exception}, {"strftime_now", strftime_now},
  };
  static const std::vector<Value> kValues = [] {
    std::vector<Value> values;
    for (const Row& row : kFunctions)
      values.push_back(std::make_shared<Function>(nullptr, row.name, row.run));
    return values;
  }();
  static const Value kDict = std::make_shared<DictType>();
  for (size_t i = 0; i < std::size(kFunctions); i++)
    if (name == kFunctions[i].name) return kValues[i];
  return name == "dict" ? kDict : Value();
}

}  // namespace wick::jinja
