#include "lacking.h"

#include <algorithm>
#include <iterator>
#include <sstream>

#include "wick/core/backend.h"

namespace wick::test {
namespace {

std::vector<std::string> words(const char* text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

bool contains(const std::vector<std::string>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

}  // namespace

bool lacks(std::string_view op, std::span<const DType> operands, std::span<const LackingOps> list) {
  return std::any_of(list.begin(), list.end(), [&](const LackingOps& entry) {
    if (!contains(words(entry.ops), op)) return false;
    const std::vector<std::string> dtypes = words(entry.dtypes);
    return dtypes.empty() || std::any_of(operands.begin(), operands.end(), [&](DType dtype) {
             return contains(dtypes, dtype_name(dtype));
           });
  });
}

std::string lacking_op(const Error& error, const Device& device, std::span<const LackingOps> list) {
  // "trunc: no f32 kernel on emu:32, ...", or of an op that calls it, "fix: no f32 kernel of trunc on
  // emu:32, ..."
  const std::string text = error.what();
  if (error.code() != ErrorCode::kUnsupported || device.is_cpu()) return "";
  for (const Op* op : ops_of(Device::cpu())) {
    for (int d = 0; d < kNumDTypes; d++) {
      const DType dtype = DType(d);
      const std::string name = op->name, no = std::string(": no ") + dtype_name(dtype) + " kernel",
                        on = " on " + to_string(device) + ",";
      if (text.starts_with(name + no + on) || text.find(no + " of " + name + on) != text.npos)
        return lacks(name, {&dtype, 1}, list) ? name : "";
    }
  }
  return "";
}

const LackingRow* lacking_row(std::string_view row) {
  const auto found = std::find_if(std::begin(kLackingRows), std::end(kLackingRows),
                                  [&](const LackingRow& entry) { return entry.row == row; });
  return found == std::end(kLackingRows) ? nullptr : found;
}

std::vector<std::string> complaints(std::span<const LackingOps> list, const HasKernel& cpu_has,
                                    const HasKernel& card_has) {
  std::vector<std::string> result;
  for (const Op* op : ops_of(Device::cpu())) {
    std::string works, missing;
    for (int d = 0; d < kNumDTypes; d++) {
      const DType dtype = DType(d);
      const bool listed = lacks(op->name, {&dtype, 1}, list), is_there = card_has(*op, dtype);
      if (listed && is_there) works += std::string(" ") + dtype_name(dtype);
      if (!listed && !is_there && cpu_has(*op, dtype))
        missing += std::string(" ") + dtype_name(dtype);
    }
    if (!works.empty())
      result.push_back(std::string(op->name) + " is listed and has kernels of" + works +
                       ": take it off the list");
    if (!missing.empty())
      result.push_back(std::string(op->name) + " is not listed and has no kernels of" + missing);
  }
  const std::vector<const Op*> ops = ops_of(Device::cpu());
  for (const LackingOps& entry : list) {
    for (const std::string& name : words(entry.ops)) {
      if (std::none_of(ops.begin(), ops.end(), [&](const Op* op) { return op->name == name; }))
        result.push_back(name + " is listed and no op");
    }
  }
  return result;
}

}  // namespace wick::test
