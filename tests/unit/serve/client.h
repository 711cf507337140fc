// A client of HTTP/1.1 that can also send what no client should.
#pragma once
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <string>
#include <vector>

#include "wick/io/json.h"

namespace wick::test {

struct Answer {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;                            // chunks joined

  Settings json() const { return parse_json(body, "answer"); }
  /// The error object of OpenAI's API.
  Settings error() const {
    const Settings all = json();
    return all.group("error") ? *all.group("error") : Settings();
  }
  /// The data of each event of the API of responses, which has the event's name as its type.
  std::vector<Settings> typed_events() const {
    std::vector<Settings> result;
    for (size_t at = 0; at < body.size();) {
      const size_t line = std::min(body.find('\n', at), body.size());
      const size_t end = std::min(body.find("\n\n", at), body.size());
      if (body.compare(at, 7, "event: ") != 0 || body.compare(line, 7, "\ndata: ") != 0) {
        ADD_FAILURE() << body.substr(at);
        break;
      }
      result.push_back(parse_json(body.substr(line + 7, end - line - 7), "event"));
      EXPECT_EQ(result.back().text("type"), body.substr(at + 7, line - at - 7));
      at = end + 2;
    }
    return result;
  }
  /// The data of each event.
  std::vector<std::string> events() const {
    std::vector<std::string> result;
    for (size_t at = 0; at < body.size();) {
      const size_t end = std::min(body.find("\n\n", at), body.size());
      const std::string line = body.substr(at, end - at);
      EXPECT_EQ(line.rfind("data: ", 0), 0u) << line;
      result.push_back(line.substr(std::min<size_t>(6, line.size())));
      at = end + 2;
    }
    return result;
  }
};

/// A connection to a port of this machine. Reads give up after ten seconds.
class Client {
 public:
  /// receive_buffer: bytes that the system takes for a client that does not read; 0: its default.
  explicit Client(int port, int receive_buffer = 0) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    if (receive_buffer > 0)
      setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    const timeval longest{10, 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof longest);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(uint16_t(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    is_connected_ = connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~Client() { close(); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool is_connected() const { return is_connected_; }
  void close() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }
  void send(const std::string& bytes) {
    for (size_t at = 0; at < bytes.size();) {
      const ssize_t count = ::send(socket_, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
      if (count <= 0) return;  // the server has closed; the answer says why
      at += size_t(count);
    }
  }
  /// Reads until the text has occurred, and returns all up to its end; all there is at the end.
  std::string read_until(const std::string& text) {
    for (;;) {
      const size_t at = received_.find(text);
      if (at != received_.npos) return take(at + text.size());
      if (!receive()) return take(received_.size());
    }
  }
  /// Whether the server has closed the connection and all was read.
  bool is_at_end() { return received_.empty() && !receive(); }

  Answer read_answer(bool has_body = true) {
    Answer answer;
    const std::string head = read_until("\r\n\r\n");
    if (head.rfind("HTTP/1.1 ", 0) != 0) return answer;
    answer.status = std::stoi(head.substr(9, 3));
    for (size_t at = head.find("\r\n") + 2; at + 2 < head.size();) {
      const size_t end = head.find("\r\n", at), colon = head.find(": ", at);
      std::string name = head.substr(at, colon - at);
      std::transform(name.begin(), name.end(), name.begin(),
                     [](unsigned char c) { return char(std::tolower(c)); });
      answer.headers[name] = head.substr(colon + 2, end - colon - 2);
      at = end + 2;
    }
    if (answer.headers.count("content-length") && has_body) {
      answer.body = take_exactly(std::stoul(answer.headers["content-length"]));
    } else if (answer.headers.count("transfer-encoding")) {
      for (;;) {
        const size_t size = std::stoul(read_until("\r\n"), nullptr, 16);
        answer.body += take_exactly(size);
        EXPECT_EQ(take_exactly(2), "\r\n");
        if (size == 0) break;
      }
    } else if (answer.headers["connection"] == "close") {
      while (receive()) {
      }
      answer.body = take(received_.size());
    }
    return answer;
  }

  /// Sends a request and reads its answer. A body is JSON. headers: lines with CR LF.
  Answer ask(const std::string& method, const std::string& path, const std::string& body = "",
             const std::string& headers = "") {
    send(head(method, path, body.size(), headers) + body);
    return read_answer(method != "HEAD");
  }
  static std::string head(const std::string& method, const std::string& path, size_t bytes,
                          const std::string& headers = "") {
    std::string text = method + " " + path + " HTTP/1.1\r\n";
    if (headers.find("Host:") == headers.npos) text += "Host: localhost\r\n";
    if (method == "POST")
      text += "Content-Type: application/json\r\nContent-Length: " + std::to_string(bytes) + "\r\n";
    return text + headers + "\r\n";
  }

 private:
  bool receive() {
    char buffer[65536];
    const ssize_t count = recv(socket_, buffer, sizeof buffer, 0);
    if (count > 0) received_.append(buffer, size_t(count));
    return count > 0;
  }
  std::string take(size_t count) {
    const std::string text = received_.substr(0, count);
    received_.erase(0, count);
    return text;
  }
  std::string take_exactly(size_t count) {
    while (received_.size() < count && receive()) {
    }
    return take(count);
  }

  int socket_;
  bool is_connected_ = false;
  std::string received_;
};

/// One request over a connection of its own.
inline Answer ask(int port, const std::string& method, const std::string& path,
                  const std::string& body = "", const std::string& headers = "") {
  Client client(port);
  return client.ask(method, path, body, headers);
}

}  // namespace wick::test
