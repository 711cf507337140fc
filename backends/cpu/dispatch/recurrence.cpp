#include "dispatch/recurrence.h"

#include <algorithm>

#include "base/parallel.h"
#include "runtime/table.h"
#include "scalar/round_up.h"

namespace wick::cpu {
namespace {

constexpr int64 kGrain = 32768;      // elements a thread takes at least
constexpr int64 kPieceTokens = 128;  // of a convolution's piece

/// The number of a row's tokens.
int64 length_of(const View& lengths, bool has_lengths, int64 row, int64 tokens) {
  return has_lengths ? std::clamp<int64>(lengths.as<int64>()[row], 0, tokens) : tokens;
}

/// Element `at` of a view, by its offset.
char* element(const View& x, int64 at) { return x.as<char>() + bytes_of(x.dtype, at); }

}  // namespace

const char* CausalConv1d::accepts(const Kernel* kernel, const Call* call,
                                  const DeviceInfo* device) {
  if (call->in[1].shape[1] > kMaxTaps) return "there are more than 16 taps";
  return accepts_unit_strides(kernel, call, device);
}

Status CausalConv1d::run(const Kernel* kernel, const Call* call) {
  const auto& op = *static_cast<const CausalConv1d*>(kernel->data);
  const auto& a = *static_cast<const CausalConv1dAttributes*>(call->attributes);
  const View &x = call->in[0], &weight = call->in[1], &bias = call->in[2], &state = call->in[3],
             &lengths = call->in[4], &y = call->out[0], &new_state = call->out[1];
  const int64 tokens = x.shape[1], channels = x.shape[2], taps = weight.shape[1];
  const int64 across = ceil_div(channels, kPieceChannels), along = ceil_div(tokens, kPieceTokens);
  const int64 work = std::min(tokens, kPieceTokens) * kPieceChannels;
  parallel_for(x.shape[0] * along * across, std::max<int64>(1, kGrain / work),
               [&](int64 begin, int64 end) {
                 for (int64 i = begin; i < end; i++) {
                   const int64 row = i / (along * across), part = i / across % along,
                               channel = i % across * kPieceChannels;
                   const int64 state_at = row * (taps - 1) * channels + channel;
                   CausalConv1dPiece p{};
                   p.channels = std::min(kPieceChannels, channels - channel);
                   p.tokens = tokens;
                   p.length = length_of(lengths, a.has_lengths, row, tokens);
                   p.y = element(y, row * y.strides[0] + channel);
                   p.y_stride = y.strides[1];
                   p.first = part * kPieceTokens;
                   p.end = std::min(p.first + kPieceTokens, tokens);
                   p.x = element(x, row * x.strides[0] + channel);
                   p.weight = element(weight, channel * taps);
                   p.bias = a.has_bias ? element(bias, channel) : nullptr;
                   p.state = a.has_state ? element(state, state_at) : nullptr;
                   p.new_state = part == 0 ? element(new_state, state_at) : nullptr;
                   p.x_stride = x.strides[1];
                   p.state_stride = channels;
                   p.taps = taps;
                   p.silu = a.silu != 0;
                   op.piece(p);
                 }
               });
  return {};
}

Status LinearScan::run(const Kernel* kernel, const Call* call) {
  const auto& op = *static_cast<const LinearScan*>(kernel->data);
  const auto& a = *static_cast<const LinearScanAttributes*>(call->attributes);
  const View &decay = call->in[0], &input = call->in[1], &state = call->in[2],
             &lengths = call->in[3], &y = call->out[0], &new_state = call->out[1];
  const int64 tokens = decay.shape[1], channels = decay.shape[2];
  const int64 across = ceil_div(channels, kPieceChannels);
  parallel_for(decay.shape[0] * across, std::max<int64>(1, kGrain / (tokens * kPieceChannels)),
               [&](int64 begin, int64 end) {
                 for (int64 i = begin; i < end; i++) {
                   const int64 row = i / across, channel = i % across * kPieceChannels;
                   const int64 state_at = row * channels + channel;
                   LinearScanPiece p{};
                   p.channels = std::min(kPieceChannels, channels - channel);
                   p.tokens = tokens;
                   p.length = length_of(lengths, a.has_lengths, row, tokens);
                   p.y = element(y, row * y.strides[0] + channel);
                   p.y_stride = y.strides[1];
                   p.decay = element(decay, row * decay.strides[0] + channel);
                   p.input = element(input, row * input.strides[0] + channel);
                   p.state = a.has_state ? element(state, state_at) : nullptr;
                   p.new_state = element(new_state, state_at);
                   p.decay_stride = decay.strides[1];
                   p.input_stride = input.strides[1];
                   op.piece(p);
                 }
               });
  return {};
}

}  // namespace wick::cpu
