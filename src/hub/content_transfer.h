// The download of one content into the cache.
#pragma once
#include <optional>

#include "base/digest.h"
#include "hub/http_client.h"
#include "hub/repository_cache.h"

namespace wick::hub {

/// Continues the incomplete file of earlier attempts, checks the digest of the whole, and gives it
/// its name. One program at a time does so; others wait.
class ContentTransfer : public Transfer {
 public:
  /// name: the model's, which begins errors with the file's path. note: is called once if another
  /// program downloads the content.
  ContentTransfer(const std::string& url, const std::string& name, const RepositoryCache& cache,
                  RepositoryFile file, std::function<void(const std::string&)> note);
  ~ContentTransfer() override;

  Step prepare() override;
  int64_t first_byte() const override { return size_; }
  void begin(const AnswerHead& head) override;
  void take(std::string_view bytes) override;
  void end() override;
  void restart() override;

  const RepositoryFile& file() const { return file_; }
  /// The bytes that are there.
  int64_t done() const { return size_; }

 private:
  void open_incomplete();
  void add_to_digest();
  void start_digest();
  void finish();

  const RepositoryCache& cache_;
  const RepositoryFile file_;
  const std::function<void(const std::string&)> note_;
  FileLock lock_;
  int descriptor_ = -1;
  int64_t size_ = 0;    // of the incomplete file
  int64_t hashed_ = 0;  // bytes of it in the digest
  std::optional<Digest> digest_;
  int wrong_digests_ = 0;
  bool has_noted_ = false;
};

}  // namespace wick::hub
