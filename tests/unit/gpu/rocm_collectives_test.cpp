// Collectives of tensors on cards by RCCL, between processes with a card each. RCCL is a fake that moves bytes through
// shared memory, with a fault at choice, and the cards are emulated (tools/amdemu), since the fake reads their memory.
// With `--rank MODE` the program is a rank.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "../drawn_model.h"
#include "devices/absent.h"
#include "wick/wick.h"

namespace wick {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

// ---- a rank

std::vector<uint8_t> bytes_in(const Tensor& x) {
  std::vector<uint8_t> bytes(size_t(bytes_of(x.dtype(), x.numel())));
  x.read(bytes.data());
  return bytes;
}

struct Tally {
  int equal = 0, wrong = 0;
  void add(const std::string& what, const Tensor& got, const Tensor& expected) {
    const bool same = got.shape() == expected.shape() && got.dtype() == expected.dtype() &&
                      bytes_in(got) == bytes_in(expected);
    (same ? equal : wrong)++;
    if (!same) std::printf("%s of %s differs\n", what.c_str(), dtype_name(expected.dtype()));
  }
  void print() const { std::printf("%d equal, %d wrong\n", equal, wrong); }
};

/// Small whole numbers, other ones for each rank, which every computed dtype holds, in host memory.
Tensor values_of(int rank, const Shape& shape, DType dtype) {
  std::vector<float> values;
  for (int64_t i = 0; i < numel(shape); i++) values.push_back(float((i * 7 + rank * 3) % 5));
  return cast(Tensor::from(values, shape), dtype);
}

constexpr DType kComputed[] = {DType::kBool, DType::kU8,     DType::kI8,     DType::kU16,
                               DType::kI16,  DType::kU32,    DType::kI32,    DType::kU64,
                               DType::kI64,  DType::kF8E4M3, DType::kF8E5M2, DType::kBf16,
                               DType::kF16,  DType::kF32,    DType::kF64};

/// Every collective of tensors on the card, beside those of the same tensors in host memory, which
/// go over TCP.
void compute(const ProcessGroup& group, const Device& device) {
  const int count = group.world_size();
  Tally tally;
  const auto both = [&](const std::string& what, const Tensor& x,
                        const std::function<Tensor(const Tensor&)>& f) {
    const Tensor y = f(x.to(device));
    if (y.device() != device) tally.wrong++;
    tally.add(what, y, f(x));
  };
  for (const DType dtype : kComputed)
    for (const int64_t size : {0, 1, 1200}) {
      const Tensor x = values_of(group.rank(), {size}, dtype);
      for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMean, ReduceOp::kMax, ReduceOp::kMin}) {
        if (op == ReduceOp::kMean && (!is_floating(dtype) || count == 3)) continue;
        if (op == ReduceOp::kSum && dtype == DType::kBool) continue;
        both("all_reduce", x, [&](const Tensor& t) { return group.all_reduce(t, op); });
        both("reduce_scatter", x,
             [&](const Tensor& t) { return t.numel() == 1 ? t : group.reduce_scatter(t, 0, op); });
      }
      both("all_gather", x, [&](const Tensor& t) { return group.all_gather(t); });
    }
  // A view, along every dim: [4, 3, 12].
  const Tensor view = transpose(values_of(group.rank(), {12, 3, 4}, DType::kF32), 0, 2);
  for (const int64_t dim : {0, 2, -1}) {
    both("all_gather", view, [&](const Tensor& t) { return group.all_gather(t, dim); });
    both("reduce_scatter", view, [&](const Tensor& t) { return group.reduce_scatter(t, dim); });
    for (const int64_t to : {0, 1, 2})
      both("all_to_all", view, [&](const Tensor& t) { return group.all_to_all(t, dim, to); });
  }
  for (int root = 0; root < count; root++)
    both("broadcast", view, [&](const Tensor& t) { return group.broadcast(t, root); });
  const Tensor blocks =
      Tensor::from_bytes(std::vector<char>(68, char(group.rank())).data(), DType::kQ8_0, {64});
  both("broadcast", blocks, [&](const Tensor& t) { return group.broadcast(t, count - 1); });
  both("recv", view, [&](const Tensor& t) {
    // Pairs: a send waits for its recv in this fake.
    const int other = group.rank() ^ 1;
    Tensor y;
    if (group.rank() % 2 == 0) group.send(t, other);
    y = group.recv(t.shape(), {.dtype = t.dtype(), .device = t.device()}, other);
    if (group.rank() % 2 == 1) group.send(t, other);
    return y;
  });
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor odd = Tensor::from({group.rank() == 1 ? nan : 1.f, 2.f});
  for (const ReduceOp op : {ReduceOp::kMax, ReduceOp::kMin}) {
    const auto values = group.all_reduce(odd.to(device), op).to_vector<float>();
    (values[0] != values[0] && values[1] == 2 ? tally.equal : tally.wrong)++;
  }
  tally.print();
}

