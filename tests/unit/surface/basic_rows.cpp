// Making, moving, reading: what a device is before any op.
#include "rows.h"

namespace wick::test {

std::vector<SurfaceRow> basic_rows() {
  const Shape two_three{2, 3};
  const std::vector<float> count{0, 1, 2, 3, 4, 5};
  const std::vector<double> expected{0, 1, 2, 3, 4, 5};
  std::vector<SurfaceRow> rows = {
      {"new",
       "",
       [](const Device& d) {
         return std::vector<double>{double(Device::parse(to_string(d)) == d)};
       },
       {1}},
      {"location",
       "",
       [](const Device& d) { return std::vector<double>{double(Device::at(d.location()) == d)}; },
       {1}},
      {"same_device",
       "",
       [](const Device& d) {
         return std::vector<double>{double(d.same_device(zeros({1}, {.device = d}).device()))};
       },
       {1}},
      {"is_rocm",
       "",
       [](const Device& d) {
         return std::vector<double>{
             double(d.is_cpu() + d.is_rocm() + d.is_cuda() + d.is_emulated())};
       },
       {1}},
      {"as_rocm_device",
       "",
       [](const Device& d) {
         try {
           const RocmDevice handles = as_rocm(d);
           return std::vector<double>{double(d.is_rocm() && !handles.arch().empty())};
         } catch (const Error& e) {
           return std::vector<double>{
               double(!d.is_rocm() && e.code() == ErrorCode::kDeviceMismatch)};
         }
       },
       {1}},
      {"as_rocm of a tensor",
       "",
       [](const Device& d) {
         const Tensor row = narrow(six(d), 0, 1, 1);
         try {
           const RocmStorage memory = row.as_rocm();
           return std::vector<double>{
               double(d.is_rocm() && memory.hip_memory() == row.data() && memory.bytes() == 12)};
         } catch (const Error& e) {
           return std::vector<double>{
               double(!d.is_rocm() && e.code() == ErrorCode::kDeviceMismatch)};
         }
       },
       {1}},
      {"rocm_if_available",
       "",
       [](const Device&) {
         return std::vector<double>{
             double(Device::rocm_if_available().is_rocm() == rocm_is_available())};
       },
       {1}},
      {"new_metal",
       "",
       [](const Device&) {
         try {
           Device::metal();
           return std::vector<double>{0};
         } catch (const Error& e) {
           return std::vector<double>{double(e.code() == ErrorCode::kUnsupported)};
         }
       },
       {1}},
      {"supports_bf16",
       "",
       [](const Device& d) {
         return std::vector<double>{
             double(d.supports_bf16() || d.preferred_dtype() == DType::kF32)};
       },
       {1}},
      {"zeros",
       "zeros",
       [](const Device& d) {
         return values(zeros({2, 3}, {.device = d}));
       },
       {0, 0, 0, 0, 0, 0}},
      {"ones of every dtype",
       "ones",
       [](const Device& d) {
         double sum = 0;
         for (int t = 0; t < StoredTypes::kSize; t++)
           sum += values(ones({3}, {.dtype = DType(t), .device = d}))[2];
         return std::vector<double>{sum};
       },
       {StoredTypes::kSize}},
      {"alloc_uninit",
       "",
       [](const Device& d) {
         const Tensor x = Tensor::empty({5, 7}, {.dtype = DType::kBf16, .device = d});
         return std::vector<double>{double(x.numel()), double(x.dtype() == DType::kBf16),
                                    double(x.device() == d)};
       },
       {35, 1, 1}},
      {"storage_from_slice", "",
       [=](const Device& d) { return values(Tensor::from(count, two_three, d)); }, expected},
      {"storage_owned", "",
       [=](const Device& d) {
         std::vector<float> memory = count;
         return values(Tensor::adopt(memory.data(), DType::kF32, two_three, [] {}).to(d));
       },
       expected},
      {"try_clone", "",
       [=](const Device& d) {
         Var copy(Tensor::from(count, two_three, d), false);
         const Tensor other = Tensor::from(values(copy.tensor()), two_three, d);
         fill_(copy, 9);
         return values(other);
       },
       expected},
      {"dtype and device of storage",
       "",
       [=](const Device& d) {
         const Tensor x = Tensor::from(count, two_three, d);
         return std::vector<double>{double(x.dtype() == DType::kF32), double(x.device() == d)};
       },
       {1, 1}},
      {"const_set",
       "fill_",
       [](const Device& d) {
         Var x(zeros({2, 2}, {.device = d}), false);
         fill_(x, 2.5);
         return values(x.tensor());
       },
       {2.5, 2.5, 2.5, 2.5}},
      {"to_scalar",
       "",
       [=](const Device& d) {
         const Tensor x = Tensor::from(count, two_three, d);
         return std::vector<double>{double(narrow(narrow(x, 0, 1, 1), 1, 1, 1).item<float>())};
       },
       {4}},
      {"to_vec1, to_vec2, to_vec3",
       "",
       [=](const Device& d) {
         const std::vector<float> one = Tensor::from(count, d).to_vec1<float>();
         const auto two = Tensor::from(count, two_three, d).to_vec2<float>();
         const auto three = Tensor::from(count, {3, 1, 2}, d).to_vec3<float>();
         return std::vector<double>{double(one.size()),
                                    one[4],
                                    double(two.size()),
                                    double(two[1].size()),
                                    two[1][0],
                                    double(three.size()),
                                    double(three[2].size()),
                                    double(three[2][0].size()),
                                    three[2][0][1]};
       },
       {6, 4, 2, 3, 3, 3, 1, 2, 5}},
      {"cpu to device and back", "",
       [=](const Device& d) {
         return values(Tensor::from(count, two_three).to(d).to(d).to(Device::cpu()));
       },
       expected},
      {"a view moves its own elements",
       "narrow transpose",
       [=](const Device& d) {
         return values(
             narrow(transpose(Tensor::from(count, two_three, d)), 0, 1, 2).to(Device::cpu()));
       },
       {1, 4, 2, 5}},
      {"set_seed, rand_uniform",
       "rand",
       [](const Device& d) {
         d.set_seed(3);
         const std::vector<double> here = values(rand({9}, {.device = d}));
         Device::cpu().set_seed(3);
         return std::vector<double>{double(here == values(rand({9}))), double(d.current_seed())};
       },
       {1, 3}},
      {"rand_normal",
       "randn",
       [](const Device& d) {
         d.set_seed(3);
         const std::vector<double> here = values(randn({9}, {.dtype = DType::kF64, .device = d}));
         Device::cpu().set_seed(3);
         return std::vector<double>{double(here == values(randn({9}, {.dtype = DType::kF64})))};
       },
       {1}},
      {"synchronize",
       "neg",
       [](const Device& d) {
         const Tensor x = neg(ones({2}, {.device = d}));
         d.synchronize();
         return values(x);
       },
       {-1, -1}},
      {"copy_strided_src",
       "transpose",
       [=](const Device& d) {
         return values(transpose(Tensor::from(count, two_three, d)).contiguous());
       },
       {0, 3, 1, 4, 2, 5}},
      {"copy2d",
       "cat",
       [=](const Device& d) {
         const Tensor x = Tensor::from(count, two_three, d);
         return values(cat({narrow(x, 1, 2, 1), x}, 1));
       },
       {2, 0, 1, 2, 5, 3, 4, 5}},
      {"display",
       "to_string debug_string",
       [](const Device& d) {
         const std::string text = to_string(ones({2}, {.device = d})),
                           line = debug_string(ones({2}, {.device = d}));
         const std::string where = d.is_cpu() ? "" : ", " + to_string(d);
         return std::vector<double>{double(text == "[1., 1.]\nTensor[[2], f32" + where + "]"),
                                    double(line == "Tensor[1, 1; f32" + where + "]")};
       },
       {1, 1}},
  };
  for (SurfaceRow& row : rows) row.basic = true;
  return rows;
}

}  // namespace wick::test
