// Values as text: Python's str() and repr(), and json.dumps().
#pragma once
#include "text/jinja/value.h"

namespace wick::jinja {

/// str(value), which is a text.
Value str(Meter& meter, const Value& value);
void append_str(Meter& meter, MarkedString& to, const Value& value);
void append_repr(Meter& meter, MarkedString& to, const Value& value);

/// Marks a container as printed while this is alive: a namespace may hold itself.
class Printing {
 public:
  Printing(Meter& meter, const void* container);
  ~Printing() { meter_.printed.pop_back(); }
  Printing(const Printing&) = delete;
  Printing& operator=(const Printing&) = delete;
  /// Whether the container is printed within itself.
  bool is_inside() const { return is_inside_; }

 private:
  Meter& meter_;
  const bool is_inside_;
};

/// repr() of a text.
MarkedString quoted_text(const MarkedView& text);
/// repr() of a float: the shortest digits that give x again.
std::string real_text(double x);
/// The text with code points beyond ASCII as \xNN, \uNNNN and \UNNNNNNNN.
std::string ascii_only(std::string_view text);
MarkedString ascii_only(const MarkedView& text);

struct JsonOptions {
  bool ensure_ascii = false;
  bool sort_keys = false;
  bool lines = false;  // a line per item
  std::string indent;  // per level
  std::string item_separator = ", ", key_separator = ": ";
  bool from_users = false;  // whether indent or a separator has a mark: then all of the result has
};
/// json.dumps(value). Errors: Python's TypeError for values that JSON has not.
MarkedString to_json(Meter& meter, const Value& value, const JsonOptions& options);

}  // namespace wick::jinja
