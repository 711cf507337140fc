// Kernels that a program compiles or loads. bind_ops adds elementwise_kernel and compile_kernel.
#include <nanobind/stl/filesystem.h>

#include <cstring>
#include <list>

#include "bind.h"
#include "casters.h"
#include "wick/core/user_kernel.h"

namespace wick::python {
namespace {

/// One to three ints: 256, (16, 16).
Dim3 dim3_of(const char* argument, const Dims& sizes) {
  check(1 <= sizes.size() && sizes.size() <= 3, ErrorCode::kInvalidArgument, "launch", argument,
        ": expected one to three sizes, got ", sizes.size());
  return {sizes[0], sizes.size() > 1 ? sizes[1] : 1, sizes.size() > 2 ? sizes[2] : 1};
}

/// The arguments of a launch in the form that C++ takes, and the values that they point to.
class Arguments {
 public:
  explicit Arguments(const nb::args& given) {
    for (const nb::handle one : given) add(one);
  }
  const std::vector<KernelArgument>& all() const { return all_; }

 private:
  /// A tensor; None, a null pointer; an int of 64 bits, a float of 32, a bool; or the bytes of a
  /// scalar that has a buffer, as NumPy's and ctypes' have.
  void add(nb::handle given) {
    PyObject* const object = given.ptr();
    if (given.is_none()) {
      all_.emplace_back(nullptr);
    } else if (nb::isinstance<VarObject>(given)) {
      vars_.push_back(nb::cast<Var>(given));
      all_.emplace_back(vars_.back());
    } else if (nb::isinstance<TensorObject>(given)) {
      tensors_.push_back(nb::cast<Tensor>(given));
      all_.emplace_back(tensors_.back());
    } else if (PyBool_Check(object)) {
      add_value(object == Py_True);
    } else if (PyLong_CheckExact(object)) {
      add_value(nb::cast<int64_t>(given));
    } else if (PyFloat_CheckExact(object)) {
      add_value(float(PyFloat_AS_DOUBLE(object)));
    } else {
      add_buffer(given);
    }
  }

  template <class T>
  void add_value(const T& value) {
    add_bytes(&value, sizeof value);
  }
  void add_bytes(const void* data, size_t size) {
    values_.emplace_back(size);
    std::memcpy(values_.back().data(), data, size);
    all_.push_back(KernelArgument::of_bytes(values_.back()));
  }
  void add_buffer(nb::handle given) {
    Py_buffer view;
    const bool has_buffer = PyObject_GetBuffer(given.ptr(), &view, PyBUF_FULL_RO) == 0;
    if (!has_buffer) PyErr_Clear();
    const bool is_scalar = has_buffer && view.ndim == 0;
    if (is_scalar) add_bytes(view.buf, size_t(view.len));
    if (has_buffer) PyBuffer_Release(&view);
    if (!is_scalar)
      throw nb::type_error(("launch: argument " + std::to_string(all_.size()) +
                            ": expected a tensor, None, a number, or a scalar of NumPy or ctypes, "
                            "got " +
                            nb::type_name(given.type()).c_str())
                               .c_str());
  }

