#include "hub/curl_library.h"

#include <dlfcn.h>

#include <string>

#include "base/log.h"
#include "wick/base/error.h"

namespace wick::hub {
namespace {

// One interface, linked with different libraries for TLS. Debian's git brings the second.
constexpr const char* kNames[] = {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl-nss.so.4"};

[[noreturn]] void fail_missing(const std::string& reason) {
  fail(ErrorCode::kRuntimeMissing, "hub",
       "downloads need libcurl, which cannot be opened: ", reason,
       "; Debian's package is libcurl4");
}

void* open_library() {
  std::string reasons;
  for (const char* name : kNames) {
    if (void* const handle = dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
      note("hub: downloads by ", name);
      return handle;
    }
    if (reasons.empty()) reasons = dlerror();
  }
  fail_missing(reasons);
}

template <class F>
void find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  if (!function) fail_missing(std::string("it is older than 7.66: it lacks ") + name);
}

CurlLibrary load() {
  void* const handle = open_library();  // never closed: it may have registered handlers
  CurlLibrary curl{};
  find(handle, "curl_global_init", curl.global_init);
  find(handle, "curl_easy_init", curl.easy_init);
  find(handle, "curl_easy_cleanup", curl.easy_cleanup);
  find(handle, "curl_easy_reset", curl.easy_reset);
  find(handle, "curl_easy_setopt", curl.easy_setopt);
  find(handle, "curl_easy_getinfo", curl.easy_getinfo);
  find(handle, "curl_easy_strerror", curl.easy_strerror);
  find(handle, "curl_multi_init", curl.multi_init);
  find(handle, "curl_multi_cleanup", curl.multi_cleanup);
  find(handle, "curl_multi_add_handle", curl.multi_add_handle);
  find(handle, "curl_multi_remove_handle", curl.multi_remove_handle);
  find(handle, "curl_multi_perform", curl.multi_perform);
  find(handle, "curl_multi_poll", curl.multi_poll);
  find(handle, "curl_multi_info_read", curl.multi_info_read);
  find(handle, "curl_multi_strerror", curl.multi_strerror);
  find(handle, "curl_slist_append", curl.slist_append);
  find(handle, "curl_slist_free_all", curl.slist_free_all);
  find(handle, "curl_url", curl.url);
  find(handle, "curl_url_cleanup", curl.url_cleanup);
  find(handle, "curl_url_set", curl.url_set);
  find(handle, "curl_url_get", curl.url_get);
  find(handle, "curl_free", curl.free);
  if (curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) fail_missing("curl_global_init fails");
  return curl;
}

}  // namespace

const CurlLibrary& CurlLibrary::get() {
  static const CurlLibrary library = load();  // an exception leaves it to the next call
  return library;
}

}  // namespace wick::hub
