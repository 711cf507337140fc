#include "hub/hub_api.h"

#include <algorithm>

#include "base/json_text.h"

namespace wick::hub {
namespace {

constexpr size_t kMaxAnswerBytes = 64 << 20;
constexpr int kMaxPages = 1000;  // of a list of files
constexpr int64_t kMaxAnswerSeconds = 120;

/// An answer that is kept in memory.
class TextTransfer : public Transfer {
 public:
  TextTransfer(const std::string& url, const std::string& subject) : Transfer(url, subject) {
    max_seconds = kMaxAnswerSeconds;
    fails_fast = true;
  }
  void begin(const AnswerHead& head) override {
    head_ = head;
    text_.clear();
  }
  void take(std::string_view bytes) override {
    check(text_.size() + bytes.size() <= kMaxAnswerBytes, ErrorCode::kFormat, subject(),
          shown_url(url()), ": the answer is longer than ", kMaxAnswerBytes, " bytes");
    text_ += bytes;
  }
  const std::string& text() const { return text_; }
  const AnswerHead& head() const { return head_; }

 private:
  AnswerHead head_;
  std::string text_;
};

/// The URL of the next page in a header "<URL>; rel="next"", "" if there is none.
std::string next_page(const std::string& link) {
  for (size_t from = 0; from < link.size();) {
    const size_t open = link.find('<', from), close = link.find('>', open);
    if (close == link.npos) return "";
    const size_t end = std::min(link.find(",", close), link.size());
    if (link.substr(close, end - close).find("rel=\"next\"") != link.npos)
      return link.substr(open + 1, close - open - 1);
    from = end;
  }
  return "";
}

/// Part of a server's own words, in quotes.
std::string quoted_words(const std::string& words) {
  constexpr size_t kShown = 200;
  return json_quote(words.substr(0, kShown));
}

}  // namespace

std::string HubApi::url_of(const HubName& name, const std::string& commit,
                           const std::string& path) const {
  return settings_.endpoint + "/" + name.repository + "/resolve/" + commit + "/" +
         url_quote(path, true);
}

std::string HubApi::commit(const HubName& name) {
  TextTransfer transfer(settings_.endpoint + "/api/models/" + name.repository + "/revision/" +
                            url_quote(name.revision, false),
                        to_string(name));
  Transfer* const only[] = {&transfer};
  client_.run(only);
  return read_commit(transfer.text(), shown_url(transfer.url()));
}

Listing HubApi::listing(const HubName& name, const std::string& commit) {
  Listing listing;
  const std::string first = settings_.endpoint + "/api/models/" + name.repository + "/tree/" +
                            commit + "?recursive=true&expand=false";
  std::string url = first;
  for (int page = 0; !url.empty(); page++) {
    check(page < kMaxPages, ErrorCode::kFormat, to_string(name),
          "the hub's list of the files has no end");
    TextTransfer transfer(url, to_string(name));
    Transfer* const only[] = {&transfer};
    client_.run(only);
    add_tree_page(transfer.text(), shown_url(url), listing);
    url = next_page(transfer.head().header("link"));
  }
  return listing;
}

/// "; near names are A, B", "" if the search gives none. The hub matches the words that a name
/// has, so ends of the name are left out until it finds some.
std::string HubApi::near_names(const std::string& repository) {
  std::string words = repository.substr(repository.find('/') + 1);
  for (int attempt = 0; attempt < 3 && !words.empty(); attempt++) {
    TextTransfer transfer(
        settings_.endpoint + "/api/models?limit=3&search=" + url_quote(words, false), repository);
    transfer.max_failures = 1;
    transfer.max_seconds = settings_.timeout_seconds;
    Transfer* const only[] = {&transfer};
    try {
      client_.run(only);
    } catch (const Refusal&) {
      return "";
    } catch (const UnreachableError&) {
      return "";
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kFormat) return "";
      throw;
    }
    std::string list;
    for (const std::string& name : read_search(transfer.text()))
      list += (list.empty() ? "; near names are " : ", ") + name;
    if (!list.empty()) return list;
    const size_t end = words.find_last_of("-_.");
    words.resize(end == words.npos ? 0 : end);
  }
  return "";
}

void HubApi::explain(const Refusal& refusal, const HubName& name) {
  const AnswerHead& head = refusal.head;
  const std::string& code = head.header("x-error-code");
  const std::string& words = head.header("x-error-message");
  const std::string where = to_string(name);
  if (head.is_of_endpoint) {
    const bool has_token = !settings_.token.empty();
    const std::string log_in =
        "set HF_TOKEN to a token of " + settings_.endpoint + "/settings/tokens, or `hf auth login`";
    if (code == "GatedRepo")
      fail_file(EACCES, where, "its publisher asks you to accept terms at ", settings_.endpoint,
                "/", name.repository,
                has_token ? "; do that with the account of the token of " + settings_.token_source
                          : "; do that, then " + log_in);
    if (code == "RevisionNotFound")
      fail_file(ENOENT, where, "the repository has no revision ", json_quote(name.revision));
    if (code == "EntryNotFound")
      fail_file(ENOENT, refusal.subject, "the hub lists the file and does not have it");
    if (head.status == 401 && has_token && words.starts_with("Invalid"))
      fail_file(EACCES, where, settings_.endpoint, " does not accept the token of ",
                settings_.token_source);
    if (code == "RepoNotFound" || head.status == 401 || head.status == 404)
      fail_file(ENOENT, where, settings_.endpoint, " has no such model, or only for other users",
                has_token ? " than that of the token of " + settings_.token_source
                          : ": if it is private, " + log_in,
                near_names(name.repository));
  }
  fail_file(head.status == 403 ? EACCES : EIO, refusal.subject, shown_url(refusal.url),
            " answers status ", head.status, words.empty() ? "" : ": " + quoted_words(words));
}

}  // namespace wick::hub
