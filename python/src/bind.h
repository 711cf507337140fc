// The parts of the module, each bound by the file of its name.
#pragma once
#include <nanobind/nanobind.h>

namespace wick::python {

/// Watches forks, so that a child raises an error and does not wait for threads that it lacks.
void watch_forks();
void bind_errors(nanobind::module_& m);
void bind_dtype(nanobind::module_& m);
void bind_device(nanobind::module_& m);
/// Tensor and Var without the ops, which bind_ops adds.
void bind_tensor(nanobind::module_& m);
void bind_var(nanobind::module_& m);
void bind_operators(nanobind::module_& m);
void bind_interop(nanobind::module_& m);
/// Members that users of PyTorch and NumPy expect beside the ops: x.T, x.size(), x.half(), x.cpu().
void bind_spellings(nanobind::module_& m);
/// PyTorch's functions that are made of several ops: tensor, manual_seed, allclose, std.
void bind_pytorch(nanobind::module_& m);
void bind_function(nanobind::module_& m);
void bind_streams(nanobind::module_& m);
void bind_kernels(nanobind::module_& m);
void bind_files(nanobind::module_& m);
void bind_quantized(nanobind::module_& m);
void bind_optim(nanobind::module_& m);
/// Groups of processes.
void bind_dist(nanobind::module_& m);
void bind_language(nanobind::module_& m);
void bind_images(nanobind::module_& m);
/// max, min and median along a `dim`, which comes before bind_ops: overloads are tried in order.
void bind_extremes(nanobind::module_& m);
/// Generated from docs/reference/ops.json by generate.py.
void bind_ops(nanobind::module_& m);

}  // namespace wick::python