  // Lists, because the arguments point into them.
  std::list<Tensor> tensors_;
  std::list<Var> vars_;
  std::list<std::vector<std::byte>> values_;
  std::vector<KernelArgument> all_;
};

void launch(const KernelFunction& kernel, const Dims& grid, const Dims& block,
            const nb::args& given, int64_t shared_bytes, const std::optional<Stream>& stream) {
  const Arguments arguments(given);
  const ReleasedGil others_run;
  kernel.launch_list(dim3_of("grid", grid), dim3_of("block", block), shared_bytes, arguments.all(),
                     stream ? &*stream : nullptr);
}

constexpr const char* kLaunchDoc =
    "Launches the kernel on a grid of blocks of threads, each one to three ints. Arguments are "
    "tensors, None for a null pointer, and numbers, which must have the size of the kernel's "
    "parameter: an int is a long long, a float a float, and scalars of NumPy and ctypes are what "
    "they say, np.int32(n). The kernel writes into tensors that nothing else has read yet, such as "
    "empty_like gives, or into Vars. Returns without waiting, in order with other ops; on a stream "
    "of its own, in the order that events give.";

}  // namespace

void bind_kernels(nb::module_& m) {
  nb::class_<FormulaKernel>(m, "ElementwiseKernel", "An op compiled from a formula.")
      .def(
          "__call__",
          [](const FormulaKernel& kernel, const nb::args& inputs) {
            const auto tensors = try_cast<std::vector<Tensor>>(inputs, 0, nullptr);
            if (!tensors) throw nb::next_overload();
            const ReleasedGil others_run;
            return kernel.run(*tensors);
          },
          nb::arg("inputs"), "The formula of these tensors, which broadcast and promote.");

  nb::class_<KernelFunction>(m, "KernelFunction", "A kernel of a KernelModule.")
      .def_prop_ro("name", [](const KernelFunction& kernel) { return kernel.name(); })
      .def_prop_ro("device", [](const KernelFunction& kernel) { return kernel.device(); })
      .def("launch", &launch, nb::arg("grid"), nb::arg("block"), nb::arg("arguments"),
           nb::arg("shared_bytes") = 0, nb::arg("stream") = nb::none(), kLaunchDoc);

  nb::class_<KernelModule>(m, "KernelModule", "Machine code for a device: a file's, or bytes.")
      .def_static(
          "load",
          [](const DeviceArgument& device, const std::filesystem::path& path) {
            return KernelModule::load(device, path.string());
          },
          nb::arg("device"), nb::arg("path"), WithoutGil(),
          "Loads .hsaco or .fatbin on ROCm; .cubin, .fatbin or PTX on CUDA.")
      .def_static(
          "from_bytes",
          [](const DeviceArgument& device, const nb::bytes& bytes, const std::string& name) {
            const std::span code(static_cast<const std::byte*>(bytes.data()), bytes.size());
            const ReleasedGil others_run;
            return KernelModule::from_bytes(device, code, name);
          },
          nb::arg("device"), nb::arg("bytes"), nb::arg("name") = "code",
          "Loads the contents of such a file. The name is for errors.")
      .def_static(
          "compile",
          [](const DeviceArgument& device, const std::string& name, const std::string& source,
             const std::vector<std::string>& options) {
            return KernelModule::compile(device, name, source, options);
          },
          nb::arg("device"), nb::arg("name"), nb::arg("source"),
          nb::arg("options") = std::vector<std::string>(), WithoutGil(),
          "Compiles source, as compile_kernel, with options of the device's compiler.")
      .def_prop_ro("device", [](const KernelModule& module) { return module.device(); })
      .def("function", &KernelModule::function, nb::arg("name"), WithoutGil(),
           "A kernel by its name in the code.");

  nb::class_<CompiledKernel>(m, "CompiledKernel", "A kernel compiled from source.")
      .def(
          "launch",
          [](const CompiledKernel& kernel, const std::vector<Tensor>& inputs,
             const std::vector<Tensor>& outputs) { kernel.launch(inputs, outputs); },
          nb::arg("inputs"), nb::arg("outputs"), WithoutGil(),
          "Runs a kernel of the CPU, which writes into the outputs.")
      .def(
          "launch",
          [](const CompiledKernel& kernel, const Dims& grid, const Dims& block,
             const nb::args& arguments, int64_t shared_bytes, const std::optional<Stream>& stream) {
            launch(kernel.function(), grid, block, arguments, shared_bytes, stream);
          },
          nb::arg("grid"), nb::arg("block"), nb::arg("arguments"), nb::arg("shared_bytes") = 0,
          nb::arg("stream") = nb::none(), kLaunchDoc);
}

}  // namespace wick::python
