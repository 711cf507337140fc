#include "witness.h"

#include <utility>

#include "core/device_state.h"
#include "wick/core/backend.h"
#include "wick/core/numerics.h"

namespace wick::conformance {
namespace {

Witness* the_witness = nullptr;

std::string dtypes_text(const DType* dtypes, int num_in, int num_out) {
  std::string text;
  for (int i = 0; i < num_in + num_out; i++)
    text += std::string(i == num_in ? ":" : i > 0 ? "," : "") + dtype_name(dtypes[i]);
  return text;
}

/// Whether the settings in force forbid a kernel, as the core reads its flags.
bool is_forbidden(const Kernel& kernel) {
  return ((kernel.flags & kKernelUnordered) && deterministic()) ||
         ((kernel.flags & kKernelRoundsInputs) && !round_activations()) ||
         ((kernel.flags & kKernelRoundsF32) && matmul_precision() == MatmulPrecision::kF32);
}

const char* reason_of(const Kernel& kernel, const Call* call, const DeviceInfo* info) {
  return kernel.accepts ? kernel.accepts(&kernel, call, info) : nullptr;
}

const WitnessedKernel& witnessed(const Kernel* kernel) {
  return *static_cast<const WitnessedKernel*>(kernel->data);
}

}  // namespace

Witness::Witness(const Device& device)
    : inner_(device), backend_(device.state().backend), table_(backend_) {
  check(!the_witness, ErrorCode::kInvalidArgument, "witness", "the process has one");
  name_ = "tested_" + std::string(backend_.name);
  table_.name = name_.c_str();
  table_.find_kernels = find_kernels;
  the_witness = this;
  device_ = Device::at({register_backend(&table_), device.ordinal()});
}

Witness::List& Witness::list_of(const KernelQuery& query) {
  const std::string dtypes = dtypes_text(query.dtypes, query.num_in, query.num_out);
  const auto [at, is_new] = lists_.try_emplace(std::string(query.op->name) + " " + dtypes);
  List& list = at->second;
  if (!is_new) return list;
  const Kernel* found = nullptr;
  const int32 count = backend_.find_kernels(inner_.ordinal(), &query, &found);
  for (int32 i = 0; i < count; i++)
    list.kernels.push_back({query.op->name, dtypes, found[i].name, &found[i], &list.rivals});
  for (WitnessedKernel& kernel : list.kernels) {
    list.rivals.push_back(&kernel);
    list.table.push_back(
        {kernel.kernel->name, accepts, scratch_bytes, run, &kernel, kernel.kernel->flags});
  }
  return list;
}

int32 Witness::find_kernels(int32, const KernelQuery* query, const Kernel** kernels) {
  const std::lock_guard lock(the_witness->mutex_);
  const List& list = the_witness->list_of(*query);
  *kernels = list.table.data();
  return int32(list.table.size());
}

const char* Witness::accepts(const Kernel* kernel, const Call* call, const DeviceInfo* info) {
  const WitnessedKernel& asked = witnessed(kernel);
  const WitnessedKernel* const preferred = the_witness->preferred_;
  if (preferred && preferred != &asked && preferred->rivals == asked.rivals &&
      !is_forbidden(*preferred->kernel) && !reason_of(*preferred->kernel, call, info))
    return "another kernel is tested";
  return reason_of(*asked.kernel, call, info);
}

int64 Witness::scratch_bytes(const Kernel* kernel, const Call* call, const DeviceInfo* info) {
  const Kernel& inner = *witnessed(kernel).kernel;
  return inner.scratch_bytes ? inner.scratch_bytes(&inner, call, info) : 0;
}

Status Witness::run(const Kernel* kernel, const Call* call) {
  Witness& witness = *the_witness;
  auto& launched = const_cast<WitnessedKernel&>(witnessed(kernel));
  const DeviceInfo& info = witness.inner_.info();
  // Before the launch: a later kernel may read the operands that this one writes over.
  std::vector<WitnessedKernel*> others;
  for (WitnessedKernel* rival : *launched.rivals) {
    if (rival == &launched || rival->is_proven || is_forbidden(*rival->kernel)) continue;
    rival->reason = reason_of(*rival->kernel, call, &info);
    if (!rival->reason) others.push_back(rival);
  }
  const Status status = launched.kernel->run(launched.kernel, call);
  const std::lock_guard lock(witness.mutex_);
  if (status.code == StatusCode::kDeclined) {
    witness.declined_ = witness.declined_ || &launched == witness.preferred_;
    return status;
  }
  witness.launched_.insert(&launched);
  witness.passed_over_.insert(others.begin(), others.end());
  return status;
}

std::vector<WitnessedKernel*> Witness::kernels() {
  for (const Op* op : ops_of(inner_)) {
    const bool has_any = std::string_view(op->operands).find('*') != std::string_view::npos;
    for (int d = 0; d < kNumDTypes; d++) {
      for (int any = has_any ? 0 : d; any < (has_any ? kNumDTypes : d + 1); any++) {
        const OperandDTypes dtypes = operand_dtypes(*op, DType(d), DType(any));
        const std::lock_guard lock(mutex_);
        list_of({op, dtypes.all, dtypes.num_in, dtypes.num_out});
      }
    }
  }
  const std::lock_guard lock(mutex_);
  std::vector<WitnessedKernel*> all;
  for (auto& [key, list] : lists_)
    for (WitnessedKernel& kernel : list.kernels) all.push_back(&kernel);
  return all;
}

std::set<WitnessedKernel*> Witness::take_launched() { return std::exchange(launched_, {}); }
std::set<WitnessedKernel*> Witness::take_passed_over() { return std::exchange(passed_over_, {}); }

void Witness::prefer(const WitnessedKernel* kernel) {
  preferred_ = kernel;
  declined_ = false;
}

}  // namespace wick::conformance