void differentiate(const ProcessGroup& group, const Device& device) {
  Tally tally;
  const std::function<Tensor(const Tensor&)> functions[] = {
      [&](const Tensor& x) { return group.all_reduce(x); },
      [&](const Tensor& x) { return group.all_reduce(x, ReduceOp::kMean); },
      [&](const Tensor& x) { return group.all_gather(x, 1); },
      [&](const Tensor& x) { return group.reduce_scatter(x, 0); },
      [&](const Tensor& x) { return group.reduce_scatter(x, 1, ReduceOp::kMean); },
      [&](const Tensor& x) { return group.all_to_all(x, 0, 1); },
      [&](const Tensor& x) { return group.broadcast(x, 1); },
  };
  for (const auto& f : functions) {
    const auto gradients = [&](const Device& on) {
      const Var x(values_of(group.rank(), {4, 4}, DType::kF64).to(on));
      const Tensor y = f(x * x);
      const Tensor weights =
          reshape(values_of(group.rank() + 1, {y.numel()}, DType::kF64).to(on), y.shape());
      const Tensor first = grad(sum(y * weights), {x}, {.create_graph = true})[0];
      return std::pair(first.detach(), grad(sum(first), {x})[0]);
    };
    const auto there = gradients(device), here = gradients(Device::cpu());
    tally.add("gradient", there.first, here.first);
    tally.add("second gradient", there.second, here.second);
  }
  tally.print();
}

/// A recorded step with each collective, replayed with other values.
void replay(const ProcessGroup& group, const Device& device) {
  const int count = group.world_size();
  Tally tally;
  Var x(values_of(group.rank(), {8, 4}, DType::kF32).to(device), false);
  const auto step = [&](const Tensor& in) {
    const Tensor sum = group.all_reduce(in * 2.0);
    const Tensor mine = group.reduce_scatter(sum + in, 0);
    const Tensor parts = group.all_to_all(group.all_gather(mine, 0), 0, 1);
    return group.broadcast(group.all_reduce(parts, ReduceOp::kMax), count - 1);
  };
  step(x);
  Tensor y;
  const Graph graph = Graph::capture(device, [&] { y = step(x); });
  for (int round = 0; round < 3; round++) {
    const Tensor values = values_of(group.rank() + 2 * round, {8, 4}, DType::kF32) + double(round);
    copy_(x, values.to(device));
    graph.launch();
    tally.add("step", y, step(values));
  }
  tally.print();
}

void on_stream(const ProcessGroup& group, const Device& device) {
  Tally tally;
  const Tensor x = values_of(group.rank(), {64}, DType::kF32);
  const Tensor there = x.to(device);
  group.all_reduce(there);
  const Stream side(device);
  side.wait(Event(Stream::of(device)));
  Tensor y;
  {
    const StreamScope scope(side);
    y = group.all_reduce(there + 1.0);
  }
  Stream::of(device).wait(Event(side));
  tally.add("all_reduce", y, group.all_reduce(x + 1.0));
  tally.print();
}

/// A model whose weights the ranks share, beside the whole of it on the CPU.
void generate(const ProcessGroup& group, const Device& device) {
  const DecoderConfig config{.vocab_size = 48,
                             .hidden_size = 16,
                             .intermediate_size = 24,
                             .num_hidden_layers = 2,
                             .num_attention_heads = 4,
                             .num_key_value_heads = 2,
                             .head_dim = 8,
                             .max_position_embeddings = 64,
                             .initializer_range = 0.5};
  const std::string folder = fs::temp_directory_path() / ("wick_rank_" + std::to_string(getpid()));
  fs::create_directory(folder);
  test::write_drawn_model(folder, config, 7);
  const LanguageModel whole = load_model(folder, {.device = Device::cpu(), .dtype = DType::kF32}),
                      shared = load_model(folder,
                                          {.device = device, .dtype = DType::kF32, .group = group});
  fs::remove_all(folder);
  if (follows(*shared.model)) return follow(*shared.model);
  int64_t graph_steps = 0;
  const auto ids_of = [&](const LanguageModel& model) {
    Session session(model, {.capacity = 32, .sampling = {.temperature = 0}});
    session.append({3, 1, 4, 1, 5});
    std::vector<int64_t> ids;
    for (int i = 0; i < 8; i++) ids.push_back(session.step()[0]);
    graph_steps = session.graph_steps();
    return ids;
  };
  const std::vector<int64_t> expected = ids_of(whole), ids = ids_of(shared);
  std::printf("%s tokens, %d steps by a graph\n", ids == expected ? "equal" : "other",
              int(graph_steps));
}

