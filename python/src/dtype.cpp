#include "bind.h"
#include "casters.h"
#include "dtype_names.h"

namespace wick::python {

void bind_dtype(nb::module_& m) {
  nb::enum_<DType> type(m, "DType", "The type of a tensor's elements: wick.f32, wick.i64, ...");
  for (int d = 0; d < kNumDTypes; d++) type.value(dtype_name(DType(d)), DType(d));

  type.def_prop_ro("itemsize", [](DType dtype) {
    check(!is_block(dtype), ErrorCode::kDTypeMismatch, "itemsize", dtype_name(dtype),
          " stores its elements in blocks");
    return dtype_size(dtype);
  });
  type.def_prop_ro("is_floating_point", &is_floating);
  type.def(
      "__eq__",
      [](DType dtype, nb::handle other) {
        const auto name = try_cast<std::string_view>(other, 0, nullptr);
        if (name) return dtype_of_any_name(*name) == dtype;
        return nb::isinstance<DType>(other) && nb::cast<DType>(other) == dtype;
      },
      nb::arg("other").none());
  // A name that is equal has another hash, so dicts and sets hold dtypes or names, not both.
  nb::setattr(type, "__hash__", nb::module_::import_("enum").attr("Enum").attr("__hash__"));
  type.def("__repr__", [](DType dtype) { return std::string("wick.") + dtype_name(dtype); });
  type.def("__str__", [](DType dtype) { return std::string("wick.") + dtype_name(dtype); });

  for (int d = 0; d < kNumDTypes; d++) m.attr(dtype_name(DType(d))) = DType(d);
  for (const DTypeAlias& alias : kDTypeAliases) m.attr(alias.name.data()) = alias.dtype;
}

}  // namespace wick::python
