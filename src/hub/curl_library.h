// libcurl, which is opened at the first request, so that programs that never ask the hub need none.
#pragma once

#define CURL_DISABLE_DEPRECATION  // CURLOPT_PROTOCOLS: its successor is missing before 7.85
#define CURL_DISABLE_TYPECHECK    // its macros would hide the members below
#include <curl/curl.h>

namespace wick::hub {

/// The functions of libcurl 7.66 or newer that wick calls.
struct CurlLibrary {
  /// Opens libcurl, once for the process. Errors: kRuntimeMissing if there is none.
  static const CurlLibrary& get();

  decltype(&::curl_global_init) global_init;
  decltype(&::curl_easy_init) easy_init;
  decltype(&::curl_easy_cleanup) easy_cleanup;
  decltype(&::curl_easy_reset) easy_reset;
  decltype(&::curl_easy_setopt) easy_setopt;
  decltype(&::curl_easy_getinfo) easy_getinfo;
  decltype(&::curl_easy_strerror) easy_strerror;
  decltype(&::curl_multi_init) multi_init;
  decltype(&::curl_multi_cleanup) multi_cleanup;
  decltype(&::curl_multi_add_handle) multi_add_handle;
  decltype(&::curl_multi_remove_handle) multi_remove_handle;
  decltype(&::curl_multi_perform) multi_perform;
  decltype(&::curl_multi_poll) multi_poll;
  decltype(&::curl_multi_info_read) multi_info_read;
  decltype(&::curl_multi_strerror) multi_strerror;
  decltype(&::curl_slist_append) slist_append;
  decltype(&::curl_slist_free_all) slist_free_all;
  decltype(&::curl_url) url;
  decltype(&::curl_url_cleanup) url_cleanup;
  decltype(&::curl_url_set) url_set;
  decltype(&::curl_url_get) url_get;
  decltype(&::curl_free) free;
};

}  // namespace wick::hub
