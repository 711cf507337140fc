// The questions that wick asks the hub's API, and its refusals in words.
#pragma once
#include <string>
#include <vector>

#include "hub/http_client.h"
#include "hub/listing.h"
#include "wick/hub/hub_name.h"

namespace wick::hub {

class HubApi {
 public:
  /// Errors: as of HttpClient.
  HubApi(const HubSettings& settings, HttpClient::Hooks hooks)
      : settings_(settings), client_(settings, std::move(hooks)) {}

  /// The commit of a revision. Errors: UnreachableError; throws Refusal.
  std::string commit(const HubName& name);
  /// The files of a commit. Errors: as of commit; kFormat.
  Listing listing(const HubName& name, const std::string& commit);
  /// The URL of a file's content.
  std::string url_of(const HubName& name, const std::string& commit, const std::string& path) const;
  /// Throws the error that a refusal means: FileError with ENOENT for a model or revision that is
  /// not there, with EACCES for one that the user may not have. It says how to get it, or which
  /// names are near.
  [[noreturn]] void explain(const Refusal& refusal, const HubName& name);

  HttpClient& client() { return client_; }

 private:
  std::string near_names(const std::string& repository);

  const HubSettings& settings_;
  HttpClient client_;
};

}  // namespace wick::hub
