// A model's named parameters, initialized at random or loaded from a file's tensors.
#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "wick/core/tensor_source.h"
#include "wick/core/var.h"
#include "wick/nn/ranks.h"

namespace wick {

using NamedVars = std::map<std::string, Var>;

/// Initial distribution of a parameter: normal with this mean and standard deviation.
struct Initial {
  double mean = 0;
  double deviation = 0;
};

/// A parameter of a layer: a Var if it is trained, else a Tensor, which may be quantized or view a
/// mapped file. Copies share the value.
class WICK_API Parameter {
 public:
  Parameter() = default;
  explicit Parameter(Tensor frozen) : frozen_(std::move(frozen)) {}
  explicit Parameter(Var trained) : trained_(std::move(trained)) {}

  bool defined() const { return trained_.defined() || bool(frozen_); }
  /// The current value; an empty Tensor() for an empty Parameter().
  const Tensor& tensor() const { return trained_.defined() ? trained_.tensor() : frozen_; }
  operator const Tensor&() const { return tensor(); }  // NOLINT: ops accept a Parameter
  const Shape& shape() const { return tensor().shape(); }
  /// The accumulated gradient; empty if the parameter is not trained or before the first backward.
  Tensor grad() const { return trained_.defined() ? trained_.grad() : Tensor(); }

 private:
  Tensor frozen_;
  Var trained_;
};

struct ParameterOptions {
  DType dtype = DType::kF32;  // dtype of the computation
  Device device = Device::cpu();
  bool trainable = false;  // whether backward collects gradients
  /// The device of each layer of a Decoder, in order; empty: all are on `device`. The embedding is
  /// beside the first layer, the final norm and the output layer beside the last one. Not for
  /// parameters that are trained.
  std::vector<Device> layer_devices = {};
  /// So many first layers of a Decoder have their experts on the CPU; the routers stay where the
  /// layers are. Not trainable.
  int64_t cpu_experts = 0;
  /// The processes that share a Decoder's weights; nullptr: this one has them all. Not trainable.
  std::shared_ptr<const Ranks> ranks = {};
};

/// The part of a parameter that a rank holds: `count` indices of a dim from `begin` on.
struct ParameterPart {
  int dim = 0;
  int64_t begin = 0;
  int64_t count = -1;  // -1: the whole parameter

  bool is_whole() const { return count < 0; }
};

/// The parameters of a model; layers take theirs from here when constructed.
class WICK_API Parameters {
 public:
  /// Initializes parameters at random on the device, under its seed.
  explicit Parameters(const ParameterOptions& options) : options_(options) {}
  /// Loads parameters.
  Parameters(TensorSource source, const ParameterOptions& options)
      : options_(options), source_(std::move(source)) {}
  /// Allocates nothing: parameters are empty, and only their names and shapes are recorded.
  /// dtype: of the computation.
  static Parameters of_shapes(DType dtype = DType::kF32);

  const ParameterOptions& options() const { return options_; }
  /// Takes parameters to this device from now on, as options().device then says. Returns *this.
  Parameters& on(const Device& device);
  /// Whether parameters are empty: see of_shapes.
  bool only_shapes() const { return shapes_only_; }
  /// Whether parameters are initialized at random, rather than loaded or only recorded.
  bool draws() const { return !source_.load && !shapes_only_; }
  /// Creates the parameter with this name, in options().dtype, or the part of it. shape: of the
  /// whole. Of a tensor that a file maps only the bytes of the part are read. Errors when loading
  /// from a source: kFormat if the parameter is missing, or has another shape or a dtype that is
  /// neither floating nor a block dtype; kInvalidArgument for a part that cuts blocks.
  Parameter take(const std::string& name, const Shape& shape, const Initial& initial,
                 const ParameterPart& part = {});
  /// The same for a matrix that linear or embedding reads. A frozen one stays as the source has it
  /// if that is a block dtype, or f16 or bf16 for computation in f32.
  Parameter take_matrix(const std::string& name, const Shape& shape, const Initial& initial,
                        const ParameterPart& part = {});
  /// Leaves a parameter of the source to another rank: left() does not list it.
  void leave(const std::string& name) { left_to_others_.insert(name); }
  /// The columns that a part of a matrix begins and ends at multiples of: 1, or the elements of a
  /// block of its dtype in the source.
  int64_t column_unit(const std::string& name) const;
  /// The matrix that take_matrix gave under this name, on options().device: the same memory if that
  /// is its device, else loaded or copied again. Not for trained parameters.
  Parameter again(const std::string& name, const Parameter& taken) const;
  /// Creates a constant of zeros, or loads it: it is not trained, and f32 (f64 for computation in
  /// f64). Errors: as take.
  Parameter take_constant(const std::string& name, const Shape& shape);
  /// The dtype that take_matrix gives a frozen parameter with this dtype and shape in a file, whose
  /// vectors have the dtype of the computation.
  static DType kept_dtype(const TensorInfo& in_file, DType computation);
  /// Shapes and dtypes of all parameters taken, as they lie on the device.
  const std::map<std::string, TensorInfo>& taken() const { return taken_; }
  /// The trained parameters; empty unless options().trainable.
  const NamedVars& vars() const { return vars_; }
  /// Names in the source that have been neither taken nor left to other ranks.
  std::vector<std::string> left() const;

 private:
  Parameter take(const std::string& name, const Shape& shape, const Initial& initial,
                 const ParameterPart& part, bool keeps_dtype);
  void require_untaken(const std::string& name) const;
  /// The tensor as the file has it, or the part of it.
  Tensor load(const std::string& name, const Shape& shape, const ParameterPart& part = {}) const;

  ParameterOptions options_;
  bool shapes_only_ = false;
  TensorSource source_;
  std::map<std::string, TensorInfo> taken_;
  std::set<std::string> left_to_others_;
  NamedVars vars_;
};

}  // namespace wick
