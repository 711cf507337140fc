// The names that may become paths of the cache: of repositories, revisions and files.
#pragma once
#include <string_view>

namespace wick::hub {

/// Whether the text can be an organization's or a model's name: letters, digits, "-", "_" and ".",
/// with no "-" or "." at an end, no "--" and no "..".
bool is_repository_part(std::string_view text);
/// Whether the text is "ORG/NAME" of such parts.
bool is_repository(std::string_view text);
/// Whether a revision is safe as a path below the folder of revisions: parts between "/" that git allows in a
/// branch's name, none of which begins with ".".
bool is_revision(std::string_view text);
/// Whether the text is a commit: 40 lower-case hexadecimal digits.
bool is_commit(std::string_view text);
/// Whether the text is a digest of a file's content: a commit's form, or 64 such digits.
bool is_digest(std::string_view text);
/// Whether a path of a server's list stays within the folder that it is put into: relative, in
/// UTF-8 without control characters, each part a name of at most 255 bytes, not "." or "..".
bool is_file_path(std::string_view text);

}  // namespace wick::hub
