// Groups of processes; the Python module dist has their documentation.
#include <nanobind/stl/map.h>

#include "bind.h"
#include "casters.h"
#include "wick/train/data_parallel.h"

namespace wick::python {
namespace {

ReduceOp reduce_op(const std::string& name, const char* function) {
  constexpr std::pair<const char*, ReduceOp> kNames[] = {{"sum", ReduceOp::kSum},
                                                         {"mean", ReduceOp::kMean},
                                                         {"max", ReduceOp::kMax},
                                                         {"min", ReduceOp::kMin}};
  for (const auto& [known, op] : kNames)
    if (name == known) return op;
  fail(ErrorCode::kInvalidArgument, function,
       "op: expected \"sum\", \"mean\", \"max\" or \"min\", got \"", name, "\"");
}

ProcessGroupOptions options_of(std::optional<int> rank, std::optional<int> world_size,
                               std::optional<int> local_rank, std::optional<std::string> address,
                               std::optional<int> port, std::optional<double> timeout) {
  // Ranks that the caller numbers need no launcher's variables.
  ProcessGroupOptions options =
      rank && world_size ? ProcessGroupOptions() : process_group_options();
  if (rank) options.rank = *rank;
  if (world_size) options.world_size = *world_size;
  if (local_rank) options.local_rank = *local_rank;
  if (address) options.address = *address;
  if (port) options.port = *port;
  if (timeout) options.timeout_seconds = *timeout;
  return options;
}

}  // namespace

void bind_dist(nb::module_& m) {
  using Group = ProcessGroup;
  nb::class_<Group>(m, "_ProcessGroup")
      .def(nb::init<>())
      .def_static(
          "join",
          [](std::optional<int> rank, std::optional<int> world_size, std::optional<int> local_rank,
             std::optional<std::string> address, std::optional<int> port,
             std::optional<double> timeout) {
            return Group::join(
                options_of(rank, world_size, local_rank, std::move(address), port, timeout));
          },
          nb::arg("rank").none(), nb::arg("world_size").none(), nb::arg("local_rank").none(),
          nb::arg("address").none(), nb::arg("port").none(), nb::arg("timeout").none(),
          WithoutGil())
      .def_prop_ro("rank", &Group::rank)
      .def_prop_ro("world_size", &Group::world_size)
      .def_prop_ro("local_rank", &Group::local_rank)
      .def(
          "all_reduce",
          [](const Group& group, const Tensor& x, const std::string& op) {
            return group.all_reduce(x, reduce_op(op, "all_reduce"));
          },
          nb::arg("x"), nb::arg("op"), WithoutGil())
      .def("all_gather", &Group::all_gather, nb::arg("x"), nb::arg("dim"), WithoutGil())
      .def(
          "reduce_scatter",
          [](const Group& group, const Tensor& x, int64_t dim, const std::string& op) {
            return group.reduce_scatter(x, dim, reduce_op(op, "reduce_scatter"));
          },
          nb::arg("x"), nb::arg("dim"), nb::arg("op"), WithoutGil())
      .def("all_to_all", &Group::all_to_all, nb::arg("x"), nb::arg("split_dim"),
           nb::arg("concat_dim"), WithoutGil())
      .def("broadcast", &Group::broadcast, nb::arg("x"), nb::arg("root"), WithoutGil())
      .def("send", &Group::send, nb::arg("x"), nb::arg("to"), WithoutGil())
      .def(
          "recv",
          [](const Group& group, const Shape& shape, const DTypeArgument& dtype,
             const DeviceArgument& device, int from) {
            return group.recv(shape, {.dtype = value_of(dtype, "recv", "dtype"), .device = device},
                              from);
          },
          nb::arg("shape"), nb::arg("dtype"), nb::arg("device"), nb::arg("source"), WithoutGil())
      .def("barrier", &Group::barrier, WithoutGil());
  nb::class_<DataParallel>(m, "_DataParallel")
      .def(
          "__init__",
          [](DataParallel* self, const nb::dict& parameters, double beta1, double beta2, double eps,
             double weight_decay, double clip_norm, bool decays_vectors, const Group& group,
             int64_t bucket_bytes) {
            NamedVars vars;
            for (const auto& [name, var] : parameters)
              vars.emplace(nb::cast<std::string>(name), nb::cast<VarObject&>(var).var());
            const ReleasedGil others_run;
            new (self)
                DataParallel(vars, {beta1, beta2, eps, weight_decay, clip_norm, decays_vectors},
                             group, {.bucket_bytes = bucket_bytes});
          },
          nb::arg("parameters"), nb::arg("beta1"), nb::arg("beta2"), nb::arg("eps"),
          nb::arg("weight_decay"), nb::arg("clip_norm"), nb::arg("decays_vectors"),
          nb::arg("group"), nb::arg("bucket_bytes"))
      .def(
          "backward",
          [](DataParallel& optimizer, const std::optional<Tensor>& loss) {
            optimizer.backward(loss.value_or(Tensor()));
          },
          nb::arg("loss").none(), WithoutGil())
      .def("step", &DataParallel::step, nb::arg("rate"), WithoutGil())
      .def("state", &DataParallel::state, WithoutGil())
      .def(
          "restore",
          [](DataParallel& optimizer, const NamedTensors& state, int64_t steps_done) {
            optimizer.restore(source_of(state, "load_state_dict"), steps_done);
          },
          nb::arg("state"), nb::arg("steps_done"), WithoutGil())
      .def_prop_ro("steps_done", &DataParallel::steps_done);
}

}  // namespace wick::python