int run(const std::string& mode) {
  const ProcessGroup group = ProcessGroup::join();
  const int rank = group.rank();
  const Device device =
      mode == "mixed" && rank == 1 ? Device::cpu() : Device::rocm(mode == "shared" ? 0 : rank);
  const auto ones_there = [&](int64_t size) { return ones({size}, {.device = device}); };
  if (mode == "compute" || mode == "shared") compute(group, device);
  if (mode == "differentiate") differentiate(group, device);
  if (mode == "replay") replay(group, device);
  if (mode == "stream") on_stream(group, device);
  if (mode == "generate") generate(group, device);
  if (mode == "sum" || mode == "mixed") {
    for (int i = 0; i < 4; i++) {
      std::printf("%g\n", group.all_reduce(ones_there(2)).to_vector<float>()[1]);
      std::this_thread::sleep_for(milliseconds(100));  // errors that the library finds later
    }
  }
  if (mode == "die" || mode == "die in a graph") {
    std::signal(SIGTERM, SIG_IGN);  // which the launcher sends once a rank has died
    Tensor y = group.all_reduce(ones_there(100));
    Var x(y, false);
    const Graph graph = Graph::capture(device, [&] { y = group.all_reduce(x); });
    group.barrier();
    if (rank == 1) raise(SIGKILL);
    for (;;) {
      if (mode == "die")
        group.all_reduce(ones_there(100));
      else
        graph.launch();
    }
  }
  if (mode == "hang" || mode == "hang in a graph") {
    Tensor y = group.all_reduce(ones_there(2));
    Var x(y, false);
    const Graph graph = Graph::capture(device, [&] { y = group.all_reduce(x); });
    if (rank == 1) std::this_thread::sleep_for(seconds(15));
    if (mode == "hang")
      group.all_reduce(ones_there(3));
    else
      graph.launch();
    device.synchronize();
  }
  if (mode == "differ") {
    group.all_reduce(ones_there(2));
    if (rank == 1)
      group.all_gather(ones_there(8));
    else
      group.all_reduce(ones_there(3));
    device.synchronize();
    std::this_thread::sleep_for(seconds(2));
    group.all_reduce(ones_there(2));
  }
  if (mode == "leave") {
    group.all_reduce(ones_there(2));
    if (rank != 1) group.all_reduce(ones_there(3));
  }
  return 0;
}

int run_rank(const std::string& mode) {
  int status = 0;
  try {
    status = run(mode);
  } catch (const Error& error) {
    std::printf("error: %s\n", error.what());
  }
  std::fflush(stdout);
  return status;
}

// ---- the cases

class RocmCollectives : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (!test::find_device("rocm:0", &why)) GTEST_SKIP() << why;
    if (!std::getenv("AMDEMU_DIR"))
      GTEST_SKIP() << "the fake RCCL needs cards whose memory it can read: tools/amdemu";
    char name[] = "/tmp/wick_collectives_XXXXXX";
    folder_ = mkdtemp(name);
    fs::permissions(folder_, fs::perms(0755));
    use("librccl.so.1");
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }
  void use(const std::string& file) {
    fs::remove(folder_ + "/librccl.so.1");
    fs::copy_file(WICK_FAKE_LIBRARIES "/" + file, folder_ + "/librccl.so.1");
  }
  /// The lines of each rank of a mode, with these variables; those of the log in log().
  std::vector<std::string> run(int count, const std::string& mode,
                               std::map<std::string, std::string> variables = {}) {
    fs::remove(folder_ + "/log");
    const char* path = std::getenv("LD_LIBRARY_PATH");
    variables.insert({"WICK_DIST", "auto"});
    variables.insert({"FAKE_LIBRARY", ""});
    variables.insert({"FAKE_RCCL_VERSION", "22105"});
    variables.insert({"WICK_DIST_TIMEOUT", "60"});
    variables["WICK_LOG"] = "info";
    variables["FAKE_LIBRARY_LOG"] = folder_ + "/log";
    variables["AMDEMU_DEVICES"] = std::to_string(count);
    variables["LD_LIBRARY_PATH"] = folder_ + ":" + (path ? path : "");
    std::vector<std::string> command = {"/usr/bin/env"};
    for (const auto& [name, value] : variables) command.push_back(name + "=" + value);
    command.insert(command.end(), {fs::read_symlink("/proc/self/exe").string(), "--rank", mode});
    std::vector<std::string> texts(static_cast<size_t>(count));
    std::mutex mutex;
    try {
      launch(command, {.processes = count, .on_line = [&](int rank, bool, std::string_view line) {
                         const std::lock_guard lock(mutex);
                         texts[size_t(rank)] += std::string(line) + "\n";
                       }});
    } catch (const Error& error) {
      failure_ = error.what();
    }
    return texts;
  }
  /// The number of lines of the fake's log that have the part.
  int logged(const std::string& part) const {
    std::ifstream file(folder_ + "/log");
    int count = 0;
    for (std::string line; std::getline(file, line);) count += has(line, part);
    return count;
  }
  static bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
  std::string folder_, failure_;
};

