// The keywords of sessions: the one list for Python's session, generate and chat.
#pragma once
#include <nanobind/nanobind.h>

#include <span>

#include "wick/generate/session.h"

namespace wick::python {

struct SessionKeyword {
  const char *name, *type, *doc;
  /// Sets the option. where: "temperature", for errors. Errors: TypeError, ValueError.
  void (*set)(SessionOptions& options, nanobind::handle value, const std::string& where);
  bool of_sampling = false;  // a member of Sampling, which sequences may have each
};
std::span<const SessionKeyword> session_keywords();

/// The options, replaced where the dict has another value than None. Errors: TypeError, also for a
/// name that is no keyword; ValueError.
SessionOptions with_keywords(SessionOptions options, const nanobind::dict& keywords);
/// The sampling, replaced where the dict has another value than None. Errors: as of with_keywords.
Sampling with_sampling_keywords(const Sampling& sampling, const nanobind::dict& keywords);

}  // namespace wick::python
