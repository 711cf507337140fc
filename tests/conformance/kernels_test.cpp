// Mode kernels on a backend whose second kernel of an op, which the first one hides, is wrong.
#include "kernels.h"

#include <gtest/gtest.h>

#include "core/device_state.h"
#include "wick/abi/backend.h"
#include "wick/core/backend.h"
#include "wick/io/json.h"

namespace wick::conformance {
namespace {

const Backend* cpu_table = nullptr;
std::vector<Kernel>
    neg_kernels;  // of f32: the CPU's, and copies of it that are wrong or pick calls

Status run_cpu(const Kernel* kernel, const Call* call) {
  const auto* cpu = static_cast<const Kernel*>(kernel->data);
  return cpu->run(cpu, call);
}
Status run_wrong(const Kernel* kernel, const Call* call) {
  const Status status = run_cpu(kernel, call);
  if (call->out[0].numel() > 0 && call->out[0].as<float>()[0] == call->out[0].as<float>()[0])
    call->out[0].as<float>()[0] += 1;
  return status;
}
const char* accept_contiguous(const Kernel*, const Call* call, const DeviceInfo*) {
  return call->in[0].contiguous() && call->out[0].contiguous() ? nullptr : "x is not contiguous";
}
const char* accept_nothing(const Kernel*, const Call*, const DeviceInfo*) {
  return "the planets are wrong";
}
Status run_declining(const Kernel*, const Call*) { return {StatusCode::kDeclined, "not today"}; }

int32 find_kernels(int32 device, const KernelQuery* query, const Kernel** kernels) {
  const int32 count = cpu_table->find_kernels(device, query, kernels);
  if (std::string_view(query->op->name) != "neg" || query->dtypes[0] != DType::kF32) return count;
  const Kernel* cpu = *kernels;
  neg_kernels = {{.name = "first", .accepts = nullptr, .run = run_cpu, .data = cpu},
                 {.name = "wrong", .accepts = accept_contiguous, .run = run_wrong, .data = cpu},
                 {.name = "right", .accepts = nullptr, .run = run_cpu, .data = cpu},
                 {.name = "declining", .accepts = nullptr, .run = run_declining, .data = cpu},
                 {.name = "aloof", .accepts = accept_nothing, .run = run_cpu, .data = cpu}};
  for (Kernel& kernel : neg_kernels) kernel.flags = cpu->flags;
  *kernels = neg_kernels.data();
  return int32(neg_kernels.size());
}

struct Counts {
  int64_t passed = 0, failed = 0;
  std::string reason;
};

TEST(Kernels, EachThatAcceptsACaseIsTestedAndTheOthersAreListed) {
  cpu_table = &Device::cpu().state().backend;
  static Backend table = *cpu_table;
  table.name = "flawed";
  table.find_kernels = find_kernels;
  const Device device = Device::at({register_backend(&table), 0});
  std::vector<Row> rows = all_rows();
  std::erase_if(rows, [](const Row& row) { return row.op != "neg"; });
  ASSERT_EQ(rows.size(), 1u);
  Options options;
  options.dtypes = {"f32", "f64"};
  options.max_elements = 100;

  testing::internal::CaptureStdout();
  EXPECT_FALSE(test_kernels(rows, device, options));
  const std::string output = testing::internal::GetCapturedStdout();

  std::map<std::string, Counts> kernels;
  std::set<std::string> blamed;
  bool ended = false;
  for (size_t at = 0, end; (end = output.find('\n', at)) != std::string::npos; at = end + 1) {
    const Settings line = parse_json(output.substr(at, end - at), "line");
    if (const Settings* kernel = line.group("kernel")) {
      if (kernel->text("op") != "neg") continue;
      Counts& counts = kernels[kernel->text("name")];
      counts.passed += kernel->integer("passed");
      counts.failed += kernel->integer("failed");
      counts.reason = kernel->text("reason");
    }
    if (const Settings* failure = line.group("failure"))
      for (const std::string& name : failure->texts("kernels")) blamed.insert(name);
    ended = ended || line.has("end");
  }
  EXPECT_TRUE(ended);
  EXPECT_GE(kernels.at("first").passed, 5);
  EXPECT_EQ(kernels.at("first").failed, 0);
  EXPECT_GE(kernels.at("wrong").failed, 1);
  EXPECT_EQ(kernels.at("wrong").passed, 0);
  EXPECT_EQ(blamed, std::set<std::string>{"wrong"});
  EXPECT_EQ(kernels.at("right").passed, 1);  // one case is enough
  EXPECT_EQ(kernels.at("right").failed, 0);
  EXPECT_EQ(kernels.at("declining").passed + kernels.at("declining").failed, 0);
  EXPECT_EQ(kernels.at("aloof").passed + kernels.at("aloof").failed, 0);
  EXPECT_EQ(kernels.at("aloof").reason, "the planets are wrong");
  EXPECT_GT(kernels.size(), 5u);  // those of other dtypes too
}

}  // namespace
}  // namespace wick::conformance