TEST_F(RocmCollectives, GiveTheResultsOfTcp) {
  for (const int count : {2, 4}) {
    const std::vector<std::string> texts = run(count, "compute");
    for (int rank = 0; rank < count; rank++) {
      const std::string& text = texts[size_t(rank)];
      EXPECT_TRUE(has(text, "dist: tensors on cards go by RCCL 2.21.5")) << text;
      EXPECT_TRUE(has(text, " equal, 0 wrong")) << text;
      const std::string who = "rank " + std::to_string(rank) + " device " + std::to_string(rank);
      EXPECT_EQ(logged(who + " joins " + std::to_string(count)), 1);
      // bf16 and f32 as they are; op 4 is the mean.
      EXPECT_GT(logged(who + " all_reduce 1200 type 9"), 0);
      EXPECT_GT(logged(who + " all_reduce 1200 type 7 null op 4"), 0);
      EXPECT_EQ(logged(who + " broadcast 576 type 1 null root 1"), 1);
      EXPECT_EQ(logged("rank " + std::to_string(rank) + " leaves"), 1);
    }
    EXPECT_EQ(logged("aborts"), 0);
  }
}

TEST_F(RocmCollectives, HaveTheGradientsOfTcp) {
  for (const std::string& text : run(2, "differentiate"))
    EXPECT_TRUE(has(text, "14 equal, 0 wrong")) << text;
  EXPECT_GT(logged("all_reduce"), 0);
}

TEST_F(RocmCollectives, AreReplayedByGraphs) {
  for (const int count : {2, 4})
    for (const std::string& text : run(count, "replay"))
      EXPECT_TRUE(has(text, "3 equal, 0 wrong")) << text;
  // Recorded once on each rank, in the last run: all_reduce, reduce_scatter, all_gather, messages to all, broadcast.
  EXPECT_EQ(logged("reduce_scatter 8 type 7 stream captured"), 4);
  EXPECT_EQ(logged("broadcast 128 type 1 stream captured root 3"), 4);
}

TEST_F(RocmCollectives, RunOnTheCurrentStream) {
  for (const std::string& text : run(2, "stream"))
    EXPECT_TRUE(has(text, "1 equal, 0 wrong")) << text;
  EXPECT_EQ(logged("all_reduce 64 type 7 null"), 2);
  EXPECT_EQ(logged("all_reduce 64 type 7 stream"), 2);
}

TEST_F(RocmCollectives, RanksThatShareACardGoThroughTheHost) {
  for (const std::string& text : run(2, "shared")) {
    EXPECT_TRUE(has(
        text,
        "dist: tensors on cards go through host memory: ranks 0 and 1 share the card 0000:03:00.0"))
        << text;
    EXPECT_TRUE(has(text, " equal, 0 wrong")) << text;
  }
  EXPECT_EQ(logged("rank"), 0);
}

TEST_F(RocmCollectives, TheVariableChooses) {
  for (const std::string& text : run(2, "sum", {{"WICK_DIST", "tcp"}}))
    EXPECT_TRUE(has(text, "2\n2\n2\n2\n") && !has(text, "RCCL")) << text;
  EXPECT_EQ(logged("rank"), 0);
  for (const std::string& text : run(2, "sum", {{"WICK_DIST", "nccl"}}))
    EXPECT_TRUE(has(text, "2\n2\n2\n2\n")) << text;
  EXPECT_EQ(logged("all_reduce"), 8);
  fs::remove(folder_ + "/librccl.so.1");
  for (const std::string& text : run(2, "sum", {{"WICK_DIST", "nccl"}}))
    EXPECT_TRUE(
        has(text, "error: dist: WICK_DIST is nccl, but rank 0: RCCL: librccl.so.1 not found"))
        << text;
  for (const std::string& text : run(2, "sum"))
    EXPECT_TRUE(has(text, "go through host memory: rank 0: RCCL: librccl.so.1 not found") &&
                has(text, "2\n2\n2\n2\n"))
        << text;
}

