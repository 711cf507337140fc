// The keywords of sessions: the one list of what Python's session, generate and chat take.
#pragma once
#include <nanobind/nanobind.h>

#include <span>

#include "wick/generate/session.h"

namespace wick::python {

struct SessionKeyword {
  const char *name, *type, *doc;
  /// Sets the option. where: "temperature", for errors. Errors: TypeError, ValueError.
  void (*set)(SessionOptions& options, nanobind::handle value, const std::string& where);
};
std::span<const SessionKeyword> session_keywords();

/// The options with those of the dict; None leaves an option as it is. Errors: TypeError, also for a
/// name that is no keyword; ValueError.
SessionOptions with_keywords(SessionOptions options, const nanobind::dict& keywords);

}  // namespace wick::python
