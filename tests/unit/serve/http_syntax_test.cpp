#include "serve/http_syntax.h"

#include <gtest/gtest.h>

namespace wick::serve {
namespace {

/// The status of the error that f throws; 0 if it throws nothing.
template <class F>
int status_of(const F& f) {
  try {
    f();
    return 0;
  } catch (const RequestError& error) {
    return error.status;
  }
}

std::string head(const std::string& line, const std::string& headers = "Host: a\r\n") {
  return line + "\r\n" + headers + "\r\n";
}

TEST(ParseHead, ReadsTheLineAndTheHeaders) {
  const HttpRequest request = parse_head(
      "POST /v1/models/a%2Fb?x=%20 HTTP/1.1\r\nHOST: a:80\r\nX-Empty:\r\nX-Text: \t a  b \r\n\r\n");
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.path, "/v1/models/a/b");
  EXPECT_FALSE(request.is_http_1_0);
  ASSERT_NE(request.find("host"), nullptr);
  EXPECT_EQ(*request.find("host"), "a:80");
  EXPECT_EQ(*request.find("x-empty"), "");
  EXPECT_EQ(*request.find("x-text"), "a  b");
  EXPECT_EQ(request.find("x-other"), nullptr);
  EXPECT_EQ(parse_head(head("GET http://example.org/b HTTP/1.1")).path, "/b");
  EXPECT_TRUE(parse_head("GET / HTTP/1.0\r\n\r\n").is_http_1_0);
}

TEST(ParseHead, RefusesWhatIsNotHttp) {
  const std::string bad[] = {
      head("GET /"),
      head("GET  HTTP/1.1"),
      head("GET / /b HTTP/1.1"),
      head("G(T / HTTP/1.1"),
      head("GET b HTTP/1.1"),
      head("GET /\x01 HTTP/1.1"),
      head("GET /\xc3\xa4 HTTP/1.1"),
      head("GET /%0 HTTP/1.1"),
      head("GET /%zz HTTP/1.1"),
      head("GET /%00 HTTP/1.1"),
      head("GET / HTTP/1.1", ""),
      head("GET / HTTP/1.1", "Host: a\r\nHost: a\r\n"),
      head("GET / HTTP/1.1", "Host: a\r\nno colon\r\n"),
      head("GET / HTTP/1.1", "Host : a\r\n"),
      head("GET / HTTP/1.1", "Host: a\r\n continued: b\r\n"),
      head("GET / HTTP/1.1", "Host: a\r\nX: a\x01\r\n"),
      head("GET / HTTP/1.1", "Host: a\r\nX: a\nY: b\r\n"),
      head("GET / HTTP/1.1", "Host: a\r\nX: a\rY: b\r\n"),
      head("GET / HTTP/1.1") + "GET",
      "GET / HTTP/1.1\r\nHost: a\r\n",
      "",
  };
  for (const std::string& text : bad) EXPECT_EQ(status_of([&] { parse_head(text); }), 400) << text;
  EXPECT_EQ(status_of([] { parse_head(head("GET / HTTP/2.0")); }), 505);
}

TEST(HttpRequest, FindsWordsInLists) {
  const HttpRequest request =
      parse_head(head("GET / HTTP/1.1", "Host: a\r\nConnection: Upgrade, CLOSE\r\n"));
  EXPECT_TRUE(request.lists("connection", "close"));
  EXPECT_TRUE(request.lists("connection", "upgrade"));
  EXPECT_FALSE(request.lists("connection", "clos"));
  EXPECT_FALSE(request.lists("host", ""));
}

TEST(BodyLength, IsTheLengthOrChunks) {
  const auto length = [](const std::string& headers) {
    return body_length(parse_head(head("POST / HTTP/1.1", "Host: a\r\n" + headers)));
  };
  EXPECT_EQ(length("").bytes, 0);
  EXPECT_EQ(length("Content-Length: 12\r\n").bytes, 12);
  EXPECT_EQ(length("Content-Length: 12\r\nContent-Length: 12\r\n").bytes, 12);
  EXPECT_TRUE(length("Transfer-Encoding: Chunked\r\n").is_chunked);
  for (const char* bad :
       {"Content-Length: -1\r\n", "Content-Length: +1\r\n", "Content-Length: 1 2\r\n",
        "Content-Length:\r\n", "Content-Length: 99999999999999999999\r\n",
        "Content-Length: 1\r\nContent-Length: 2\r\n",
        "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"})
    EXPECT_EQ(status_of([&] { length(bad); }), 400) << bad;
  for (const char* bad : {"Transfer-Encoding: gzip\r\n", "Transfer-Encoding: gzip, chunked\r\n",
                          "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"})
    EXPECT_EQ(status_of([&] { length(bad); }), 501) << bad;
}

constexpr std::string_view kChunks =
    "5\r\nabcde\r\nA;name=value\r\n0123456789\r\n0\r\nX: y\r\n\r\n";

TEST(ChunkReader, JoinsChunksHoweverTheyArrive) {
  for (size_t step = 1; step <= kChunks.size(); step++) {
    ChunkReader chunks(15);
    std::string body;
    for (size_t at = 0; at < kChunks.size(); at += step) {
      const std::string_view part = kChunks.substr(at, step);
      EXPECT_EQ(chunks.push(part, body), part.size());
      EXPECT_EQ(chunks.done(), at + step >= kChunks.size());
    }
    EXPECT_EQ(body, "abcde0123456789");
  }
}

TEST(ChunkReader, LeavesTheNextRequest) {
  ChunkReader chunks(15);
  std::string body;
  EXPECT_EQ(chunks.push(std::string(kChunks) + "GET", body), kChunks.size());
  EXPECT_TRUE(chunks.done());
}

TEST(ChunkReader, RefusesBrokenAndLongBodies) {
  const auto status = [](std::string_view bytes) {
    return status_of([&] {
      ChunkReader chunks(15);
      std::string body;
      chunks.push(bytes, body);
    });
  };
  const std::string bad[] = {"g\r\n",
                             "-1\r\n",
                             "\r\n",
                             "0x5\r\n",
                             "5\nabcde",
                             "5\r\nabcdef\r\n",
                             "11111111111111111\r\n",
                             "5;" + std::string(2000, 'a'),
                             "0\r\n" + std::string(9000, 'a') + "\r\n"};
  for (const std::string& bytes : bad)
    EXPECT_EQ(status(bytes + "\r\n"), 400) << bytes.substr(0, 40);
  EXPECT_EQ(status("10\r\n"), 413);
  EXPECT_EQ(status("f\r\n0123456789abcde\r\n1\r\n"), 413);
}

}  // namespace
}  // namespace wick::serve