TEST_F(RocmCollectives, ALibraryThatCannotServeIsNamed) {
  for (const std::string& text : run(2, "sum", {{"FAKE_RCCL_VERSION", "2804"}}))
    EXPECT_TRUE(has(text, "librccl.so.1 is older than version 2.10") && has(text, "2\n2\n2\n2\n"))
        << text;
  use("incomplete/librccl.so.1");
  for (const std::string& text : run(2, "sum"))
    EXPECT_TRUE(has(text, "librccl.so.1 lacks ncclCommAbort") && has(text, "2\n2\n2\n2\n")) << text;
}

TEST_F(RocmCollectives, NameARankWhoseTensorIsElsewhere) {
  for (const std::string& text : run(2, "mixed"))
    EXPECT_TRUE(has(text, "error: all_reduce: rank ") &&
                has(text, "calls all_reduce f32[2] sum on the ranks' cards"))
        << text;
}

TEST_F(RocmCollectives, NameARankThatDies) {
  for (const char* mode : {"die", "die in a graph"}) {
    const auto begin = std::chrono::steady_clock::now();
    const std::vector<std::string> texts = run(4, mode);
    for (const size_t rank : {0, 2, 3})
      EXPECT_TRUE(has(texts[rank], ": rank 1 has died\n")) << mode << ": " << texts[rank];
    EXPECT_EQ(logged("aborts"), 3);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(30));
  }
}

TEST_F(RocmCollectives, NameARankThatHangs) {
  std::vector<std::string> texts = run(3, "hang", {{"WICK_DIST_TIMEOUT", "10"}});
  const std::string text =
      "error: all_reduce: rank 1 did not come to all_reduce f32[3] sum within 10 s "
      "(WICK_DIST_TIMEOUT)";
  for (const size_t rank : {0, 2}) EXPECT_TRUE(has(texts[rank], text)) << texts[rank];
  EXPECT_TRUE(has(texts[1], "did not come to all_reduce f32[3] sum")) << texts[1];
  texts = run(3, "hang in a graph", {{"WICK_DIST_TIMEOUT", "10"}});
  for (const size_t rank : {0, 2})
    EXPECT_TRUE(has(texts[rank], "rank 1 did not come to launch of a recorded graph within 10 s"))
        << texts[rank];
}

TEST_F(RocmCollectives, NameTheCallsOfRanksThatDiffer) {
  for (const std::string& text : run(2, "differ"))
    EXPECT_TRUE(has(text, "rank 1 calls all_gather f32[8] dim 0") ||
                has(text, "rank 0 calls all_reduce f32[3] sum"))
        << text;
}

TEST_F(RocmCollectives, AreInTheCapturedStepOfAModelThatRanksShare) {
  const std::vector<std::string> texts = run(2, "generate");
  EXPECT_TRUE(has(texts[0], "equal tokens, 6 steps by a graph")) << texts[0] << texts[1];
  // Of ids and positions, of the embedding and two layers' two parts, of the logits.
  EXPECT_EQ(logged("broadcast 8 type 1 stream captured root 0"), 2 * 2) << texts[0];
  EXPECT_EQ(logged("all_reduce 16 type 7 stream captured"), 2 * 5);
  EXPECT_EQ(logged("stream captured"), 2 * 8);
  EXPECT_EQ(failure_, "");
}

TEST_F(RocmCollectives, NameARankThatLeaves) {
  const std::vector<std::string> texts = run(3, "leave");
  for (const size_t rank : {0, 2})
    EXPECT_TRUE(
        has(texts[rank], "rank 1 has left the group, and does not call all_reduce f32[3] sum"))
        << texts[rank];
}

TEST_F(RocmCollectives, ErrorsOfTheLibraryEndTheGroup) {
  const auto expect_all = [&](const char* fault, const std::string& part) {
    for (const std::string& text : run(2, "sum", {{"FAKE_LIBRARY", fault}}))
      EXPECT_TRUE(has(text, "error: all_reduce: ") && has(text, part)) << fault << ": " << text;
  };
  expect_all("call", ": ncclAllReduce: unhandled cuda error");
  expect_all("asynchronous",
             "rank 1: ncclCommGetAsyncError: remote process exited or there was a network error");
  expect_all("join",
             "rank 1: ncclCommInitRank: unhandled cuda error; WICK_DIST=tcp does without it");
}

}  // namespace
}  // namespace wick

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--rank") return wick::run_rank(argv[2]);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
