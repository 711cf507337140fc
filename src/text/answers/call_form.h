// The forms that models write calls in, read symbol by symbol.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "text/answers/families.h"
#include "text/answers/tools.h"

namespace wick::answers {

/// A call that is complete.
struct Call {
  std::string name, id = {};  // id: "" if the model wrote no id
  std::string arguments;      // a JSON object
};

/// A text that may be a call, or several, from the symbol after the marker that opened it.
class CallForm {
 public:
  enum class Verdict {
    kMore,    // it may become one
    kDone,    // it is one, with this symbol
    kFailed,  // it is no call
  };
  virtual ~CallForm() = default;
  virtual Verdict next(Symbol symbol) = 0;
  /// The text has ended. Returns kDone or kFailed.
  virtual Verdict end() { return Verdict::kFailed; }
  const std::vector<Call>& calls() const { return calls_; }

 protected:
  std::vector<Call> calls_;
};

/// The form of the format's family. open: the marker of format.opens; empty for a whole answer that
/// begins as JSON. Both must outlive it.
std::unique_ptr<CallForm> make_call_form(const Format& format, const Tools& tools, SymbolView open);

/// Whether the text is a JSON object, with white space around it.
bool is_json_object(std::string_view text);
/// The text without white space around it.
std::string_view trimmed(std::string_view text);

}  // namespace wick::answers
