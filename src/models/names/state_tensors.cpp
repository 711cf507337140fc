#include "models/names/state_tensors.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "models/names/typed_settings.h"
#include "wick/ops/arrange.h"
#include "wick/ops/binary.h"
#include "wick/ops/shape.h"
#include "wick/ops/unary.h"

namespace wick {
namespace {

/// The rows of one part, in all groups. The rows of x are part 0 of the first group, part 1 of the
/// first group, ..., part 0 of the second group.
Tensor part_of_groups(const Tensor& x, int64_t groups, const std::vector<int64_t>& rows,
                      size_t part) {
  const int64_t columns = x.numel() / x.size(0);
  int64_t first = 0;
  for (size_t i = 0; i < part; i++) first += rows[i];
  return reshape(narrow(reshape(x, {groups, x.size(0) / groups, columns}), 1, first, rows[part]),
                 {groups * rows[part], columns});
}

/// A layer of linear attention whose rows files have by key head, and the layers of its parts.
struct Grouped {
  std::string name;  // "in_proj_ba"
  /// Those that a layer has together, and the rows of each for one key head.
  std::vector<std::pair<std::string, std::vector<int64_t>>> layers;
};
std::vector<Grouped> grouped_layers(const DecoderConfig& c) {
  const int64_t keys = c.linear_key_head_dim,
                heads = c.linear_num_value_heads / std::max<int64_t>(1, c.linear_num_key_heads),
                values = heads * c.linear_value_head_dim;
  return {{"in_proj_qkvz", {{"in_proj_qkv", {keys, keys, values}}, {"in_proj_z", {values}}}},
          {"in_proj_ba", {{"in_proj_b", {heads}}, {"in_proj_a", {heads}}}}};
}

}  // namespace

void split_groups(TensorPlan& plan, const DecoderConfig& c) {
  const int64_t groups = c.linear_num_key_heads;
  for (const Grouped& kind : grouped_layers(c)) {
    std::vector<int64_t> rows;  // of all parts
    for (const auto& [layer, parts] : kind.layers)
      rows.insert(rows.end(), parts.begin(), parts.end());
    int64_t all = 0;
    for (const int64_t count : rows) all += groups * count;
    for (const std::string& name : plan.names()) {
      const std::string middle = ".linear_attn." + kind.name + ".";
      if (name.find(middle) == name.npos) continue;
      const TensorInfo info = plan.info(name);
      check(info.shape.size() == 2 && info.shape[0] == all, ErrorCode::kFormat, plan.where(),
            "tensor \"", name, "\": expected [", all, ", in], got ", info.shape);
      size_t first = 0;
      for (const auto& [layer, parts] : kind.layers) {
        TensorInfo of_layer = info;
        of_layer.shape[0] = 0;
        for (const int64_t count : parts) of_layer.shape[0] += groups * count;
        plan.add(std::string(name).replace(name.find(kind.name), kind.name.size(), layer), {name},
                 of_layer, [=, count = parts.size()](const std::vector<Tensor>& inputs) {
                   std::vector<Tensor> taken;
                   for (size_t i = first; i < first + count; i++)
                     taken.push_back(part_of_groups(inputs[0], groups, rows, i));
                   return cat(taken, 0);
                 });
        first += parts.size();
      }
      plan.drop(name);
    }
  }
}

void join_groups(TensorPlan& plan, const DecoderConfig& c,
                 std::span<const std::string_view> names) {
  const int64_t groups = c.linear_num_key_heads;
  for (const Grouped& kind : grouped_layers(c)) {
    if (!contains(names, kind.name)) continue;
    const std::string& first = kind.layers[0].first;
    for (const std::string& name : plan.names()) {
      const size_t at = name.find(".linear_attn." + first + ".");
      if (at == name.npos) continue;
      const auto with = [&](const std::string& other) {
        return std::string(name).replace(name.find(first), first.size(), other);
      };
      TensorInfo whole = plan.info(name);
      whole.shape[0] = 0;
      std::vector<std::string> inputs;
      for (const auto& [layer, parts] : kind.layers) {
        check(plan.has(with(layer)), ErrorCode::kFormat, plan.where(), "expected tensor \"",
              with(layer), "\" beside \"", name, "\"");
        whole.shape[0] += plan.info(with(layer)).shape[0];
        inputs.push_back(with(layer));
      }
      plan.add(with(kind.name), inputs, whole, [=](const std::vector<Tensor>& layers) {
        std::vector<Tensor> taken;
        for (size_t i = 0; i < layers.size(); i++) {
          int64_t row = 0;
          for (const int64_t count : kind.layers[i].second) {
            taken.push_back(
                reshape(narrow(layers[i], 0, row, groups * count), {groups, count, -1}));
            row += groups * count;
          }
        }
        return reshape(cat(taken, 1), whole.shape);
      });
      for (const std::string& input : inputs) plan.drop(input);
    }
  }
}

void take_states(TensorPlan& plan, bool to_gguf) {
  for (const std::string& name : plan.names()) {
    TensorInfo info = plan.info(name);
    if (name.ends_with(".linear_attn.A_log")) {
      plan.change(name, info, [to_gguf](const std::vector<Tensor>& inputs) {
        return to_gguf ? -exp(inputs[0]) : log(-inputs[0]);
      });
    } else if (name.ends_with(".linear_attn.conv1d.weight") ||
               name.ends_with(".conv.conv.weight")) {
      if (info.shape.size() != (to_gguf ? 3 : 2)) continue;
      if (to_gguf)
        info.shape.erase(1);
      else
        info.shape.insert(1, 1);
      plan.change(name, info, [to_gguf](const std::vector<Tensor>& inputs) {
        return to_gguf ? select(inputs[0], 1, 0) : unsqueeze(inputs[0], 1);
      });
    }
  }
}

void order_value_heads(TensorPlan& plan, const DecoderConfig& c, bool to_tiled) {
  const int64_t groups = c.linear_num_key_heads, heads = c.linear_num_value_heads;
  if (groups == 0 || groups == heads) return;
  const int64_t keys = 2 * groups * c.linear_key_head_dim;
  for (const std::string& name : plan.names()) {
    constexpr std::string_view kLayer = ".linear_attn.";
    const size_t at = name.find(kLayer);
    if (at == name.npos || name.ends_with(".norm.weight")) continue;
    const std::string_view part = std::string_view(name).substr(at + kLayer.size());
    const bool has_keys = part.starts_with("in_proj_qkv.") || part.starts_with("conv1d.");
    const int dim = part.starts_with("out_proj.") ? 1 : 0;
    const TensorInfo info = plan.info(name);
    const int64_t first = has_keys ? keys : 0;
    check(info.shape.size() > dim && info.shape[dim] > first &&
              (info.shape[dim] - first) % heads == 0,
          ErrorCode::kFormat, plan.where(), "tensor \"", name, "\": expected ", heads,
          " value heads, got shape ", info.shape);
    plan.change(name, info, [=](const std::vector<Tensor>& inputs) {
      const Tensor x = transpose(inputs[0], 0, dim);
      const Tensor values = narrow(x, 0, first, x.size(0) - first);
      const int64_t outer = to_tiled ? groups : heads / groups;
      const Tensor ordered =
          reshape(transpose(reshape(values, {outer, heads / outer, values.numel() / heads}), 0, 1),
                  values.shape());
      return transpose(first > 0 ? cat({narrow(x, 0, 0, first), ordered}, 0) : ordered, 0, dim)
          .contiguous();
    });
  }
}

}  // namespace wick
