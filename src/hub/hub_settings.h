// Where the hub, its cache and the user's token are, by the variables that huggingface_hub reads.
#pragma once
#include <cstdint>
#include <string>

namespace wick::hub {

struct HubSettings {
  std::string endpoint;      // "https://huggingface.co", without a slash at its end
  std::string cache;         // the folder of all repositories' folders
  std::string token;         // "": requests carry no token
  std::string token_source;  // where the token comes from, for errors
  bool offline = false;      // nothing may be asked of the endpoint
  std::string certificates;  // a file of authorities to trust in place of libcurl's own; "": those
  int64_t timeout_seconds = 10;  // until a connection is made, and without a byte
};

/// Reads HF_ENDPOINT; HF_HUB_CACHE, HF_HOME and XDG_CACHE_HOME; HF_TOKEN and the token's file;
/// HF_HUB_OFFLINE; HF_HUB_DOWNLOAD_TIMEOUT; SSL_CERT_FILE.
/// Errors: kInvalidArgument, naming the variable.
/// Source: huggingface_hub 2.4 (Apache 2.0), its constants.
HubSettings read_settings();

}  // namespace wick::hub
