// What cards lack so far: the list may only shrink.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wick/abi/op.h"
#include "wick/core/device.h"

namespace wick::test {

/// Ops that the CPU has kernels of and cards have not. rocm, cuda and the emulator are one source,
/// so it is one list. Names stand between spaces.
struct LackingOps {
  const char* dtypes;  // without a kernel; "": every one
  const char* ops;
};
inline constexpr LackingOps kLackingOps[] = {
};

/// Rows of the device surface that lack something else than a kernel of an op, and what their error
/// says.
struct LackingRow {
  const char* row;
  const char* error;
};
inline constexpr LackingRow kLackingRows[] = {
    {"to_dtype, every pair", "cast: no bool kernel"},  // to f4
    {"inplace_op1", "no kernel on"},
    {"inplace_op2", "no kernel on"},
    {"inplace_op3", "no kernel on"},
    {"compile", "compiled for the CPU alone so far"},
    {"formula", "compiled for the CPU alone so far"},
};

/// Whether a call of the op with operands of these dtypes, inputs or outputs, is listed.
bool lacks(std::string_view op, std::span<const DType> operands,
           std::span<const LackingOps> list = kLackingOps);

/// The op of which an Unsupported error says that a card has no kernel, if it is listed. "": it is
/// about something else, the CPU, or an op that cards had.
std::string lacking_op(const Error& error, const Device& device,
                       std::span<const LackingOps> list = kLackingOps);

/// The entry of a row of the device surface; null if it has none.
const LackingRow* lacking_row(std::string_view row);

/// What is wrong with the list: what is listed and works, what is missing and not listed, and what
/// is no op. has_*(op, dtype): whether there is a kernel.
using HasKernel = std::function<bool(const Op&, DType)>;
std::vector<std::string> complaints(std::span<const LackingOps> list, const HasKernel& cpu_has,
                                    const HasKernel& card_has);

}  // namespace wick::test
